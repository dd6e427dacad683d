"""Wheel and body quantities of a differential-drive robot.

With wheel radius r (m), half track b (m) and wheel speeds w (rad/s), rolling without slip gives

    v     = (r_l w_l + r_r w_r) / 2            m/s,   forward
    omega = (r_r w_r - r_l w_l) / (2 b)        rad/s, counter-clockwise

and, by virtual work (tau . w = F v + M omega), the wheel torques act on the body as

    F = tau_l / r_l + tau_r / r_r              N
    M = b (tau_r / r_r - tau_l / r_l)          N m

Lages (2017), (36)-(41), uses the body velocity u = [v, omega] and torques ordered [left, right].
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class WheelGeometry:
    """Wheel radii and track of a differential-drive robot.

    Pairs are ordered [left, right] for wheels and [linear, angular] for the body. The same maps
    serve for positions: wheel angle increments (rad) give path length (m) and turn (rad).

    Attributes:
        left_radius: radius of the left wheel, m, > 0.
        right_radius: radius of the right wheel, m, > 0.
        separation: track, the distance between the wheels' contact points, 2 b, m, > 0.

    Raises:
        ValueError: a length is not finite or not positive.
    """

    left_radius: float
    right_radius: float
    separation: float

    def __post_init__(self) -> None:
        for name in ("left_radius", "right_radius", "separation"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value} m: must be finite and > 0; measure it in m")

    @property
    def half_track(self) -> float:
        """Half of the track, b, m."""
        return 0.5 * self.separation

    def body_velocity(self, left: float, right: float) -> tuple[float, float]:
        """Body velocity (v in m/s, omega in rad/s) from wheel speeds in rad/s."""
        left_rim = self.left_radius * left
        right_rim = self.right_radius * right
        return 0.5 * (left_rim + right_rim), (right_rim - left_rim) / self.separation

    def wheel_velocity(self, linear: float, angular: float) -> tuple[float, float]:
        """Wheel speeds (left, right) in rad/s from the body velocity; inverts body_velocity."""
        turn = self.half_track * angular
        return (linear - turn) / self.left_radius, (linear + turn) / self.right_radius

    def body_wrench(self, left: float, right: float) -> tuple[float, float]:
        """Force (N, forward) and yaw moment (N m) on the body from wheel torques in N m."""
        left_force = left / self.left_radius
        right_force = right / self.right_radius
        return left_force + right_force, self.half_track * (right_force - left_force)

    def wheel_torque(self, force: float, moment: float) -> tuple[float, float]:
        """Wheel torques (left, right) in N m from force and yaw moment; inverts body_wrench."""
        half_difference = 0.5 * moment / self.half_track
        return (
            self.left_radius * (0.5 * force - half_difference),
            self.right_radius * (0.5 * force + half_difference),
        )


# Checks of numbers that come from outside; each message names the number, its value and limit.


def check_finite(what: str, **values: float) -> None:
    """Refuse values that are not finite.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check who sends it")


def check_positive(what: str, **values: float) -> None:
    """Refuse values that are not finite and > 0.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{what}: {name} = {value}: must be finite and > 0")


def check_limit(what: str, **values: float) -> None:
    """Refuse limits that are not > 0; an infinite one is no limit.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{what}: {name} = {value}: must be > 0")
