# SPDX-License-Identifier: Apache-2.0
"""The standard backstepping law for many robots at once, on arrays: masks replace its branches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry.arcs import sincs
from arc_odometry.number_range import Array, within_each
from diffbot_controllers.laws import dual
from diffbot_controllers.laws import polar_approach as one_approach
from diffbot_controllers.laws.backstepping_standard import (
    STANDSTILL,
    StandardBackstepping,
    tracking_velocity,
)
from diffbot_controllers.laws.dual import Dual
from diffbot_controllers.laws.feedback_linearization import ACCURACY
from diffbot_controllers.laws.polar_approach import BACKWARDS, DIRECTIONS, FORWARDS, Approach
from diffbot_study.batch_drivetrain import BatchDrivetrain
from pose2d_trajectories import Reference

Mask = NDArray[np.bool_]


class BatchBackstepping:
    """The laws of n robots combined.

    Args:
        laws: n new laws with known wheels and mean velocities, such as those that
            tuned_backstepping makes with mean_velocity=True and wheels; they are not changed.

    Raises:
        ValueError: A law is not of this kind, or BatchDrivetrain rejects it.
    """

    def __init__(self, laws: Sequence[StandardBackstepping]) -> None:
        wheels = [each.wheels for each in laws if each.wheels is not None]
        if len(wheels) < len(laws) or not all(each.mean_velocity for each in laws):
            raise ValueError(
                "a block of laws: each needs wheels and mean_velocity=True; make them so, or "
                "drive one by one: simulate_drive"
            )
        self.drivetrain = BatchDrivetrain([each.dynamics for each in laws], wheels)
        self._gains: Any = _arrays([each.gains for each in laws])
        self._tracker: Any = _arrays([each.tracker for each in laws])
        self._limits: Any = _arrays([each.servo.limits for each in laws])
        self._rims: Any = _arrays([each.servo.limits.rims for each in laws])
        self._torque = np.array([each.servo.torque_limit for each in laws])
        self._settling = np.array([each.servo.settling_time for each in laws])
        self._capture = np.array([each.capture for each in laws])
        self._gains.rims = _arrays([each.gains.rims for each in laws])
        self._approach = _BatchApproach(self._gains, [each.direction for each in laws])
        self._tracks = np.zeros(len(laws), dtype=bool)
        self._set_points = _BatchSetPoints(
            np.stack((self._limits.linear_acceleration, self._limits.angular_acceleration)),
            np.array([each.rise for each in wheels]),
        )

    def update(
        self, poses: Array, mean: Array, torque: Array, reference: Reference, dt: float
    ) -> Array:
        """Return the torques [left, right], N m, for the next period, shape (2, n).

        Args:
            poses, mean, torque: See BatchDrivetrain.motion.
            reference: Common reference of all robots, for the same instant.
            dt: Time since the previous update, s, > 0.
        """
        pose, u = self.drivetrain.motion(poses, mean, torque, dt)
        self._choose(pose, reference)
        eta1, eta2 = self._wanted(pose, u, reference)
        eta, rate = np.stack((eta1.value, eta2.value)), np.stack((eta1.rate, eta2.rate))
        eta, rate = self._set_points.limited(eta, rate, u, self._tracks, dt)
        limits = self._limits
        speeds = np.stack((limits.linear_velocity, limits.angular_velocity))
        most = np.stack((limits.linear_acceleration, limits.angular_acceleration))
        gain = (1.0 - ACCURACY ** (dt / self._settling)) / dt
        coming = within_each(eta + rate / gain, -speeds, speeds)
        rim = np.abs(coming[0]) + self._rims.half_track * np.abs(coming[1])
        fast = rim > self._rims.speed
        coming[:, fast] *= self._rims.speed[fast] / rim[fast]
        unbounded = gain * (coming - u)
        acceleration = within_each(unbounded, -most, most)
        wanted = self.drivetrain.torque(u, eta, acceleration, unbounded, dt)
        still = reference.v == 0.0 and reference.omega == 0.0
        if still:
            ahead, turn = self._left_to_goal(pose, reference)
            wanted = self.drivetrain.turned_round(wanted, np.isfinite(ahead))
        limited = _limited(wanted, self._torque)
        limited = self.drivetrain.slew_limited(limited, self._torque, dt)
        if still:
            rests = self.drivetrain.rests(ahead, turn, u)
            if rests.any():
                limited = np.where(rests, self.drivetrain.resting_torque(), limited)
        else:
            self.drivetrain.leave()
        self.drivetrain.command(limited)
        return limited

    def _choose(self, pose: Array, reference: Reference) -> None:
        if max(abs(reference.v), abs(reference.omega)) < STANDSTILL:
            self._tracks[:] = False
            return
        distance = np.hypot(reference.x - pose[0], reference.y - pose[1])
        turned = np.abs(dual.wrapped(reference.theta - pose[2]))
        near = (distance < self._capture) & (turned < 0.5 * math.pi)
        self._tracks = np.where(self._tracks, distance < 2.0 * self._capture, near)

    def _wanted(self, pose: Array, u: Array, reference: Reference) -> tuple[Dual, Dual]:
        if not self._tracks.any():
            return self._near(pose, u, reference)
        self._approach.forget(self._tracks)
        tracked = self._tracked(pose, u, reference)
        if self._tracks.all():
            return tracked
        others = self._near(pose, u, reference)
        self._approach.forget(self._tracks)
        first, second = (
            dual.where(self._tracks, a, b) for a, b in zip(tracked, others, strict=True)
        )
        return first, second

    def _near(self, pose: Array, u: Array, reference: Reference) -> tuple[Dual, Dual]:
        """See StandardBackstepping._drive_near."""
        ahead = 1.0 / self._gains.gamma1
        length, turn = reference.v * ahead, reference.omega * ahead
        half = 0.5 * turn
        chord = length * sincs(half)
        x = reference.x + chord * np.cos(reference.theta + half)
        y = reference.y + chord * np.sin(reference.theta + half)
        motion = (reference.v, reference.omega)
        offset = _moving_offset(pose, u, (x, y, reference.theta + turn), motion)
        return self._approach.velocity(*offset, u[0])

    def _tracked(self, pose: Array, u: Array, reference: Reference) -> tuple[Dual, Dual]:
        """See StandardBackstepping._track."""
        motion = (reference.v, reference.omega)
        # The reference in the robot's frame: (7) with the roles exchanged.
        x, y, theta = _moving_offset(tuple(reference.pose), motion, pose, u)
        v = self._same(reference.v, reference.dv)
        omega = self._same(reference.omega, reference.domega)
        eta1, eta2 = tracking_velocity(x, y, theta, v, omega, self._tracker)
        return self._approach.bounded(eta1, eta2, u[0])

    def _same(self, value: float, rate: float) -> Dual:
        n = len(self._capture)
        array: Any = np.full(n, value)
        return Dual(array, rate)

    def _left_to_goal(self, pose: Array, reference: Reference) -> tuple[Array, Array]:
        """See StandardBackstepping._left_to_goal and to_goal."""
        x, y, theta = _offset(pose, tuple(reference.pose))
        far = np.hypot(x, y) > one_approach.LEAVE * self._gains.near
        ahead = np.where(far, math.inf, -(x * np.cos(theta) + y * np.sin(theta)))
        return ahead, np.where(far, math.inf, -dual.wrapped(theta))


class _BatchSetPoints:
    """See GradualSetPoints: rates of set points, (2, n), and rise times of torques, s; 0: none."""

    def __init__(self, acceleration: Array, rise: Array) -> None:
        self._gradual = (rise > 0.0) & np.isfinite(acceleration).all(axis=0)
        self._acceleration = np.where(self._gradual, acceleration, 1.0)
        self._jerk = self._acceleration / np.where(self._gradual, rise, 1.0)
        self._last: Array | None = None
        self._change = np.zeros_like(self._acceleration)

    def limited(
        self, wanted: Array, rate: Array, u: Array, tracks: Mask, dt: float
    ) -> tuple[Array, Array]:
        """Return set points and rates fed forward, (2, n); see StandardBackstepping._desired."""
        last = u if self._last is None else self._last
        left, jerk = wanted - last, self._jerk
        half = 0.5 * jerk * dt
        stopping = np.sqrt(half * half + 2.0 * jerk * np.abs(left)) - half
        most = np.minimum(np.minimum(self._acceleration, np.abs(left) / dt), stopping)
        asked = np.copysign(most, left)
        change = self._change + within_each(asked - self._change, -jerk * dt, jerk * dt)
        self._change = np.where(tracks, 0.0, change)
        self._last = np.where(tracks, wanted, last + change * dt)
        used = self._gradual & ~tracks
        return np.where(used, self._last, wanted), np.where(used, 0.0, rate)


class _BatchApproach:
    """See Approach."""

    def __init__(self, gains: Any, directions: Sequence[str]) -> None:
        self.gains = gains
        allowed = [DIRECTIONS[direction] for direction in directions]
        self._allowed = {
            sense: np.array([sense in ways for ways in allowed]) for sense in (FORWARDS, BACKWARDS)
        }
        self._first = np.array([ways[0] for ways in allowed])
        self._direction = self._first.copy()
        self._psi = np.full(len(allowed), np.nan)
        self._arrived = np.zeros(len(allowed), dtype=bool)

    def forget(self, which: Mask) -> None:
        self._psi[which] = np.nan
        self._arrived[which] = False
        self._direction[which] = self._first[which]

    def velocity(self, x: Dual, y: Dual, theta: Dual, v: Array) -> tuple[Dual, Dual]:
        eta1, eta2 = one_approach.polar_velocity(
            x, y, theta, self.gains, self._angles, _braking_gain
        )
        return self.bounded(eta1, eta2, v)

    def bounded(self, eta1: Dual, eta2: Dual, v: Array) -> tuple[Dual, Dual]:
        most, lateral = self.gains.angular_velocity, self.gains.lateral_acceleration
        size = dual.absolute(eta2)
        fast = size.value > most
        if np.any(fast):
            eta1 = dual.where(fast, eta1 * (most / _where_positive(size)), eta1)
            eta2 = dual.clamp(eta2, most)
        sharp = np.abs(eta1.value * eta2.value) > lateral
        if np.any(sharp):
            slower = lateral / _where_positive(dual.absolute(eta2))
            signed = dual.where(_array(eta1.value) > 0.0, slower, -slower)
            eta1 = dual.where(sharp, signed, eta1)
        skids = np.abs(v * eta2.value) > lateral
        if skids.any():
            bound: Any = lateral / np.where(skids, np.abs(v), 1.0)
            eta2 = dual.where(skids, dual.clamp(eta2, bound), eta2)
        eta1 = dual.clamp(eta1, self.gains.linear_velocity)
        rims = self.gains.rims
        rim = dual.absolute(eta1) + rims.half_track * dual.absolute(eta2)
        fast = rim.value > rims.speed
        if np.any(fast):
            fraction = np.where(fast, rims.speed, 0.0) / _where_positive(rim)
            eta1, eta2 = (dual.where(fast, eta * fraction, eta) for eta in (eta1, eta2))
        fast = np.abs(v) + rims.half_track * np.abs(eta2.value) > rims.speed
        if fast.any():
            room: Any = np.where(fast, np.maximum(rims.speed - np.abs(v), 0.0), 0.0)
            room /= rims.half_track
            eta2 = dual.where(fast, dual.clamp(eta2, room), eta2)
        return eta1, eta2

    def _angles(self, e: Dual, x: Dual, y: Dual, theta: Dual) -> tuple[Dual, Dual]:
        near = self.gains.near * np.where(self._arrived, one_approach.LEAVE, 1.0)
        self._arrived = _array(e.value) <= near
        ways = {sense: dual.atan2(-sense * y, -sense * x) for sense in (FORWARDS, BACKWARDS)}
        costs = {
            sense: np.where(self._allowed[sense], self._cost(psi, theta), np.inf)
            for sense, psi in ways.items()
        }
        # Forwards is chosen where both cost the same.
        backwards = costs[BACKWARDS] < costs[FORWARDS]
        psi = dual.where(backwards, ways[BACKWARDS], ways[FORWARDS])
        cost = np.minimum(costs[BACKWARDS], costs[FORWARDS])
        direction = np.where(backwards, BACKWARDS, FORWARDS)
        known = np.isfinite(self._psi)
        kept = dual.where(self._direction == FORWARDS, ways[FORWARDS], ways[BACKWARDS])
        before: Any = np.where(known, self._psi, kept.value)
        kept = kept + math.tau * np.rint((before - kept.value) / math.tau)
        keep = known & (cost > Approach.MARGIN * self._cost(kept, theta))
        psi = dual.where(keep, kept, psi)
        direction = np.where(keep, self._direction, direction)
        self._direction = np.where(self._arrived, self._direction, direction)
        self._psi = np.where(self._arrived, np.nan, psi.value)
        alpha = dual.wrap(theta - psi)
        zero: Any = np.zeros_like(self._psi)
        return (
            dual.where(self._arrived, Dual(zero, zero), psi),
            dual.where(self._arrived, theta, alpha),
        )

    def _cost(self, psi: Dual, theta: Dual) -> Array:
        alpha = dual.wrapped(theta.value - psi.value)
        return _array(alpha * alpha + self.gains.ratio * psi.value * psi.value)


def _braking_gain(distance: Dual, gain: Any, deceleration: Any, most: Any) -> Dual:
    """See approach.braking_gain."""
    close = gain * gain * distance.value <= deceleration
    slow = gain * distance.value <= most
    inner = 2.0 * deceleration * distance - (deceleration / gain) ** 2
    usable = ~close & np.isfinite(inner.value)
    one: Any = np.ones_like(distance.value)
    zero: Any = np.zeros_like(distance.value)
    root = dual.sqrt(dual.where(usable & (_array(inner.value) > 0.0), inner, Dual(one, zero)))
    braking = usable & (_array(root.value) <= most)
    safe = _where_positive(distance)
    bounded: Any = dual.where(np.isfinite(most), most / safe, Dual(one, zero))
    result = dual.where(braking, root / safe, bounded)
    return dual.where(close & slow, Dual(gain + zero, zero), result)


def _where_positive(x: Dual) -> Dual:
    """Return x, with 1 in place of 0, which avoids divisions by 0 where the result is not used."""
    one: Any = np.ones_like(x.value)
    return dual.where(_array(x.value) > 0.0, x, Dual(one, 0.0 * one))


def _offset(pose: Any, reference: Any) -> tuple[Any, Any, Any]:
    """See approach.offset_to_origin."""
    dx, dy = pose[0] - reference[0], pose[1] - reference[1]
    cos, sin = np.cos(reference[2]), np.sin(reference[2])
    return cos * dx + sin * dy, -sin * dx + cos * dy, pose[2] - reference[2]


def _moving_offset(pose: Any, u: Any, reference: Any, motion: Any) -> tuple[Dual, Dual, Dual]:
    """See approach.moving_offset."""
    x, y, theta = _offset(pose, reference)
    theta = dual.wrapped(theta)
    return (
        Dual(x, u[0] * np.cos(theta) - motion[0] + motion[1] * y),
        Dual(y, u[0] * np.sin(theta) - motion[1] * x),
        Dual(theta, u[1] - motion[1]),
    )


def _limited(torque: Array, limit: Array) -> Array:
    """See drivetrain.limit_torque."""
    steering = within_each(0.5 * (torque[1] - torque[0]), -limit, limit)
    room = limit - np.abs(steering)
    drive = within_each(0.5 * (torque[0] + torque[1]), -room, room)
    return within_each(np.stack((drive - steering, drive + steering)), -limit, limit)


def _arrays(records: Sequence[Any]) -> SimpleNamespace:
    names = records[0].__dataclass_fields__
    return SimpleNamespace(
        **{name: np.array([getattr(record, name) for record in records]) for name in names}
    )


def _array(value: Any) -> Array:
    return np.asarray(value)
