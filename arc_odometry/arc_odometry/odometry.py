# SPDX-License-Identifier: Apache-2.0
"""Odometry of a differential-drive robot: wheels and body, pose and velocity.

With wheel radius r (m), half track b (m) and wheel speeds w (rad/s), rolling without slip gives

    v     = (r_l w_l + r_r w_r) / 2            m/s,   forward
    omega = (r_r w_r - r_l w_l) / (2 b)        rad/s, counter-clockwise

and, by virtual work (tau . w = F v + M omega), the wheel torques act on the body as

    F = tau_l / r_l + tau_r / r_r              N
    M = b (tau_r / r_r - tau_l / r_l)          N m

Lages (2017), (36)-(41), uses the body velocity u = [v, omega] and torques ordered [left, right].
Derivations: docs/theory/odometry.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry.arcs import REST, Arc, Pose, Velocity
from arc_odometry.number_range import Array
from arc_odometry.pose_covariance import KNOWN, Spread, checked_covariance, propagate


@dataclass(frozen=True)
class WheelGeometry:
    """Wheel radii and track of a differential-drive robot, m, finite and > 0 (else a ValueError).

    Pairs are ordered [left, right] for wheels and [linear, angular] for the body. The velocity maps
    also apply to increments: wheel angles (rad) give path length (m) and turn (rad).

    Example:
        >>> geometry = WheelGeometry(0.125, 0.125, 0.5)
        >>> geometry.body_velocity(2.0, 6.0)
        (0.5, 1.0)
        >>> geometry.wheel_torque(force=16.0, moment=0.0)
        (1.0, 1.0)

    Attributes:
        separation: Track, the distance between the wheels' contact points, 2 b.
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

    def body_wrench(self, left: float, right: float) -> tuple[float, float]:
        """Return force (N, forward) and yaw moment (N m) on the body for wheel torques in N m."""
        left_force = left / self.left_radius
        right_force = right / self.right_radius
        return left_force + right_force, self.half_track * (right_force - left_force)

    def wheel_torque(self, force: float, moment: float) -> tuple[float, float]:
        """Return the wheel torques (left, right) in N m for a force, N, and a yaw moment, N m."""
        half_difference = 0.5 * moment / self.half_track
        return (
            self.left_radius * (0.5 * force - half_difference),
            self.right_radius * (0.5 * force + half_difference),
        )


# Faster changes of the angle are encoder jumps, rad/s.
MAX_WHEEL_SPEED = 100.0


class EncoderJumpError(ValueError):
    """A wheel's angle changed faster than the wheel can turn."""


def wheel_turn(name: str, before: float, after: float, limit: float) -> float:
    """Return the angle by which a wheel has turned between two readings, rad.

    A reading beyond one turn shows that the encoder counts turns: the difference is used as it is,
    over any gap, within the limit. Every other difference of more than half a turn is taken for a
    wrap: whole turns are removed until at most half a turn is left. So encoders may wrap at any
    whole number of turns, given a reading every half turn; for those that wrap after several turns
    the limit must be below 3 pi rad, that is a reading every 90 ms at 100 rad/s. One that is set to
    0 while it runs can look like one that wraps; the error is then half a turn at most.

    Args:
        name: Of the wheel, for the message.
        limit: Largest angle by which the wheel can have turned, rad.

    Raises:
        EncoderJumpError: The wheel would have turned by more than the limit.
        ValueError: A reading is not finite.
    """
    change = after - before
    # NaN does not pass.
    if -math.pi <= change <= math.pi and -limit <= change <= limit:
        return change
    if not math.isfinite(change):
        raise ValueError(
            f"angle of the {name} wheel = {after} rad after {before} rad: must be finite; check "
            "the encoder's driver"
        )
    counts_turns = max(abs(before), abs(after)) > math.tau
    if abs(change) > (limit if counts_turns else math.pi):
        change = math.remainder(change, math.tau)
    if abs(change) > limit:
        raise EncoderJumpError(
            f"angle of the {name} wheel jumped from {before:g} to {after:g} rad: must change by "
            f"<= {limit:.3g} rad in this time; check the encoder or raise max_wheel_speed"
        )
    return change


# Variances, m^2 plus rad^2, beyond which the covariance is not deferred, to find an overflow.
LARGEST_SPREAD = 1e15
# For the jump check, s, as stamps jitter by milliseconds and angles do not.
SHORTEST_PERIOD = 0.01
# Largest path, m, or turn, rad, in one step: beyond it the pose has no digits left.
LARGEST = 1e15


class DiffOdometry:
    """Pose, velocity and the covariance of both from wheel angles.

    Between two readings the robot is assumed to drive along an arc, which is exact for steps of any
    size while the ratio of the wheel speeds is constant. Unusable input raises ValueError and
    changes nothing; neither pose nor covariance ever contains a NaN.

    Example:
        >>> odometry = DiffOdometry(WheelGeometry(0.1, 0.1, 0.5), path_noise=1e-4)
        >>> odometry.update(0.0, (0.0, 0.0))
        >>> odometry.update(0.1, (2.0, 2.0))
        >>> odometry.pose
        Pose(x=0.2, y=0.0, theta=0.0)
        >>> odometry.velocity
        Velocity(v=2.0, omega=0.0)
        >>> float(odometry.covariance[0, 0])  # m^2
        1e-05

    Args:
        path_noise: Variance of a wheel's path per path driven, m^2/m, >= 0.
        max_wheel_speed: Faster changes of a wheel's angle are rejected as jumps, rad/s, > 0;
            math.inf rejects none and does not detect encoders that wrap after several turns.
        pose: Start pose (x in m, y in m, theta in rad).

    Attributes:
        pose: Of the axle's midpoint in the odom frame (m, m, rad, not wrapped).
        velocity: Body velocity, mean over the last step; 0 before the first step.
        time: Stamp of the last reading, s; None before the first one and after a restart.
        angles: Wheel angles of the last reading [left, right], rad.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        path_noise: float = 0.0,
        max_wheel_speed: float = MAX_WHEEL_SPEED,
        pose: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        if not max_wheel_speed > 0.0:
            raise ValueError(f"max_wheel_speed = {max_wheel_speed} rad/s: must be > 0")
        self._max_wheel_speed = max_wheel_speed
        # The newest arc that the covariance does not include: start, arc, variances of the wheels'
        # paths.
        self._unsettled: tuple[Pose, Arc, tuple[float, float]] | None = None
        self.set_geometry(geometry)
        self.set_path_noise(path_noise)
        self.set_pose(pose)
        self.restart()

    @property
    def covariance(self) -> Array:
        """Covariance of [x, y, theta], (3, 3), m and rad, in the odom frame; a copy."""
        self.settle()
        return self._spread.matrix()

    @property
    def velocity_covariance(self) -> Array:
        """Covariance of (v, omega), (2, 2), m/s and rad/s, over the last step."""
        left, right = self._speed_variances
        b2 = self.geometry.separation
        mixed = 0.5 * (right - left) / b2
        return np.array([[0.25 * (left + right), mixed], [mixed, (left + right) / b2**2]])

    def set_geometry(self, geometry: WheelGeometry) -> None:
        """Change radii and separation from the last reading on; the pose stays."""
        self.settle()
        self.geometry = geometry

    def set_path_noise(self, path_noise: float) -> None:
        """Change the path noise, m^2/m, from the last reading on."""
        if not (math.isfinite(path_noise) and path_noise >= 0.0):
            raise ValueError(f"path_noise = {path_noise} m^2/m: must be finite and >= 0")
        self.path_noise = float(path_noise)

    def set_pose(self, pose: Sequence[float], covariance: object = None) -> None:
        """Set the pose (m, m, rad, odom frame, finite); odometry continues from there.

        `covariance` has shape (3, 3) and is symmetric positive semidefinite; None: known exactly.
        """
        values = tuple(map(float, pose))
        if len(values) != 3 or not all(map(math.isfinite, values)):
            raise ValueError(f"pose = {values}: must be finite x, y in m and theta in rad")
        spread = KNOWN if covariance is None else Spread.of(checked_covariance(covariance))
        self.pose, self._spread = Pose(*values), spread
        self._unsettled = None

    def restart(self) -> None:
        """Forget the last reading, as after a gap or a reset of time; the pose stays.

        Motion until the next reading is not counted.
        """
        self.time: float | None = None
        self.angles = (0.0, 0.0)
        self.velocity = REST
        self._speed_variances = (0.0, 0.0)

    def settle(self) -> None:
        """Compute the pending covariance of the pose, as reading it and the next reading do.

        It takes longer than the pose: a control loop may call this after it has sent its output.
        """
        if self._unsettled is not None:
            start, arc, variances = self._unsettled
            self._spread = self._propagated(start, arc, variances)
            self._unsettled = None

    def _propagated(self, start: Pose, arc: Arc, variances: tuple[float, float]) -> Spread:
        return propagate(self._spread, start, arc, variances, self.geometry.separation)

    def update(self, time: float, angles: tuple[float, float]) -> None:
        """Process a reading of both encoders; the first one only sets the starting angles.

        Args:
            time: Stamp of the reading, s, later than the last one.
            angles: Wheel angles [left, right], rad; they may wrap, see wheel_turn.

        Raises:
            EncoderJumpError: A wheel would have turned faster than max_wheel_speed.
            ValueError: An angle or the time is not finite, or the time is not later.
        """
        if not (math.isfinite(time) and all(map(math.isfinite, angles))):
            raise ValueError(
                f"wheel angles {tuple(angles)} rad at {time} s: must be finite; check the driver"
            )
        if self.time is not None:
            if time <= self.time:
                raise ValueError(
                    f"time = {time} s: must be later than {self.time} s, the last reading's; "
                    "restart after a reset of time"
                )
            period = time - self.time
            limit = self._max_wheel_speed * max(period, SHORTEST_PERIOD)
            left, right = (
                wheel_turn(name, before, after, limit)
                for name, before, after in zip(("left", "right"), self.angles, angles, strict=True)
            )
            self.advance((left, right), period)
        self.time, self.angles = time, (float(angles[0]), float(angles[1]))

    def advance(self, turns: tuple[float, float], duration: float) -> None:
        """Advance along one arc, for callers that have increments of angles instead of angles.

        `turns`: of the wheels [left, right], rad; `duration`: s, > 0.

        Raises:
            ValueError: An input is not finite, the duration is not > 0, or the pose would overflow.
        """
        if not (math.isfinite(duration) and duration > 0.0):
            raise ValueError(f"duration = {duration} s: must be finite and > 0")
        self.settle()
        left, right = turns
        arc = Arc(*self.geometry.body_velocity(left, right))
        if not (abs(arc.length) <= LARGEST and abs(arc.turn) <= LARGEST):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad: must be finite, and path (m) and turn (rad) "
                f"of the robot <= {LARGEST:g}"
            )
        paths = (self.geometry.left_radius * left, self.geometry.right_radius * right)
        variances = (self.path_noise * abs(paths[0]), self.path_noise * abs(paths[1]))
        pose = arc.end(self.pose)
        velocity = Velocity(arc.length / duration, arc.turn / duration)
        speed_variances = (variances[0] / duration / duration, variances[1] / duration / duration)
        unsettled = (self.pose, arc, variances)
        spread, waits = self._spread, sum(variances) + self._spread.trace < LARGEST_SPREAD
        if not waits:
            spread = self._propagated(*unsettled)
        if not all(map(math.isfinite, (*pose, *velocity, *speed_variances, *spread))):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad in {duration} s from {pose}: beyond the "
                "numbers that a computer holds; check the encoders"
            )
        self.pose, self._spread = pose, spread
        self._unsettled = unsettled if waits else None
        self.velocity, self._speed_variances = velocity, speed_variances
