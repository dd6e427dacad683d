# SPDX-License-Identifier: Apache-2.0
"""Wheels and body of a differential-drive robot; poses, velocities and arcs in the plane.

With wheel radius r (m), half track b (m) and wheel speeds w (rad/s), rolling without slip gives

    v     = (r_l w_l + r_r w_r) / 2            m/s,   forward
    omega = (r_r w_r - r_l w_l) / (2 b)        rad/s, counter-clockwise

and, by virtual work (tau . w = F v + M omega), the wheel torques act on the body as

    F = tau_l / r_l + tau_r / r_r              N
    M = b (tau_r / r_r - tau_l / r_l)          N m

Lages (2017), (36)-(41), uses the body velocity u = [v, omega] and torques ordered [left, right].

Lages (2018), (35)-(37), integrates odometry along arcs. (37) is 0 / 0 where the robot drives
straight; written with sinc(x) = sin(x) / x it is defined there too. sinc itself is accurate down to
the smallest x, so its series is needed for x = 0 only. The derivative, (x cos x - sin x) / x^2,
loses 3 eps / x^2 of its value to cancellation: its series is used up to 0.5, where both agree to
1e-15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
N = TypeVar("N", float, Array)

# Below this x, the first term that the series of sinc omits, x^6 / 7!, is under 4e-18.
SINC_SWITCH = 5e-3
# Below this x, the first term that the series of the derivative omits is 1e-17 of its value.
DERIVATIVE_SWITCH = 0.5
# sinc'(x) = x * sum_n c_n x^(2 n), c_n = (-1)^(n+1) (2 n + 2) / (2 n + 3)!, highest power first.
_DERIVATIVE = tuple((-1) ** (n + 1) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(7))[
    ::-1
]


def sinc(x: float) -> float:
    """Return sin(x) / x, which is 1 at x = 0; x in rad. Relative error <= 3e-16."""
    return _sinc_series(x) if abs(x) < SINC_SWITCH else math.sin(x) / x


def sinc_derivative(x: float) -> float:
    """Return the derivative of sin(x) / x, which is 0 at x = 0, in 1/rad; x in rad.

    The error is <= 2e-15 of min(|x|, 1), the size of the function's terms.
    """
    if abs(x) < DERIVATIVE_SWITCH:
        return _derivative_series(x)
    return (math.cos(x) - math.sin(x) / x) / x


def _sinc_series(x: N) -> N:
    square = x * x
    return 1.0 - square / 6.0 * (1.0 - square / 20.0)


def _derivative_series(x: N) -> N:
    square = x * x
    total = 0.0 * square
    for coefficient in _DERIVATIVE:
        total = total * square + coefficient
    return x * total


def sincs(x: Array) -> Array:
    """Return sinc of each of many angles."""
    near = np.abs(x) < SINC_SWITCH
    return np.where(near, _sinc_series(x), np.sin(x) / np.where(near, 1.0, x))


def sinc_derivatives(x: Array) -> Array:
    """Return sinc_derivative of each of many angles."""
    near = np.abs(x) < DERIVATIVE_SWITCH
    series = _derivative_series(x)
    if near.all():
        return series
    divisor = np.where(near, 1.0, x)
    return np.where(near, series, (np.cos(x) - np.sin(x) / divisor) / divisor)


class Pose(NamedTuple):
    """Pose of the midpoint of the axle in the odom frame.

    Attributes:
        x: Position, m.
        y: Position, m.
        theta: Heading, rad, counter-clockwise from the x axis; not wrapped, it counts whole turns.
    """

    x: float
    y: float
    theta: float


class Velocity(NamedTuple):
    """Body velocity u = [v, omega]; also used for its rate of change and similar pairs.

    Attributes:
        v: Forward velocity along the robot's own x axis, m/s; for an acceleration m/s^2.
        omega: Yaw rate, rad/s, counter-clockwise; for an acceleration rad/s^2.
    """

    v: float
    omega: float


REST = Velocity(0.0, 0.0)


@dataclass(frozen=True)
class RimLimit:
    """Limit of the wheels' rim speed; the faster rim moves with |v| + b |omega|.

    Attributes:
        speed: Maximum speed of the faster rim, m/s, > 0; infinite: no limit.
        half_track: b, m, > 0; not used without a limit.

    Raises:
        ValueError: A number is outside its range.
    """

    speed: float = math.inf
    half_track: float = 1.0

    def __post_init__(self) -> None:
        check_limit("limit of the rims", speed=self.speed)
        check_positive("limit of the rims", half_track=self.half_track)

    def within(self, wanted: Velocity, v: float = 0.0) -> Velocity:
        """Return the desired velocity, scaled down where a rim would be too fast.

        Scaling keeps the ratio of v to omega, so the robot stays on its circle.

        Args:
            wanted: Desired velocity.
            v: Present velocity of the robot, m/s. It leaves less rim speed for omega: the robot
                slows down before it turns.
        """
        fastest = self.rim(*wanted)
        if fastest > self.speed:
            share = self.speed / fastest
            wanted = Velocity(share * wanted.v, share * wanted.omega)
        if self.rim(v, wanted.omega) <= self.speed:
            return wanted
        return Velocity(wanted.v, within(wanted.omega, self.turning(v)))

    def rim(self, v: float, omega: float) -> float:
        """Return the speed of the faster rim, m/s, for v in m/s and omega in rad/s."""
        return abs(v) + self.half_track * abs(omega)

    def turning(self, v: float) -> float:
        """Return the largest |omega|, rad/s, at a velocity v in m/s."""
        return max(self.speed - abs(v), 0.0) / self.half_track


class Arc(NamedTuple):
    """A circular arc, which may be a straight line (turn = 0) or a turn on the spot (length = 0).

    A wheeled robot drives along an arc while the ratio of its wheel speeds is constant.

    Attributes:
        length: Path of the midpoint of the axle, m, positive forwards; Delta D in (38).
        turn: Change of the heading, rad, counter-clockwise; Delta theta in (38).
    """

    length: float
    turn: float

    def end(self, start: Pose) -> Pose:
        """Return the exact pose at the end of the arc.

        Lages (2018), (35)-(37): the chord has the length D sin(a / 2) / (a / 2) and the direction
        theta + a / 2, with a the turn and theta the heading at the **start** of the interval
        (the paper's index k leaves this open). sinc is defined at a = 0, where (37) is 0 / 0.
        """
        chord = self.length * sinc(0.5 * self.turn)
        direction = start.theta + 0.5 * self.turn
        return Pose(
            start.x + chord * math.cos(direction),
            start.y + chord * math.sin(direction),
            start.theta + self.turn,
        )

    def share(self, share: float) -> Arc:
        """Return the first part of the arc, `share` (0 to 1) of its length."""
        return Arc(share * self.length, share * self.turn)


def arc_ends(poses: Array, length: Array, turn: Array) -> Array:
    """Return the end poses of the arcs of n robots, as Arc.end does for one; shape (3, n).

    Args:
        poses: Start poses; rows x, y, theta, m and rad, shape (3, n).
        length: Arc lengths, m, shape (n,).
        turn: Turns, rad, shape (n,).
    """
    x, y, theta = poses
    half = 0.5 * turn
    chord, direction = length * sincs(half), theta + half
    return np.stack((x + chord * np.cos(direction), y + chord * np.sin(direction), theta + turn))


@dataclass(frozen=True)
class WheelGeometry:
    """Wheel radii and track of a differential-drive robot.

    Pairs are ordered [left, right] for wheels and [linear, angular] for the body. The velocity maps
    also apply to increments: wheel angle increments (rad) give path length (m) and turn (rad).

    Attributes:
        left_radius: Radius of the left wheel, m, > 0.
        right_radius: Radius of the right wheel, m, > 0.
        separation: Track, the distance between the wheels' contact points, 2 b, m, > 0.

    Raises:
        ValueError: A length is not finite or not positive.
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
        """Return the body velocity (v in m/s, omega in rad/s) for wheel speeds in rad/s."""
        left_rim = self.left_radius * left
        right_rim = self.right_radius * right
        return 0.5 * (left_rim + right_rim), (right_rim - left_rim) / self.separation

    def wheel_velocity(self, linear: float, angular: float) -> tuple[float, float]:
        """Return the wheel speeds (left, right) in rad/s; the inverse of body_velocity."""
        turn = self.half_track * angular
        return (linear - turn) / self.left_radius, (linear + turn) / self.right_radius

    def rim_limit(self, speed: float) -> RimLimit:
        """Return the limit that keeps both wheels within a speed, rad/s, > 0; infinite: none."""
        return RimLimit(speed * min(self.left_radius, self.right_radius), self.half_track)

    def body_wrench(self, left: float, right: float) -> tuple[float, float]:
        """Return force (N, forward) and yaw moment (N m) on the body for wheel torques in N m."""
        left_force = left / self.left_radius
        right_force = right / self.right_radius
        return left_force + right_force, self.half_track * (right_force - left_force)

    def wheel_torque(self, force: float, moment: float) -> tuple[float, float]:
        """Return the wheel torques (left, right) in N m; the inverse of body_wrench."""
        half_difference = 0.5 * moment / self.half_track
        return (
            self.left_radius * (0.5 * force - half_difference),
            self.right_radius * (0.5 * force + half_difference),
        )


# Checks of external input; each error message states the number's name, its value and its limit.


def check_finite(what: str, **values: float) -> None:
    """Reject values that are not finite.

    Raises:
        ValueError: A value is not finite; the message names `what` and the value.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check its source")


def check_positive(what: str, **values: float) -> None:
    """Reject values that are not finite and > 0.

    Raises:
        ValueError: A value is out of range; the message names `what` and the value.
    """
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{what}: {name} = {value}: must be finite and > 0")


def check_limit(what: str, **values: float) -> None:
    """Reject limits that are not > 0; an infinite value means no limit.

    Raises:
        ValueError: A limit is out of range; the message names `what` and the value.
    """
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{what}: {name} = {value}: must be > 0")


def within(value: float, limit: float) -> float:
    """Return the value clamped to +-limit."""
    return max(-limit, min(limit, value))


def within_each(values: Array, low: Array | float, high: Array | float) -> Array:
    """Return the values clamped to [low, high]; on short arrays much faster than np.clip."""
    return np.minimum(np.maximum(values, low), high)


UNLIMITED_RIMS = RimLimit()  # must follow the check functions, which RimLimit calls
