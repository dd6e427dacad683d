# SPDX-License-Identifier: Apache-2.0
"""How the robot moves, as a law is told it: from its wheels' samples to a State at the instant.

Encoders give the mean velocity over the last period. VelocityEstimate makes of it the velocity at
the control instant, with what the model says of its change. MotionObserver does the same for wheels
that are known, and predicts over the torque's delay.

Differences of encoder counts are a poor velocity: at 2048 counts and 10 ms a wheel of 8 cm is read
in steps of 25 mm/s. An observer knows what the torque makes of the velocity and lets the counts
correct that. One Kalman filter per axis (v and omega, which the model couples by the drift only),
with the state [p, u, d]: path or turn, velocity, and an acceleration that the model does not
know, such as that of friction that is larger than described:

    p' = u
    u' = model(u, tau) + d + white noise of intensity q
    d' = white noise of intensity q / BIAS_TIME_CONSTANT^2

and the reading p plus the rounding of the counts, a variance of count^2 / 12 per wheel.
Its gain follows from counts, period and q alone; d comes round within BIAS_TIME_CONSTANT. q is
small for a robot that creeps with little torque, see MotionObserver.unknown: its counts then say
little, and what is left of their rounding goes, by the laws' gains, into the torque.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arc_odometry import (
    REST,
    Anomaly,
    Arc,
    DiffOdometry,
    JointOdometry,
    JointSample,
    Pose,
    Velocity,
    WheelGeometry,
)
from arc_odometry.geometry import check_finite, within
from arc_odometry.joints import MAX_WHEEL_SPEED
from diffbot_controllers.laws.friction import (
    KnownWheels,
    friction_over,
    turning_mobility,
    wheel_mobility,
    with_moment,
)
from diffbot_description import DynamicParameters, FrictionLaw, Torque
from diffbot_description.dynamics import NO_FRICTION

NO_TORQUE: Torque = (0.0, 0.0)


@dataclass(frozen=True)
class State:
    """How the robot moves at one control instant.

    Attributes:
        pose: in the odom frame, m and rad; theta may count whole turns.
        velocity: at this instant, or the mean over the control interval that ends now, as
            differences of encoder positions give it; a law is told which when it is made.
        torque: that acted over the interval that ends now, [left, right], N m, as
            joint_states.effort reports it. None: what the law commanded, which is not so where
            somebody else limits the torque too.

    Raises:
        ValueError: a number is not finite.
    """

    pose: Pose
    velocity: Velocity
    torque: Torque | None = None

    def __post_init__(self) -> None:
        check_finite("state", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("state", v=self.velocity.v, omega=self.velocity.omega)
        if self.torque is not None:
            check_finite("state", torque_left=self.torque[0], torque_right=self.torque[1])


class ObservedMotion(NamedTuple):
    """How the robot moves.

    Attributes:
        pose: in the odom frame, m and rad.
        velocity: m/s and rad/s.
        bias: acceleration that the model does not know, m/s^2 and rad/s^2.
        held: whether friction holds both wheels.
    """

    pose: Pose
    velocity: Velocity
    bias: Velocity = REST
    held: bool = False


# A longer time between two samples tells nothing about the velocity at its end, s.
LONGEST_PERIOD = 0.2


class Reading(NamedTuple):
    """What a joint sample told.

    Attributes:
        state: for a law; None where the sample is a new beginning or was left out.
        dt: time since the sample before, s.
        anomaly: what was wrong with the sample; None where nothing was.
    """

    state: State | None
    dt: float
    anomaly: Anomaly | None


class OdometryCorrection(Protocol):
    """What puts odometry right once more is known of it; see first_reading.FirstReading."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be put right."""

    def begin(self, odometry: DiffOdometry) -> None:
        """Take in the first reading."""

    def update(self, odometry: DiffOdometry, torque: Torque, dt: float) -> None:
        """Take in a later one, with the torque commanded (N m) since the one before, dt s ago."""


class WheelFeedback:
    """Pose by exact arc odometry and velocity, from the joint samples of a robot.

    Args:
        geometry: radii and separation of the wheels.
        start: pose at the first sample, m, m, rad, in the odom frame.
        path_noise: variance of a wheel's path per path driven, m^2/m, >= 0; see DiffOdometry.
        from_angles: whether velocities are differences of the wheels' angles, means over the
            period that ends; else the speeds that the joint states report.
        max_wheel_speed: faster changes of a wheel's angle are jumps of its encoder, rad/s, > 0.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        start: tuple[float, float, float] = (0.0, 0.0, 0.0),
        path_noise: float = 0.0,
        from_angles: bool = True,
        max_wheel_speed: float = MAX_WHEEL_SPEED,
    ) -> None:
        self.odometry = DiffOdometry(geometry, path_noise, max_wheel_speed, start)
        self._samples = JointOdometry(self.odometry, LONGEST_PERIOD)
        self._from_angles = from_angles
        self._correction: OdometryCorrection | None = None

    def correct_by(self, correction: OdometryCorrection | None) -> None:
        """Have odometry put right from the first sample on; without effect once that has come."""
        if self.odometry.time is None:
            self._correction = correction

    def update(self, sample: JointSample, torque: Torque) -> Reading:
        """Take in a sample.

        Args:
            sample: the wheels.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Raises:
            ValueError: angles or stamp are not finite; nothing has changed then.
        """
        before = self.odometry.time
        anomaly = self._samples.update(sample)
        if self._correction is not None:
            self._correct(self._correction, before, anomaly, torque)
        if anomaly is not None or before is None or self.odometry.time == before:
            return Reading(None, 0.0, anomaly)
        velocity = self.odometry.velocity
        if not self._from_angles:
            velocity = Velocity(*self.odometry.geometry.body_velocity(*sample.velocity))
        state = State(self.odometry.pose, velocity, torque)
        return Reading(state, sample.stamp - before, None)

    def _correct(
        self,
        correction: OdometryCorrection,
        before: float | None,
        anomaly: Anomaly | None,
        torque: Torque,
    ) -> None:
        """Put odometry right after a sample; arguments as in `update`."""
        now = self.odometry.time
        if before is None:
            correction.begin(self.odometry)
        elif now is not None and now > before and anomaly is None:
            correction.update(self.odometry, torque, now - before)
        if anomaly is not None or correction.is_done:
            self._correction = None


def check_period(dt: float) -> None:
    """Refuse a time since the last update that is not finite and > 0.

    Raises:
        ValueError: names it.
    """
    if not 0.0 < dt < math.inf:
        raise ValueError(
            f"dt = {dt} s: must be finite and > 0; give the time since the last update"
        )


# Time constant, s, with which an estimate comes round from the model to the encoders.
# At 100 Hz it halves the torque's chatter with 4096 counts at rest. An acceleration that the
# model is wrong about by d biases the estimate by 11 ms times d instead of 5 ms.
TIME_CONSTANT = 0.01


class VelocityEstimate:
    """Velocity now, where encoders give its mean over the last period.

    While u changes at the rate nu, its mean over a period is what it was half a period ago:
    u = u_mean + nu T / 2. A loop closed on the mean instead has half a period more delay.

    Encoders count, so the mean chatters. The model says how u has changed since the last estimate;
    of the difference between that and u_mean + nu T / 2 the estimate takes the share
    1 - e^(-T / TIME_CONSTANT). Where the model is right and the encoders are exact nothing is left
    of either.

    Args:
        dynamics: of the robot.
        mean: whether the velocity of a State is that mean; else it is taken as it is.
    """

    def __init__(self, dynamics: DynamicParameters, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
        self.velocity = REST
        self._known = False

    def update(self, state: State, dt: float) -> Velocity:
        """The velocity now.

        Args:
            state: of the robot now; None for its torque: there was none.
            dt: time since the update before, s.
        """
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(state.torque or NO_TORQUE)
        # f at the mean velocity is the mean of f but for the square of the change.
        drift = self.dynamics.drift(state.velocity)
        share = -math.expm1(-dt / TIME_CONSTANT) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, share, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, share, dt),
        )
        return self.velocity

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """The same with the pose."""
        return ObservedMotion(state.pose, self.update(state, dt))


def _blend(before: float, mean: float, rate: float, share: float, dt: float) -> float:
    """A velocity from the one before and its mean since, while it changed at a rate."""
    foretold, measured = before + dt * rate, mean + 0.5 * dt * rate
    return foretold + share * (measured - foretold)


# Standard deviation, as a share of what all torque gives, of accelerations that the model does not
# know, if they change every BASE s.
NOISE, BASE = 0.01, 0.01
# The same is a share of the torque that acts, of `quietest` times all torque at the least, and from
# BRISK m/s on of all torque; and DOUBT of what the model is known to be wrong by comes to that.
# Without BRISK the figures of 8 of robots whose friction is known 30 % wrong are half as bad again.
QUIET, BRISK, DOUBT = 0.05, 0.2, 0.3
BIAS_TIME_CONSTANT = 0.3  # s
# Exact encoders, and finer ones, are taken for such: what an observer follows with a high gain is
# no motion of the robot any more, and would not be learnt as an acceleration.
FINEST = 16384
# Deviations of a reading from what was foretold by this many sigma show a model that is wrong, as
# on wheels that slip: the observer then goes by the counts.
OUTLIER = 4.0
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
            dd += q * dt / (BIAS_TIME_CONSTANT * BIAS_TIME_CONSTANT)
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

    def __init__(self, dynamics: DynamicParameters, wheels: KnownWheels) -> None:
        self.wheels = wheels
        self.friction = wheels.friction
        self._turns = wheels.turning != NO_FRICTION
        self.dynamics = dynamics
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
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
        self._past: deque[tuple[Torque, float]] = deque(maxlen=MOST)

    @property
    def bias(self) -> Velocity:
        """Acceleration that the model does not know, within its bounds, m/s^2 and rad/s^2."""
        v, omega = (
            within(axis.d, largest)
            for axis, largest in zip(self._axes, self._largest_bias, strict=True)
        )
        return Velocity(v, omega)

    def motion(self, state: State, dt: float) -> ObservedMotion:
        """The motion now.

        Args:
            state: its velocity is the mean over the period that ends, of the wheels' angles; None
                for its torque: there was none.
            dt: time since the update before, s.
        """
        torque = self.acting(state.torque or NO_TORQUE, dt)
        u = Velocity(self._axes[0].u, self._axes[1].u)
        rate, held = self.rate(u, torque, dt)
        for axis, mean, acceleration, largest, unknown in zip(
            self._axes, state.velocity, rate, self._largest_bias, self.unknown(torque), strict=True
        ):
            axis.noise = BASE * unknown**2
            axis.update(mean * dt, acceleration, held, dt, largest)
        v, omega = self._axes
        pose = Arc(v.p, omega.p).end(state.pose)
        return ObservedMotion(pose, Velocity(v.u, omega.u), self.bias, held)

    def acting(self, torque: Torque, dt: float) -> Torque:
        """Torque that acted over the period that ends, a delay after it was commanded, N m.

        Args:
            torque: commanded for the period that ends, [left, right], N m; it is remembered.
            dt: its time, s.
        """
        delay = self.wheels.delay
        if delay <= 0.0:
            return torque
        self._past.append((torque, dt))
        late = self._commanded_between(delay + dt, delay)
        left, right = (sum(t[side] * span for t, span in late) / dt for side in (0, 1))
        return left, right

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

    def predicted(self, motion: ObservedMotion) -> ObservedMotion:
        """The motion when the torque that is commanded now will act, one delay from now."""
        pose, u, held = motion.pose, motion.velocity, motion.held
        for torque, span in self._commanded_between(self.wheels.delay, 0.0):
            rate, held = self.rate(u, torque, span)
            end = Velocity(u.v + span * rate.v, u.omega + span * rate.omega)
            pose = Arc(0.5 * span * (u.v + end.v), 0.5 * span * (u.omega + end.omega)).end(pose)
            u = end
        return ObservedMotion(pose, u, motion.bias, held)

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

    def rate(self, u: Velocity, torque: Torque, dt: float) -> tuple[Velocity, bool]:
        """Mean acceleration over a period from u on, and whether friction holds both wheels."""
        dynamics, bias = self._dynamics, self.bias
        driven = dynamics.input_acceleration(torque)
        drift = dynamics.mean_drift(u, driven, dt)
        free = Velocity(driven.v + drift.v + bias.v, driven.omega + drift.omega + bias.omega)
        geometry = self.wheels.geometry
        laws: tuple[FrictionLaw[float], ...] = self.friction
        speeds: tuple[float, ...] = geometry.wheel_velocity(*u)
        turn = u.omega + dt * free.omega
        ends: tuple[float, ...] = geometry.wheel_velocity(u.v + dt * free.v, turn)
        if self._turns:
            laws, speeds, ends = (*laws, self.wheels.turning), (*speeds, u.omega), (*ends, turn)
        friction = friction_over(laws, self.mobility, speeds, ends, dt)
        left, right, *moment = friction.torque
        slowing = with_moment((left, right), moment[0], geometry) if moment else (left, right)
        slowed = dynamics.input_acceleration(slowing)
        return Velocity(free.v - slowed.v, free.omega - slowed.omega), all(friction.held[:2])
