# SPDX-License-Identifier: Apache-2.0
"""Feedback linearization and PI on the body velocity, Lages (2017), (61)-(72)."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from arc_odometry import REST, Velocity
from arc_odometry.geometry import check_finite, check_limit, check_positive, within
from diffbot_controllers.laws.drivetrain import Drivetrain, DrivetrainLaw, limit_torque
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import ObservedMotion, State, check_period
from diffbot_description import DynamicParameters, Torque

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

    @cached_property
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
        unlimited: torque of (62), [left, right], N m, without what is withheld at a goal.
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


class LinearizingController(DrivetrainLaw):
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
        wheels: what is known of them: friction, encoders and delay; None: nothing.

    Raises:
        ValueError: torque_limit is not > 0.
    """

    def __init__(
        self,
        dynamics: DynamicParameters,
        gains: GainsSource = PiDesign(),
        torque_limit: float = math.inf,
        mean_velocity: bool = False,
        published: bool = False,
        wheels: KnownWheels | None = None,
    ) -> None:
        check_limit("linearizing controller", torque_limit=torque_limit)
        # The integral part is that of the PI.
        self.drivetrain = Drivetrain(dynamics, mean_velocity, wheels, integral=False)
        self._gains = gains
        self._limit = torque_limit
        self._published = published
        self.reset()

    @classmethod
    def published(cls, dynamics: DynamicParameters) -> LinearizingController:
        """The law of the paper with the gains of the paper, (71), (72)."""
        return cls(dynamics, PUBLISHED, published=True)

    def reset(self) -> None:
        """Forget the past; the integral part is 0."""
        self.drivetrain.reset()
        self._integral = REST
        self.record: LinearizingRecord | None = None

    def update(self, state: State, reference: Velocity, dt: float) -> Torque:
        """Torque [left, right] in N m for the period that begins; `record` then says why.

        Arguments and errors as of `recorded`.
        """
        return self.recorded(state, reference, dt).torque

    def recorded(self, state: State, reference: Velocity, dt: float) -> LinearizingRecord:
        """The same, with every variable.

        Args:
            state: of the robot now.
            reference: wanted velocity u_r, m/s and rad/s.
            dt: time since the update before, s, > 0.

        Raises:
            ValueError: the reference or dt is not finite, dt <= 0; nothing has changed then.
        """
        check_finite("velocity reference", v=reference.v, omega=reference.omega)
        check_period(dt)
        motion = self.drivetrain.motion(state, dt)
        rests = reference == REST and self.drivetrain.rests(0.0, 0.0, motion)
        return self.driven(state, motion, reference, dt, rests)

    def driven(
        self,
        state: State,
        motion: ObservedMotion,
        reference: Velocity,
        dt: float,
        rests: bool = False,
        at_goal: bool = False,
    ) -> LinearizingRecord:
        """As `recorded`, for a law on top that needs the motion, too.

        Args:
            state: of the robot now.
            motion: what `drivetrain` made of it, once per update.
            reference: wanted velocity u_r, m/s and rad/s.
            dt: time since the update before, s, > 0.
            rests: whether friction holds the robot where it is to be: there is no torque then, and
                nothing to integrate.
            at_goal: whether the robot comes to rest; see Drivetrain.turned_round.
        """
        gains = self._gains.at(dt)
        u = motion.velocity
        integral = self._bumpless(self._integrated(state, dt), gains, u)
        error = Velocity(reference.v - u.v, reference.omega - u.omega)
        if rests:
            integral = error = REST
        nu = Velocity(
            gains.kp * (gains.weight * reference.v - u.v) + integral.v,
            gains.kp * (gains.weight * reference.omega - u.omega) + integral.omega,
        )
        drift = self.dynamics.drift(u) if self._published else self._mean_drift(u, nu, dt)
        unlimited = self.drivetrain.torque(u, reference, nu, drift, dt)
        if at_goal:
            unlimited = self.drivetrain.turned_round(unlimited)
        torque = self.drivetrain.slew_limited(limit_torque(unlimited, self._limit), self._limit, dt)
        if rests:
            unlimited = torque = (0.0, 0.0)
        self.drivetrain.command(torque)
        self._integral = integral
        self.record = LinearizingRecord(
            reference=reference,
            velocity=u,
            error=error,
            integral=integral,
            nu=nu,
            drift=drift,
            unlimited=unlimited,
            torque=torque,
            gains=gains,
        )
        return self.record

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
        bounded = Velocity(within(nu.v, most), within(nu.omega, turn))
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
            acted = self.dynamics.input_acceleration(self.drivetrain.acted(state))
            missing = Velocity(acted.v - asked.v, acted.omega - asked.omega)
        scale = 1.0 / (gains.kp * gains.weight)
        return Velocity(
            self._integral.v + gains.ki * dt * (last.error.v + scale * missing.v),
            self._integral.omega + gains.ki * dt * (last.error.omega + scale * missing.omega),
        )
