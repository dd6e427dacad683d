# SPDX-License-Identifier: Apache-2.0
"""The present motion from wheel angles, torque and model, with and without an observer.

Derivation: docs/theory/observer.md.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

from arc_odometry import REST, Arc, Velocity
from arc_odometry.number_range import within
from diffbot_controllers.laws.friction import (
    KnownWheels,
    friction_over,
    turning_mobility,
    wheel_mobility,
    with_moment,
)
from diffbot_controllers.laws.motion import NO_TORQUE, ObservedMotion, State
from diffbot_description import DynamicParameters, FrictionLaw, Torque
from diffbot_description.dynamics import NO_FRICTION

# Unmodelled accelerations: a share NOISE of that at full torque, changing every BASE s.
NOISE, BASE = 0.01, 0.01
# Noise scales with the torque, from the share QUIET (coarse encoders, see `quietest`) of full
# torque on, in full from BRISK m/s on, and with the fraction DOUBT of the estimated d.
QUIET, BRISK, DOUBT = 0.05, 0.2, 0.3
BIAS_TIME_CONSTANT = 0.3  # time constant of the estimated model error d, s
# Finer encoders count as this many, or the observer would follow them alone and not learn d.
FINEST = 16384
# Sigmas beyond which a reading shows a wrong model, such as slip.
OUTLIER = 4.0
# Bounds of d, as shares of the accelerations at the wheels' and the commanded largest torque.
LARGEST_BIAS, BIAS_OF_LIMIT = 0.3, 0.4
# Largest full torque that scales the noise, as a multiple of the commanded one.
NOISE_OF_LIMIT = 5.0
# Torques stored for the delay, 1 s at 1 kHz; shorter times, s, are rounding.
MOST, INSTANT = 1000, 1e-9


class _Axis:
    """Kalman filter of one axis; its position p is relative to the last reading.

    `noise` is the intensity q, in the axis' unit^2 / s^3; `variance` that of a reading.
    """

    def __init__(self, noise: float, variance: float) -> None:
        self.noise = noise
        self.variance = variance
        self.p = self.u = self.d = 0.0
        self._cov = [variance, 0.0, 0.0, 0.0, 0.0, 0.0]  # pp, pu, pd, uu, ud, dd
        self._begun = False

    def update(
        self, read: float, acceleration: float, stuck: bool, dt: float, largest: float
    ) -> None:
        """Process a reading, dt s after the last one.

        Args:
            read: Change of the position since the previous reading.
            acceleration: Mean over the period, d included.
            stuck: Whether friction holds the robot: then d cannot be observed, and stays.
            largest: Bound of |d|; without it a blocked robot would cause windup.
        """
        q = self.noise
        if not self._begun:
            # The robot may already be moving.
            self._cov[3], self._begun = (read / dt) ** 2 + q * dt, True
        pp, pu, pd, uu, ud, dd = predicted(self._cov, q, 0.0 if stuck else q, dt)
        before = self.u
        self.u += dt * acceleration
        self.p += 0.5 * dt * (before + self.u) - read
        wrong = -self.p
        total = pp + self.variance
        if wrong * wrong > OUTLIER * OUTLIER * total:
            more = (wrong * wrong - OUTLIER * OUTLIER * total) / (dt * dt)
            uu += more
            pu += 0.5 * dt * more
            pp += more * dt * dt / 3.0
            total = pp + self.variance
        kp, ku, kd = pp / total, pu / total, 0.0 if stuck else pd / total
        self.p += kp * wrong
        self.u += ku * wrong
        self.d = within(self.d + kd * wrong, largest)
        self._cov = joseph((pp, pu, pd, uu, ud, dd), (kp, ku, kd), self.variance)

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self._cov[3], 0.0))


def predicted(cov: Sequence[Any], noise: Any, drift: Any, dt: float) -> tuple[Any, ...]:
    """Return the covariance (pp, pu, pd, uu, ud, dd) after a period: F P F^T + Q.

    Numbers, or arrays of robots; `noise` is q, `drift` q where d may change, else 0.
    """
    pp, pu, pd, uu, ud, dd = cov
    half = 0.5 * dt * dt
    return (
        pp
        + (2.0 * dt * pu + dt * dt * uu + 2.0 * half * (pd + dt * ud) + half * half * dd)
        + noise * dt**3 / 3.0,
        pu + (dt * uu + dt * (pd + dt * ud) + half * (ud + dt * dd)) + noise * half,
        pd + (dt * ud + half * dd),
        uu + (2.0 * dt * ud + dt * dt * dd) + noise * dt,
        ud + dt * dd,
        dd + drift * dt / (BIAS_TIME_CONSTANT * BIAS_TIME_CONSTANT),
    )


def joseph(
    cov: tuple[float, ...], gain: tuple[float, float, float], variance: float
) -> list[float]:
    """Return the covariance after a reading of p (Joseph form, valid for any gain)."""
    pp, pu, pd, uu, ud, dd = cov
    kp, ku, kd = gain
    total = pp + variance
    return [
        pp - 2.0 * kp * pp + kp * kp * total,
        pu - kp * pu - ku * pp + kp * ku * total,
        pd - kp * pd - kd * pp + kp * kd * total,
        uu - 2.0 * ku * pu + ku * ku * total,
        ud - ku * pd - kd * pu + ku * kd * total,
        dd - 2.0 * kd * pd + kd * kd * total,
    ]


def quietest(counts: int) -> float:
    """Return the minimum fraction of full torque that scales the noise.

    It goes with the inverse of the rounding's variance, from QUIET to 1 for exact encoders.
    """
    return max(QUIET, (min(counts or FINEST, FINEST) / FINEST) ** 2)


class MotionObserver:
    """Estimates pose and velocity now, or when the torque commanded now will act.

    `dynamics` and `friction` may be replaced between two updates.
    """

    def __init__(self, dynamics: DynamicParameters, wheels: KnownWheels) -> None:
        self.wheels = wheels
        self.friction = wheels.friction
        self._turns = wheels.turning != NO_FRICTION
        self.dynamics = dynamics
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()
        mobility = turning_mobility if self._turns else wheel_mobility
        self.mobility = mobility(dynamics, self.wheels.geometry)
        torque, limit = self.wheels.torque, self.wheels.limit
        self._full = min(torque, NOISE_OF_LIMIT * limit)
        self._largest_bias = self._by(min(LARGEST_BIAS * torque, BIAS_OF_LIMIT * limit))

    def _by(self, torque: float) -> Velocity:
        """Return the accelerations by this torque on both wheels, m/s^2 and rad/s^2, > 0."""
        return Velocity(2.0 * torque * self._dynamics.k7, -2.0 * torque * self._dynamics.k8)

    def reset(self) -> None:
        geometry, counts = self.wheels.geometry, min(self.wheels.counts or FINEST, FINEST)
        unknown = self._by(NOISE * self._full)
        variance = (math.tau / counts) ** 2 / 12.0
        left, right = geometry.left_radius**2 * variance, geometry.right_radius**2 * variance
        self._axes = [
            _Axis(BASE * most**2, own)
            for most, own in zip(
                unknown,
                (0.25 * (left + right), (left + right) / geometry.separation**2),
                strict=True,
            )
        ]
        self._past: deque[tuple[Torque, float]] = deque(maxlen=MOST)

    @property
    def bias(self) -> Velocity:
        """Acceleration that the model does not explain, within its bounds, m/s^2 and rad/s^2."""
        v, omega = (
            within(axis.d, largest)
            for axis, largest in zip(self._axes, self._largest_bias, strict=True)
        )
        return Velocity(v, omega)

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """Return the present motion, dt s after the last update.

        The state's velocity is the mean from wheel angles; a torque of None counts as none.
        """
        torque = self.acting(state.torque or NO_TORQUE, dt)
        u = Velocity(self._axes[0].u, self._axes[1].u)
        rate, stuck = self.rate(u, torque, dt)
        for axis, mean, acceleration, largest, unknown in zip(
            self._axes, state.velocity, rate, self._largest_bias, self.unknown(torque), strict=True
        ):
            axis.noise = BASE * unknown**2
            axis.update(mean * dt, acceleration, stuck, dt, largest)
        v, omega = self._axes
        pose = Arc(v.p, omega.p).end(state.pose)
        return ObservedMotion(pose, Velocity(v.u, omega.u), self.bias, stuck)

    def acting(self, torque: Torque, dt: float) -> Torque:
        """Return the torque that acted over the period of dt s that ends; commands act delayed.

        `torque`, commanded for that period, [left, right], N m, is stored.
        """
        delay = self.wheels.delay
        if delay <= 0.0:
            return torque
        self._past.append((torque, dt))
        late = self._commanded_between(delay + dt, delay)
        left, right = (sum(t[side] * span for t, span in late) / dt for side in (0, 1))
        return left, right

    def unknown(self, torque: Torque) -> Velocity:
        """Return the deviation of unmodelled accelerations under a torque, m/s^2 and rad/s^2."""
        axes, full = self._axes, self._full
        fraction = max(quietest(self.wheels.counts), abs(axes[0].u) / BRISK)
        some = self._by(NOISE * min(full, max(fraction * full, abs(torque[0]), abs(torque[1]))))
        most = self._by(NOISE * full)
        return Velocity(
            min(most.v, some.v + DOUBT * abs(axes[0].d)),
            min(most.omega, some.omega + DOUBT * abs(axes[1].d)),
        )

    def predicted(self, motion: ObservedMotion) -> ObservedMotion:
        """Return the motion one delay from now."""
        pose, u, stuck = motion.pose, motion.velocity, motion.stuck
        for torque, span in self._commanded_between(self.wheels.delay, 0.0):
            rate, stuck = self.rate(u, torque, span)
            end = Velocity(u.v + span * rate.v, u.omega + span * rate.omega)
            pose = Arc(0.5 * span * (u.v + end.v), 0.5 * span * (u.omega + end.omega)).end(pose)
            u = end
        return ObservedMotion(pose, u, motion.bias, stuck)

    def _commanded_between(self, begin: float, end: float) -> list[tuple[Torque, float]]:
        """Return torques and durations between `begin` and `end` s ago, oldest first."""
        results: list[tuple[Torque, float]] = []
        ago = 0.0
        for torque, span in reversed(self._past):
            overlap = min(ago + span, begin) - max(ago, end)
            if overlap > INSTANT:
                results.append((torque, overlap))
            ago += span
            if ago >= begin:
                break
        missing = begin - max(ago, end)
        if missing > INSTANT:
            results.append(((0.0, 0.0), missing))
        return results[::-1]

    def rate(self, u: Velocity, torque: Torque, dt: float) -> tuple[Velocity, bool]:
        """Return the mean acceleration over a period from u on, and whether both are held."""
        dynamics, bias = self._dynamics, self.bias
        driven = dynamics.input_acceleration(torque)
        drift = dynamics.mean_drift(u, driven, dt)
        free = Velocity(driven.v + drift.v + bias.v, driven.omega + drift.omega + bias.omega)
        geometry = self.wheels.geometry
        laws: tuple[FrictionLaw[float], ...] = tuple(
            law.under(tau) for law, tau in zip(self.friction, torque, strict=True)
        )
        speeds: tuple[float, ...] = geometry.wheel_velocity(*u)
        turn = u.omega + dt * free.omega
        ends: tuple[float, ...] = geometry.wheel_velocity(u.v + dt * free.v, turn)
        if self._turns:
            laws, speeds, ends = (*laws, self.wheels.turning), (*speeds, u.omega), (*ends, turn)
        friction = friction_over(laws, self.mobility, speeds, ends, dt)
        left, right, *moment = friction.torque
        slowing = with_moment((left, right), moment[0], geometry) if moment else (left, right)
        slowed = dynamics.input_acceleration(slowing)
        return Velocity(free.v - slowed.v, free.omega - slowed.omega), all(friction.stuck[:2])


# Time constant, s, with which encoders correct the model.
TIME_CONSTANT = 0.01


class VelocityEstimate:
    """Estimates the present velocity from its mean over the last period, without an observer.

    `mean`: whether a State's velocity is that mean; if not, it is used as it is.
    """

    def __init__(self, dynamics: DynamicParameters, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()

    def reset(self) -> None:
        self.velocity = REST
        self._known = False

    def update(self, state: State, dt: float) -> Velocity:
        """Return the present velocity, dt s after the last one; a torque of None counts as none."""
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(state.torque or NO_TORQUE)
        # f at the mean velocity is the mean of f up to the square of the change.
        drift = self.dynamics.drift(state.velocity)
        fraction = -math.expm1(-dt / TIME_CONSTANT) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, fraction, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, fraction, dt),
        )
        return self.velocity

    def motion(self, state: State, dt: float) -> ObservedMotion:
        return ObservedMotion(state.pose, self.update(state, dt))


def _blend(before: float, mean: float, rate: float, fraction: float, dt: float) -> float:
    predicted, measured = before + dt * rate, mean + 0.5 * dt * rate
    return predicted + fraction * (measured - predicted)
