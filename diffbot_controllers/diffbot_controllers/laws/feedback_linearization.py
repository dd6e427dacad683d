"""Feedback linearization and PI on the body velocity, Lages (2017), (61)-(72)."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arc_odometry import DiffOdometry, JointOdometry, JointSample, Oddity, WheelGeometry
from arc_odometry.odometry import MAX_WHEEL_SPEED
from diffbot_controllers.laws.motion import (
    REST,
    BodyDynamics,
    State,
    Torque,
    Velocity,
    check_finite,
    check_period,
    check_positive,
)

# ---
# Gains of the PI velocity loops: the discrete design, and the published ones.

ACCURACY = 0.01  # settled: within 1 % of the step


@dataclass(frozen=True)
class PiGains:
    """nu = kp (weight r - u) + ki z, z' = r - u by forward Euler; (65) of Lages (2017).

    Attributes:
        kp: 1/s, > 0.
        ki: 1/s^2, >= 0.
        weight: share of the reference in the proportional part, > 0 to 1.

    Raises:
        ValueError: a gain is outside its limits.
    """

    kp: float
    ki: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_positive("PI gains", kp=self.kp, weight=self.weight)
        check_finite("PI gains", ki=self.ki)
        if self.ki < 0.0 or self.weight > 1.0:
            raise ValueError(
                f"PI gains: ki = {self.ki}, weight = {self.weight}: must be >= 0 and at most 1"
            )

    def at(self, dt: float) -> PiGains:
        """These gains, whatever the control period dt, s."""
        return self


# (71), (72): from (69), which knows neither the double pole nor the zero of (67).
PUBLISHED = PiGains(184.0, 8464.0)


@dataclass(frozen=True)
class PiDesign:
    """Gains that settle a step within 1 % in a given time, for the control period at hand.

    The loop is u(k+1) = u(k) + T nu(k), z(k+1) = z(k) + T (r - u(k)), which forward Euler makes
    exact, for torque is held over the period. Its poles q obey

        q^2 + (T kp - 2) q + 1 - T kp + T^2 ki = (q - q1)(q - q2),

    so kp = (2 - q1 - q2) / T and ki = (1 - q1)(1 - q2) / T^2, with q = e^(s T) for the poles s of
    (68). With weight 1/2 and from rest u(1) = T kp r / 2, and the error of a step is exactly

        1 - u(k) / r = (q1^k + q2^k) / 2 = Re q1^k for a complex pair.

    With damping 1 that is q1^k: no overshoot, the zero cancels one of the two poles.
    With damping z < 1 it stays within e^(-z wn t) and overshoots by up to e^(-pi z / sqrt(1 - z^2))
    or a little less.

    Attributes:
        settling_time: to within 1 % for good, s, > 0.
        damping: of the pole pair, > 0.

    Raises:
        ValueError: a number is not finite or not > 0.
    """

    settling_time: float = 0.05
    damping: float = 1.0

    def __post_init__(self) -> None:
        check_positive("PI design", settling_time=self.settling_time, damping=self.damping)

    @property
    def natural_frequency(self) -> float:
        """Frequency wn, rad/s, with which the error has come down to 1 % at settling_time."""
        decay = -math.log(ACCURACY)
        if self.damping <= 1.0:
            return decay / (self.damping * self.settling_time)
        # (e^(-fast x) + e^(-slow x)) / 2 = accuracy. The fast part adds at most the factor 2
        # in front of the slow one: bisect between.
        root = math.sqrt(self.damping**2 - 1.0)
        slow, fast = 1.0 / (self.damping + root), self.damping + root
        low, high = (decay - math.log(2.0)) / slow, decay / slow
        for _ in range(60):
            x = 0.5 * (low + high)
            if 0.5 * (math.exp(-slow * x) + math.exp(-fast * x)) > ACCURACY:
                low = x
            else:
                high = x
        return high / self.settling_time

    def at(self, dt: float) -> PiGains:
        """The gains for a control period of dt, s.

        Raises:
            ValueError: dt is not finite and > 0.
        """
        check_period(dt)
        root = cmath.sqrt(self.damping**2 - 1.0)
        wn = self.natural_frequency
        first = cmath.exp(-(self.damping + root) * wn * dt)
        second = cmath.exp(-(self.damping - root) * wn * dt)
        kp = (2.0 - first - second).real / dt
        return PiGains(kp, ((1.0 - first) * (1.0 - second)).real / dt**2, weight=0.5)


# ---
# The velocity at the control instant, from what the sensors say.

# Time constant, s, with which an estimate comes round from the model to the encoders.
# At 100 Hz it halves the torque's chatter with 4096 counts at rest. An acceleration that the
# model is wrong about by d biases the estimate by 11 ms times d instead of 5 ms.
MEMORY = 0.01


class VelocityEstimate:
    """Velocity now, where encoders give its mean over the last period.

    While u changes at the rate nu, its mean over a period is what it was half a period ago:
    u = u_mean + nu T / 2. A loop closed on the mean instead has half a period more delay.

    Encoders count, so the mean chatters. The model says how u has changed since the last estimate;
    of the difference between that and u_mean + nu T / 2 the estimate takes the share
    1 - e^(-T / MEMORY). Where the model is right and the encoders are exact nothing is left of
    either.

    Args:
        dynamics: of the robot.
        mean: whether the velocity of a State is that mean; else it is taken as it is.
    """

    def __init__(self, dynamics: BodyDynamics, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
        self.velocity = REST
        self._known = False
        self._commanded: Torque = (0.0, 0.0)

    def acted(self, state: State) -> Torque:
        """Torque over the period that ends now, [left, right], N m."""
        return self._commanded if state.torque is None else state.torque

    def update(self, state: State, dt: float) -> Velocity:
        """The velocity now; dt: time since the update before, s."""
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(self.acted(state))
        # f at the mean velocity is the mean of f but for the square of the change.
        drift = self.dynamics.drift(state.velocity)
        share = -math.expm1(-dt / MEMORY) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, share, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, share, dt),
        )
        return self.velocity

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque


def _blend(before: float, mean: float, rate: float, share: float, dt: float) -> float:
    """A velocity from the one before and its mean since, while it changed at a rate."""
    foretold, measured = before + dt * rate, mean + 0.5 * dt * rate
    return foretold + share * (measured - foretold)


# ---
# Bringing two wheel torques into their limit.


def limit_torque(torque: Torque, limit: float) -> Torque:
    """Torques [left, right] within +-limit, N m; steering first.

    The difference of the torques turns the robot, their sum drives it. A robot that turns as asked
    but drives too slowly stays on its way; one that drives as asked but turns too slowly leaves
    it. So the difference gets what it needs, and the sum what the difference leaves.

    Raises:
        ValueError: a torque is not finite, the work of numbers beyond any robot. Clipping would
            make full torque of it.
    """
    left, right = torque
    check_finite("torque is beyond floating point", left=left, right=right)
    steering = max(-limit, min(limit, 0.5 * (right - left)))
    room = limit - abs(steering)
    drive = max(-room, min(room, 0.5 * (left + right)))
    # Rounding must not carry a torque beyond its limit.
    left, right = drive - steering, drive + steering
    return max(-limit, min(limit, left)), max(-limit, min(limit, right))


class GainsSource(Protocol):
    """What gives the gains for a control period: PiDesign, or PiGains for fixed ones."""

    def at(self, dt: float) -> PiGains:
        """Gains for a control period of dt, s."""


@dataclass(frozen=True)
class LinearizingRecord:
    """Every variable of one update.

    Attributes:
        reference: u_r, m/s and rad/s.
        velocity: u as the law sees it, m/s and rad/s.
        error: u_r - u.
        integral: what the integral part adds to nu, K_i z, m/s^2 and rad/s^2.
        nu: acceleration asked for, (65), m/s^2 and rad/s^2.
        drift: f(u) that is compensated, m/s^2 and rad/s^2.
        unlimited: torque of (62), [left, right], N m.
        torque: the same within the limit.
        gains: at this control period.
    """

    reference: Velocity
    velocity: Velocity
    error: Velocity
    integral: Velocity
    nu: Velocity
    drift: Velocity
    unlimited: Torque
    torque: Torque
    gains: PiGains


class LinearizingController:
    """Torque that makes the body velocity follow a reference.

    Compared with the published law: gains for the control period at hand, a weighted set point,
    f(u) as its mean over the period, the torque within a limit, and no windup. When the torque
    is not what (62) asks for, the integral part is fed with the reference that would have asked
    for it (conditioning, Hanus 1987): the loop then goes on as if it had been told that
    reference, and does not overshoot.

    Args:
        dynamics: K5..K8 of the robot.
        gains: a PiDesign, or PiGains.
        torque_limit: largest |torque| of a wheel, N m, > 0, or infinite.
        mean_velocity: whether State.velocity is the mean over the last period (encoders).
        published: to the letter: f(u) at the instant, no anti-windup.

    Raises:
        ValueError: torque_limit is not > 0.
    """

    def __init__(
        self,
        dynamics: BodyDynamics,
        gains: GainsSource = PiDesign(),
        torque_limit: float = math.inf,
        mean_velocity: bool = False,
        published: bool = False,
    ) -> None:
        check_positive("linearizing controller", unbounded=True, torque_limit=torque_limit)
        self._estimate = VelocityEstimate(dynamics, mean_velocity)
        self._gains = gains
        self._limit = torque_limit
        self._published = published
        self.reset()

    @classmethod
    def published(cls, dynamics: BodyDynamics) -> LinearizingController:
        """The law of the paper with the gains of the paper, (71), (72)."""
        return cls(dynamics, PUBLISHED, published=True)

    @property
    def dynamics(self) -> BodyDynamics:
        """K5..K8 in use; they may be replaced between two updates."""
        return self._estimate.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: BodyDynamics) -> None:
        self._estimate.dynamics = dynamics

    def reset(self) -> None:
        """Forget the past; the integral part is 0."""
        self._estimate.reset()
        self._integral = REST
        self.record: LinearizingRecord | None = None

    def update(self, state: State, reference: Velocity, dt: float) -> Torque:
        """Torque [left, right] in N m for the period that begins; `record` then says why.

        Args:
            state: of the robot now.
            reference: wanted velocity u_r, m/s and rad/s.
            dt: time since the update before, s, > 0.

        Raises:
            ValueError: the reference or dt is not finite, dt <= 0; nothing has changed then.
        """
        check_finite("velocity reference", v=reference.v, omega=reference.omega)
        check_period(dt)
        gains = self._gains.at(dt)
        integral = self._integrated(state, dt)
        u = self._estimate.update(state, dt)
        integral = self._bumpless(integral, gains, u)
        error = Velocity(reference.v - u.v, reference.omega - u.omega)
        nu = Velocity(
            gains.kp * (gains.weight * reference.v - u.v) + integral.v,
            gains.kp * (gains.weight * reference.omega - u.omega) + integral.omega,
        )
        drift = self.dynamics.drift(u) if self._published else self._mean_drift(u, nu, dt)
        unlimited = self.dynamics.torque(nu, drift)
        torque = limit_torque(unlimited, self._limit)
        self._estimate.command(torque)
        self._integral = integral
        self.record = LinearizingRecord(
            reference, u, error, integral, nu, drift, unlimited, torque, gains
        )
        return torque

    def _bumpless(self, integral: Velocity, gains: PiGains, u: Velocity) -> Velocity:
        """The integral part that goes with new gains.

        While u keeps to a constant reference it holds up kp (1 - weight) u. Gains that follow a
        control period which jitters would otherwise jolt the robot at every sample.
        """
        last = gains if self.record is None else self.record.gains
        more = gains.kp * (1.0 - gains.weight) - last.kp * (1.0 - last.weight)
        return Velocity(integral.v + more * u.v, integral.omega + more * u.omega)

    def _mean_drift(self, u: Velocity, nu: Velocity, dt: float) -> Velocity:
        """Mean f over the period that begins, with the acceleration that the limit can give."""
        drift = self.dynamics.drift(u)
        most = 2.0 * self._limit * self.dynamics.k7 + abs(drift.v)
        turn = -2.0 * self._limit * self.dynamics.k8 + abs(drift.omega)
        bounded = Velocity(max(-most, min(most, nu.v)), max(-turn, min(turn, nu.omega)))
        return self.dynamics.mean_drift(u, bounded, dt)

    def _integrated(self, state: State, dt: float) -> Velocity:
        """The integral part after the period that ends now."""
        last = self.record
        if last is None:
            return self._integral
        gains = last.gains
        missing = REST
        if not self._published:
            asked = self.dynamics.input_acceleration(last.unlimited)
            acted = self.dynamics.input_acceleration(self._estimate.acted(state))
            missing = Velocity(acted.v - asked.v, acted.omega - asked.omega)
        scale = 1.0 / (gains.kp * gains.weight)
        return Velocity(
            self._integral.v + gains.ki * dt * (last.error.v + scale * missing.v),
            self._integral.omega + gains.ki * dt * (last.error.omega + scale * missing.omega),
        )


# ---
# How the robot moves, from what its wheels say.

# A longer time between two samples tells nothing about the velocity at its end, s.
LONGEST_PERIOD = 0.2


class Reading(NamedTuple):
    """What a joint sample told.

    Attributes:
        state: for a law; None where the sample is a new beginning or was left out.
        dt: time since the sample before, s.
        oddity: what was wrong with the sample; None where nothing was.
    """

    state: State | None
    dt: float
    oddity: Oddity | None


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

    def update(self, sample: JointSample, torque: Torque) -> Reading:
        """Take in a sample.

        Args:
            sample: the wheels.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Raises:
            ValueError: angles or stamp are not finite; nothing has changed then.
        """
        before = self.odometry.time
        oddity = self._samples.update(sample)
        if oddity is not None or before is None or self.odometry.time == before:
            return Reading(None, 0.0, oddity)
        velocity = self.odometry.velocity
        if not self._from_angles:
            velocity = self.odometry.geometry.body_velocity(*sample.velocity)
        state = State(self.odometry.pose, Velocity(*velocity), torque)
        return Reading(state, sample.stamp - before, None)


# ---
# The inner part of the standard backstepping law: from velocities wanted to wheel torques.


@dataclass(frozen=True)
class ServoLimits:
    """What the servo may ask of the robot; infinite: no limit.

    Attributes:
        torque: largest |torque| of a wheel, N m, > 0.
        linear_acceleration: largest |dv/dt| asked for, m/s^2, > 0.
        angular_acceleration: largest |domega/dt| asked for, rad/s^2, > 0.
        linear_velocity: |v| that the acceleration must not lead beyond, m/s, > 0.
        angular_velocity: |omega| likewise, rad/s, > 0.

    Raises:
        ValueError: a limit is not > 0.
    """

    torque: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf

    def __post_init__(self) -> None:
        check_positive(
            "servo limits",
            unbounded=True,
            torque=self.torque,
            linear_acceleration=self.linear_acceleration,
            angular_acceleration=self.angular_acceleration,
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
        )


@dataclass(frozen=True)
class VelocityServo:
    """v = eta' - (1 - p) / T (u - eta), (24), (25) with the gain that sampling allows.

    With torque held over a period T the backstepping error becomes e(k+1) = p e(k) but for
    O(T^2): p, from 0 to 1, is the pole that the continuous gains gamma_3, gamma_4 only hope for.
    The cross terms of (30), (31) are left out: they are small against the servo with the published
    gains, and the one with sin(alpha) / e is unbounded at the goal.

    Attributes:
        settling_time: of the velocity, to 1 % of its error, s, > 0.
        limits: of torque and acceleration.
    """

    settling_time: float = 0.05
    limits: ServoLimits = ServoLimits()

    def __post_init__(self) -> None:
        check_positive("velocity servo", settling_time=self.settling_time)

    def acceleration(self, u: Velocity, eta: Velocity, rate: Velocity, dt: float) -> Velocity:
        """The command v of (24), (25) within the limits, m/s^2 and rad/s^2.

        Args:
            u: velocity now.
            eta: velocity wanted now.
            rate: eta', m/s^2 and rad/s^2.
            dt: control period, s.

        Raises:
            ValueError: eta or its rate is not finite.
        """
        check_finite("eta is beyond floating point", v=eta.v, omega=eta.omega)
        check_finite("eta' is beyond floating point", v=rate.v, omega=rate.omega)
        gain = (1.0 - ACCURACY ** (dt / self.settling_time)) / dt
        limits = self.limits
        # eta stops at its bound of speed, but eta' of the sample before does not know that.
        v = gain * (_within(eta.v + rate.v / gain, limits.linear_velocity) - u.v)
        omega = gain * (_within(eta.omega + rate.omega / gain, limits.angular_velocity) - u.omega)
        linear, angular = limits.linear_acceleration, limits.angular_acceleration
        return Velocity(_within(v, linear), _within(omega, angular))

    def torque(
        self, dynamics: BodyDynamics, u: Velocity, acceleration: Velocity, dt: float
    ) -> Torque:
        """(5) with the mean of f over the period, within the limit, [left, right], N m."""
        drift = dynamics.mean_drift(u, acceleration, dt)
        return limit_torque(dynamics.torque(acceleration, drift), self.limits.torque)


def _within(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
