# SPDX-License-Identifier: Apache-2.0
"""How the robot moves now, from its wheels' angles, the torques that acted, and the model.

Differences of encoder counts are a poor velocity: at 2048 counts and 10 ms a wheel of 8 cm is read
in steps of 25 mm/s. An observer knows what the torque makes of the velocity and lets the counts
correct that. One Kalman filter per axis (v and omega, which the model couples by the drift only),
with the state [p, u, d]: path or turn, velocity, and an acceleration that the model does not
know, such as that of friction that is larger than described:

    p' = u
    u' = model(u, tau) + d + white noise of intensity q
    d' = white noise of intensity q / MEMORY^2

and the reading p plus the rounding of the counts, a variance of count^2 / 12 per wheel.
Its gain follows from counts, period and q alone; d comes round within MEMORY. q is small for a
robot that creeps with little torque, see MotionObserver.unknown: its counts then say little, and
what is left of their rounding goes, by the laws' gains, into the torque.
"""

from __future__ import annotations

import math
from collections import deque

from arc_odometry import Arc, Velocity
from diffbot_controllers.laws.friction import (
    NO_FRICTION,
    Wheels,
    friction_over,
    turning_mobility,
    wheel_mobility,
)
from diffbot_controllers.laws.motion import Motion, State, within
from diffbot_description import DynamicParameters, Torque

# Standard deviation, as a share of what all torque gives, of accelerations that the model does not
# know, if they change every BASE s.
NOISE, BASE = 0.01, 0.01
# The same is a share of the torque that acts, of `quietest` times all torque at the least, and from
# BRISK m/s on of all torque; and DOUBT of what the model is known to be wrong by comes to that.
# Without BRISK the figures of 8 of robots whose friction is known 30 % wrong are half as bad again.
QUIET, BRISK, DOUBT = 0.05, 0.2, 0.3
MEMORY = 0.3  # s
# Exact encoders, and finer ones, are taken for such: what an observer follows with a high gain is
# no motion of the robot any more, and would not be learnt as an acceleration.
FINEST = 16384
# Deviations of a reading from what was foretold by this many sigma show a model that is wrong, as
# on wheels that slip: the observer then goes by the counts.
ODD = 4.0
# Bound of what is not known, as a share of what all torque gives, and of what is commanded at most:
# the laws' bounds of acceleration have to be able to brake against it.
LARGEST_BIAS, BIAS_OF_LIMIT = 0.3, 0.4
# The noise is a share of no more than so many times the torque that is commanded at most.
NOISE_OF_LIMIT = 5.0
# Torques that are remembered for the delay: of 1 s at 1 kHz. Times below INSTANT s are rounding.
MOST, INSTANT = 1000, 1e-9


class _Axis:
    """The filter of one axis; its position is relative to the reading.

    Args:
        noise: q, in the axis' unit^2 / s^3.
        variance: of a reading.
    """

    def __init__(self, noise: float, variance: float) -> None:
        self.noise = noise
        self.variance = variance
        self.p = self.u = self.d = 0.0
        self._cov = [variance, 0.0, 0.0, 0.0, 0.0, 0.0]  # pp, pu, pd, uu, ud, dd
        self._begun = False

    def update(
        self, read: float, acceleration: float, held: bool, dt: float, largest: float
    ) -> None:
        """Take in a reading.

        Args:
            read: change of the position since the reading before.
            acceleration: mean over the period, d included, such that u + dt a is right.
            held: whether the robot stands: d is then friction's, and stays.
            dt: s, > 0.
            largest: |d|; without a bound a robot that is blocked would wind it up.
        """
        pp, pu, pd, uu, ud, dd = self._cov
        q = self.noise
        if not self._begun:
            # It may be in motion.
            uu, self._begun = (read / dt) ** 2 + q * dt, True
        half = 0.5 * dt * dt
        # P = F P F^T + Q
        pp += 2.0 * dt * pu + dt * dt * uu + 2.0 * half * (pd + dt * ud) + half * half * dd
        pu += dt * uu + dt * (pd + dt * ud) + half * (ud + dt * dd)
        pd += dt * ud + half * dd
        uu += 2.0 * dt * ud + dt * dt * dd
        ud += dt * dd
        pp += q * dt**3 / 3.0
        pu += q * half
        uu += q * dt
        if not held:
            dd += q * dt / (MEMORY * MEMORY)
        before = self.u
        self.u += dt * acceleration
        self.p += 0.5 * dt * (before + self.u) - read
        wrong = -self.p
        total = pp + self.variance
        if wrong * wrong > ODD * ODD * total:
            more = (wrong * wrong - ODD * ODD * total) / (dt * dt)
            uu += more
            pu += 0.5 * dt * more
            pp += more * dt * dt / 3.0
            total = pp + self.variance
        kp, ku, kd = pp / total, pu / total, 0.0 if held else pd / total
        self.p += kp * wrong
        self.u += ku * wrong
        self.d = within(self.d + kd * wrong, largest)
        # Joseph's form: it holds for any gain.
        self._cov = joseph((pp, pu, pd, uu, ud, dd), (kp, ku, kd), self.variance)

    @property
    def deviation(self) -> float:
        """Standard deviation of u."""
        return math.sqrt(max(self._cov[3], 0.0))


def joseph(
    cov: tuple[float, ...], gain: tuple[float, float, float], variance: float
) -> list[float]:
    """Covariance (pp, pu, pd, uu, ud, dd) after a reading of p with this variance, for any gain."""
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
    """Least share of all torque that the noise counts, from coarse (QUIET) to fine encoders (1).

    It goes with the rounding's variance: exact encoders are followed however little torque acts.
    """
    return max(QUIET, (min(counts or FINEST, FINEST) / FINEST) ** 2)


class MotionObserver:
    """Pose and velocity now, or when the torque that is commanded now will act.

    Args:
        dynamics: K5..K8; they may be replaced between two updates.
        wheels: the rest; its friction may be replaced, too.
    """

    def __init__(self, dynamics: DynamicParameters, wheels: Wheels) -> None:
        self.wheels = wheels
        self.friction = wheels.friction
        self.dynamics = dynamics
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()
        self._turns = self.wheels.turning != NO_FRICTION
        mobility = turning_mobility if self._turns else wheel_mobility
        self._mobility = mobility(dynamics, self.wheels.geometry)
        torque, limit = self.wheels.torque, self.wheels.limit
        self._full = min(torque, NOISE_OF_LIMIT * limit)
        self._largest_bias = self._by(min(LARGEST_BIAS * torque, BIAS_OF_LIMIT * limit))

    def _by(self, torque: float) -> Velocity:
        """Accelerations that a torque gives on both wheels, m/s^2 and rad/s^2, > 0."""
        return Velocity(2.0 * torque * self._dynamics.k7, -2.0 * torque * self._dynamics.k8)

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
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
        self._commanded: Torque = (0.0, 0.0)
        self._past: deque[tuple[Torque, float]] = deque(maxlen=MOST)

    def acted(self, state: State) -> Torque:
        """Torque commanded over the period that ends now, [left, right], N m."""
        return self._commanded if state.torque is None else state.torque

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque

    @property
    def bias(self) -> Velocity:
        """Acceleration that the model does not know, within its bounds, m/s^2 and rad/s^2."""
        v, omega = (
            within(axis.d, largest)
            for axis, largest in zip(self._axes, self._largest_bias, strict=True)
        )
        return Velocity(v, omega)

    def motion(self, state: State, dt: float) -> Motion:
        """The motion now.

        Args:
            state: its velocity is the mean over the period that ends, of the wheels' angles.
            dt: time since the update before, s.
        """
        torque = self.acted(state)
        delay = self.wheels.delay
        if delay > 0.0:
            self._past.append((torque, dt))
            late = self._commanded_between(delay + dt, delay)
            left, right = (sum(t[side] * span for t, span in late) / dt for side in (0, 1))
            torque = (left, right)
        u = Velocity(self._axes[0].u, self._axes[1].u)
        rate, held = self._rate(u, torque, dt)
        for axis, mean, acceleration, largest, unknown in zip(
            self._axes, state.velocity, rate, self._largest_bias, self.unknown(torque), strict=True
        ):
            axis.noise = BASE * unknown**2
            axis.update(mean * dt, acceleration, held, dt, largest)
        v, omega = self._axes
        pose = Arc(v.p, omega.p).end(state.pose)
        return Motion(pose, Velocity(v.u, omega.u), self.bias, held)

    def unknown(self, torque: Torque) -> Velocity:
        """Standard deviation of accelerations that the model does not know, m/s^2 and rad/s^2.

        Args:
            torque: that acted over the period that ends, [left, right], N m.
        """
        axes, full = self._axes, self._full
        share = max(quietest(self.wheels.counts), abs(axes[0].u) / BRISK)
        some = self._by(NOISE * min(full, max(share * full, abs(torque[0]), abs(torque[1]))))
        most = self._by(NOISE * full)
        return Velocity(
            min(most.v, some.v + DOUBT * abs(axes[0].d)),
            min(most.omega, some.omega + DOUBT * abs(axes[1].d)),
        )

    def ahead(self, motion: Motion) -> Motion:
        """The motion when the torque that is commanded now will act, one delay from now."""
        pose, u, held = motion.pose, motion.velocity, motion.held
        for torque, span in self._commanded_between(self.wheels.delay, 0.0):
            rate, held = self._rate(u, torque, span)
            end = Velocity(u.v + span * rate.v, u.omega + span * rate.omega)
            pose = Arc(0.5 * span * (u.v + end.v), 0.5 * span * (u.omega + end.omega)).end(pose)
            u = end
        return Motion(pose, u, motion.bias, held)

    def _commanded_between(self, begin: float, end: float) -> list[tuple[Torque, float]]:
        """Torques and their times, from one time ago to another, s; zero before the first one."""
        found: list[tuple[Torque, float]] = []
        ago = 0.0
        for torque, span in reversed(self._past):
            overlap = min(ago + span, begin) - max(ago, end)
            if overlap > INSTANT:
                found.append((torque, overlap))
            ago += span
            if ago >= begin:
                break
        missing = begin - max(ago, end)
        if missing > INSTANT:
            found.append(((0.0, 0.0), missing))
        return found[::-1]

    def _rate(self, u: Velocity, torque: Torque, dt: float) -> tuple[Velocity, bool]:
        """Mean acceleration over a period from u on, and whether friction holds both wheels."""
        dynamics, bias = self._dynamics, self.bias
        driven = dynamics.input_acceleration(torque)
        drift = dynamics.mean_drift(u, driven, dt)
        free = Velocity(driven.v + drift.v + bias.v, driven.omega + drift.omega + bias.omega)
        geometry = self.wheels.geometry
        end = geometry.wheel_velocity(u.v + dt * free.v, u.omega + dt * free.omega)
        now = geometry.wheel_velocity(*u)
        if self._turns:
            return self._rate_on_floor(u, free, now, end, dt)
        friction = friction_over(self.friction, self._mobility, now, end, dt)
        left, right = friction.torque
        slowed = dynamics.input_acceleration((left, right))
        return Velocity(free.v - slowed.v, free.omega - slowed.omega), all(friction.held)

    def _rate_on_floor(
        self, u: Velocity, free: Velocity, now: Torque, end: Torque, dt: float
    ) -> tuple[Velocity, bool]:
        """_rate where the floor resists turning, too: wheel speeds now and, if free, at the end."""
        laws = (*self.friction, self.wheels.turning)
        speeds, ends = (*now, u.omega), (*end, u.omega + dt * free.omega)
        friction = friction_over(laws, self._mobility, speeds, ends, dt)
        left, right, moment = friction.torque
        more_left, more_right = self.wheels.geometry.wheel_torque(0.0, moment)
        slowed = self._dynamics.input_acceleration((left + more_left, right + more_right))
        return Velocity(free.v - slowed.v, free.omega - slowed.omega), all(friction.held[:2])
