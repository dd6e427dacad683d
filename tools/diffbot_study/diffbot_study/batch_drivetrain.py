# SPDX-License-Identifier: Apache-2.0
"""The drivetrains of many robots at once: observer, friction and rest on arrays.

The formulas of single robots on arrays whose last axis is the robot; wheels are rows [left, right],
body quantities rows [v, omega]. Friction is viscous and Coulomb, with gear losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import REST, Velocity
from arc_odometry.arcs import arc_ends
from arc_odometry.number_range import Array, within_each
from diffbot_controllers.laws.count_offsets import FirstReadings, model_noise, pose_per_offset
from diffbot_controllers.laws.drivetrain import STUCK, TURN_ROUND
from diffbot_controllers.laws.friction import (
    BREAK,
    ITERATIONS,
    LEAVE,
    MOST,
    SLOW,
    SMOOTH,
    START,
    STILL,
    KnownWheels,
    Standstill,
    holds,
)
from diffbot_controllers.laws.motion_observer import (
    BASE,
    BIAS_OF_LIMIT,
    BRISK,
    DOUBT,
    FINEST,
    LARGEST_BIAS,
    NOISE,
    NOISE_OF_LIMIT,
    OUTLIER,
    joseph,
    predicted,
    quietest,
)
from diffbot_description import DynamicParameters, FrictionLaw
from diffbot_description.dynamics import NO_FRICTION

Mask = NDArray[np.bool_]


class BatchDrivetrain:
    """Observers and friction of n robots; see Drivetrain.

    Attributes:
        k: K5 to K8 with arrays instead of numbers, shape (n,) each.
        bias: Unmodelled acceleration that the torque compensates, shape (2, n).

    Raises:
        ValueError: A law predicts a delay, has no observer, or has static friction or a floor that
            resists turning.
    """

    def __init__(
        self, dynamics: Sequence[DynamicParameters], wheels: Sequence[KnownWheels]
    ) -> None:
        for index, each in enumerate(wheels):
            static = any(law.static for law in each.friction)
            if each.delay > 0.0 or not each.observer or static or each.turning != NO_FRICTION:
                raise ValueError(
                    f"robot {index} of a block: its law's wheels have a delay, no observer, static "
                    "friction or a floor that resists turning, which a block does not support; "
                    "drive it alone: simulate_drive"
                )
        # The methods of DynamicParameters work for arrays too.
        self.k: Any = DynamicParameters(*np.array([k.checked() for k in dynamics]).T)
        geometries = [each.geometry for each in wheels]
        self.radius = np.array([(g.left_radius, g.right_radius) for g in geometries]).T
        self.half_track = np.array([g.half_track for g in geometries])
        self.friction = _stacked([each.friction for each in wheels])
        self._integral = np.array([each.integral for each in wheels])
        self._standstill = _BatchStandstill(wheels)
        self._extra = np.zeros((2, len(wheels)))
        k7, k8 = self.k.k7, self.k.k8
        ones = np.ones_like(k7)
        by_left, by_right = (self.wheel_velocity(np.stack((k7, s * k8))) for s in (ones, -ones))
        self.mobility = np.stack((by_left, by_right), axis=1)
        torque = np.array([each.torque for each in wheels])
        limit = np.array([each.limit for each in wheels])
        self._largest = self._by(np.minimum(LARGEST_BIAS * torque, BIAS_OF_LIMIT * limit))
        self._full = np.minimum(torque, NOISE_OF_LIMIT * limit)
        self._quietest = np.array([quietest(each.counts) for each in wheels])
        self._rise = np.array([each.rise for each in wheels])
        self._acted = np.zeros((2, len(wheels)))
        self._last_nonzero = np.zeros((2, len(wheels)))  # last torques that were not 0
        self.most_torque = np.minimum(torque, limit)
        self.counts = np.array([each.counts for each in wheels])
        counts = np.array([min(each.counts or FINEST, FINEST) for each in wheels])
        left, right = self.radius**2 * (math.tau / counts) ** 2 / 12.0
        separation = 2.0 * self.half_track
        self._axes = _BatchAxes(
            np.stack((0.25 * (left + right), (left + right) / separation**2)),
            self._largest,
        )
        self.bias = np.zeros((2, len(wheels)))

    def _by(self, torque: Array) -> Array:
        return np.stack((2.0 * torque * self.k.k7, -2.0 * torque * self.k.k8))

    def wheel_velocity(self, u: Array) -> Array:
        """Return wheel speeds, rad/s, for body velocities, m/s and rad/s, shape (2, n) both."""
        turn = self.half_track * u[1]
        speeds: Array = np.stack((u[0] - turn, u[0] + turn)) / self.radius
        return speeds

    def motion(self, poses: Array, mean: Array, torque: Array, dt: float) -> tuple[Array, Array]:
        """Return present poses, (3, n), and velocities, (2, n); see MotionObserver.motion.

        Args:
            poses: Poses by odometry, rows x, y, theta, m and rad, shape (3, n).
            mean: Mean velocities over the period that ends, shape (2, n).
            torque: Torques that acted over it, [left, right], N m, shape (2, n).
            dt: Period, s.
        """
        axes = self._axes
        rate, stuck = self.rate(axes.u, torque, axes.d, dt)
        self._acted = torque
        axes.update(mean * dt, rate, BASE * self._unknown(torque) ** 2, stuck, dt)
        self.bias = np.where(self._integral, axes.d, 0.0)
        return arc_ends(poses, *axes.p), axes.u

    def torque(
        self, u: Array, wanted: Array, acceleration: Array, unbounded: Array, dt: float
    ) -> Array:
        """Return the torques for accelerations, not limited yet, N m, shape (2, n).

        The arguments are those of Drivetrain.torque, shape (2, n) each; the drift is its mean over
        the period.
        """
        drift = np.stack(self.k.mean_drift(_rows(u), _rows(acceleration), dt)) + self.bias
        torque = np.stack(self.k.torque(_rows(acceleration), _rows(drift)))
        total = self._with_friction(torque, u, wanted, acceleration, dt)
        bounded = (unbounded != acceleration).any(axis=0)
        if not bounded.any():
            return total
        asked = np.stack(self.k.torque(_rows(unbounded), _rows(drift)))
        friction, missing = total - torque, asked - torque
        left_over = np.maximum(np.abs(friction) - np.abs(missing), 0.0)
        yielding = np.where(
            friction * missing >= 0.0, total, torque + np.copysign(left_over, friction)
        )
        return np.where(bounded, yielding, total)

    def _unknown(self, torque: Array) -> Array:
        """See MotionObserver.unknown."""
        full = self._full
        fraction = np.maximum(self._quietest, np.abs(self._axes.u[0]) / BRISK)
        acting = np.maximum(fraction * full, np.abs(torque).max(axis=0))
        some = self._by(NOISE * np.minimum(full, acting))
        return np.minimum(self._by(NOISE * full), some + DOUBT * np.abs(self._axes.d))

    def slew_limited(self, torque: Array, limit: Array, dt: float) -> Array:
        """See Drivetrain.slew_limited; shape (2, n), limits of shape (n,)."""
        rise = np.where(np.isinf(limit), 0.0, self._rise)
        step = np.where(rise > 0.0, limit * dt / np.where(rise > 0.0, rise, 1.0), math.inf)
        before = self._acted
        return within_each(before + within_each(torque - before, -step, step), -limit, limit)

    def turned_round(self, torque: Array, at_goal: Mask) -> Array:
        """See Drivetrain.turned_round; for the robots at a goal, shape (2, n)."""
        least = TURN_ROUND * self.friction.starting(-self._last_nonzero)
        back = (torque * self._last_nonzero < 0.0) & (np.abs(torque) < least)
        return np.where(at_goal & back, 0.0, torque)

    def command(self, torque: Array) -> None:
        """See Drivetrain.command; shape (2, n)."""
        self._last_nonzero = np.where(torque != 0.0, torque, self._last_nonzero)

    def resting_torque(self) -> Array:
        """See Drivetrain.resting_torque; shape (2, n)."""
        torque = np.stack(self.k.torque(REST, _rows(self._axes.d)))
        stuck = (np.abs(torque) <= STUCK * self.friction.breakaway(-torque)).all(axis=0)
        return np.where(stuck, 0.0, torque)

    def rests(self, ahead: Array, turn: Array, u: Array) -> Mask:
        """Return which robots may rest; see Drivetrain.rests."""
        speeds = self.wheel_velocity(u)
        dry = [
            self.friction.dry(speeds, np.full_like(speeds, direction)) for direction in (1.0, -1.0)
        ]
        friction = np.minimum(*dry).sum(axis=0)
        return self._standstill.update(ahead, turn, u, self.k.k7 * friction, -self.k.k8 * friction)

    def leave(self) -> None:
        """Note that no robot is at a goal."""
        self._standstill.leave()

    def rate(self, u: Array, torque: Array, bias: Array, dt: float) -> tuple[Array, Mask]:
        """Return mean accelerations over a period from u on, and where friction holds the robot."""
        driven = self.k.input_acceleration(torque)
        free = np.stack(driven) + np.stack(self.k.mean_drift(_rows(u), driven, dt)) + bias
        end, now = self.wheel_velocity(u + dt * free), self.wheel_velocity(u)
        law = self.friction.under(torque)
        friction, stuck = friction_over_batch(law, self.mobility, now, end, dt)
        return free - np.stack(self.k.input_acceleration(friction)), stuck[0] & stuck[1]

    def _with_friction(
        self, torque: Array, u: Array, wanted: Array, acceleration: Array, dt: float
    ) -> Array:
        """See FrictionFeedforward.add."""
        now, desired = self.wheel_velocity(u), self.wheel_velocity(wanted)
        final = self.wheel_velocity(u + acceleration * dt)
        target = np.where(np.abs(final) * self.radius < SLOW, desired, final)
        fraction = within_each(target * self.radius / SMOOTH, -1.0, 1.0)
        mean = 0.5 * (now + final)
        total = torque + self.friction.viscous * mean + fraction * self.friction.dry(mean, fraction)
        starts = (np.abs(now) * self.radius <= STILL) & (fraction != 0.0)
        if not starts.any():
            self._extra = np.zeros_like(total)
            return self.friction.motor_torque(total, fraction)
        direction = np.copysign(1.0, fraction)
        hold = self.friction.breakaway(direction)
        extra = np.where(self._extra * direction < 0.0, 0.0, self._extra)
        most = MOST * hold
        extra = within_each(extra + fraction * hold * dt / START, -most, most)
        # A robot without friction keeps its torque: its hold and extra are 0.
        start = direction * np.maximum(direction * total, np.abs(fraction) * BREAK * hold) + extra
        some = (self.friction.viscous > 0.0) | (hold > 0.0) | (self.friction.gear_loss > 0.0)
        starts &= some.any(axis=0)
        self._extra = np.where(starts, extra, 0.0)
        return self.friction.motor_torque(np.where(starts, start, total), fraction)


class BatchFirstReading:
    """Corrects the odometry of n robots; see FirstReading.

    Args:
        poses: Poses at the first reading, rows x, y, theta, m and rad, shape (3, n).
        angles: Wheel angles at the first reading, rad, shape (2, n).
    """

    def __init__(self, drivetrain: BatchDrivetrain, poses: Array, angles: Array) -> None:
        self._model = drivetrain
        self._poses, self._angles = poses, angles
        self._u = np.zeros_like(angles)
        counts, mobility = drivetrain.counts, drivetrain.mobility
        self._filters = FirstReadings(
            np.where(counts > 0, math.tau / np.maximum(counts, 1), 0.0),
            model_noise(np.stack((mobility[0, 0], mobility[1, 1])), drivetrain.most_torque),
        )

    def put_right(self, poses: Array, angles: Array, torque: Array, dt: float) -> Array:
        """Return odometry's poses, (3, n), corrected by newly determined offsets.

        Args:
            angles: Wheel angles, rad, shape (2, n).
            torque: Torques commanded for the period that ends, N m, shape (2, n).
            dt: Its duration, s.
        """
        if self._filters.is_done:
            return poses
        model, u = self._model, self._u
        rate, _ = model.rate(u, torque, np.zeros_like(u), dt)
        self._u = u + dt * rate
        ways = model.wheel_velocity(0.5 * dt * (u + self._u))
        offsets = self._filters.update(angles - self._angles, ways, dt)
        if offsets is None:
            return poses
        for side in (0, 1):
            offset = np.where(offsets.determined[side], offsets.mean[side], 0.0)
            poses = poses - offset * pose_per_offset(
                side, model.radius[side], 2.0 * model.half_track, self._poses, poses
            )
        return poses


class _BatchAxes:
    """The filters of both axes, shape (2, n); see motion._Axis."""

    def __init__(self, variance: Array, largest: Array) -> None:
        self._variance, self._largest = variance, largest
        self.p, self.u, self.d = (np.zeros_like(variance) for _ in range(3))
        self._cov: list[Any] = [variance, *(np.zeros_like(variance) for _ in range(5))]
        self._begun = False

    def update(
        self, read: Array, acceleration: Array, noise: Array, stuck: Mask, dt: float
    ) -> None:
        if not self._begun:
            self._cov[3], self._begun = (read / dt) ** 2 + noise * dt, True
        pp, pu, pd, uu, ud, dd = predicted(self._cov, noise, np.where(stuck, 0.0, noise), dt)
        before = self.u
        self.u = self.u + dt * acceleration
        self.p = self.p + (0.5 * dt * (before + self.u) - read)
        wrong = -self.p
        total = pp + self._variance
        beyond = wrong * wrong - OUTLIER * OUTLIER * total
        if (beyond > 0.0).any():
            more = np.where(beyond > 0.0, beyond / (dt * dt), 0.0)
            uu += more
            pu += 0.5 * dt * more
            pp += more * (dt * dt / 3.0)
            total = pp + self._variance
        gain: Any = (pp / total, pu / total, np.where(stuck, 0.0, pd / total))
        kp, ku, kd = gain
        variance: Any = self._variance
        self.p = self.p + kp * wrong
        self.u = self.u + ku * wrong
        self.d = within_each(self.d + kd * wrong, -self._largest, self._largest)
        self._cov = joseph((pp, pu, pd, uu, ud, dd), gain, variance)


class _BatchStandstill:
    """See Standstill."""

    def __init__(self, wheels: Sequence[KnownWheels]) -> None:
        own = [Standstill(each) for each in wheels]
        self._along = np.array([each.along for each in own])
        self._turned = np.array([each.turned for each in own])
        self._holds = np.array([holds(each.friction) for each in wheels])
        self.leave()

    def leave(self) -> None:
        self._rests = np.zeros(len(self._holds), dtype=bool)

    def update(self, ahead: Array, turn: Array, u: Array, stop_v: Array, stop_omega: Array) -> Mask:
        may = self._holds & (stop_v > 0.0) & (stop_omega > 0.0)
        factor = np.where(self._rests, LEAVE, 1.0)
        ahead = ahead - u[0] * np.abs(u[0]) / np.where(may, 2.0 * stop_v, 1.0)
        turn = turn - u[1] * np.abs(u[1]) / np.where(may, 2.0 * stop_omega, 1.0)
        inside = (np.abs(ahead) <= factor * self._along) & (np.abs(turn) <= factor * self._turned)
        self._rests = may & inside
        return self._rests


def friction_over_batch(
    law: FrictionLaw[Array], mobility: Array, speeds: Array, free: Array, dt: float
) -> tuple[Array, Mask]:
    """Return the wheels' friction over a period, N m, and which were held; see friction_over.

    Args:
        law: Friction law of the wheels, with arrays of shape (2, n).
        mobility: Accelerations of the wheels per torque, shape (2, 2, n).
        speeds: Speeds at the beginning, rad/s, shape (2, n).
        free: Speeds at the end without friction, rad/s, shape (2, n).
        dt: Period, s.
    """
    standing = np.abs(speeds) < 1e-9
    forward, backward = law.coulomb, law.coulomb
    if law.coulomb_backward is not None:
        backward = law.coulomb_backward
    drag = law.viscous * speeds
    low, high = drag - backward, drag + forward
    torque = np.where(standing, drag, np.where(speeds > 0.0, high, low))
    moving = _relaxed(torque, low, high, mobility, free, dt)
    rest = np.flatnonzero(moving)
    if len(rest):
        part = torque[:, rest]
        bounds, own, to = (low[:, rest], high[:, rest]), mobility[:, :, rest], free[:, rest]
        going = np.ones(len(rest), dtype=bool)
        for _ in range(ITERATIONS - 1):
            new = part.copy()
            changed = _relaxed(new, *bounds, own, to, dt)
            part = np.where(going, new, part)
            going &= changed
            if not going.any():
                break
        torque[:, rest] = part
    return torque, (low < torque) & (torque < high)


def _relaxed(
    torque: Array, low: Array, high: Array, mobility: Array, free: Array, dt: float
) -> Mask:
    change = np.zeros(torque.shape[1])
    for i in (0, 1):
        gain = dt * mobility[i, i]
        end = free[i] - dt * (mobility[i, 0] * torque[0] + mobility[i, 1] * torque[1])
        new = np.maximum(low[i], np.minimum(high[i], torque[i] + end / gain))
        np.maximum(change, np.abs(new - torque[i]) * gain, out=change)
        torque[i] = new
    return change >= 1e-9


def _stacked(
    laws: Sequence[tuple[FrictionLaw[float], FrictionLaw[float]]],
) -> FrictionLaw[Array]:
    def of(value: str, direction: float) -> Array:
        return np.array(
            [[law.viscous if value else law.sliding(direction) for law in pair] for pair in laws]
        ).T

    forward, backward = of("", 1.0), of("", -1.0)
    same = bool((forward == backward).all())
    losses = np.array([[law.gear_loss for law in pair] for pair in laws]).T
    return FrictionLaw(
        of("viscous", 1.0),
        forward,
        None if same else backward,
        gear_loss=losses if losses.any() else 0.0,
    )


def _rows(pair: Array) -> Any:
    """Return rows [v, omega] as the Velocity that methods of DynamicParameters accept."""
    return Velocity(pair[0], pair[1])
