# SPDX-License-Identifier: Apache-2.0
"""Feedback linearization with PI control of the body velocity, Lages (2017), (61)-(72).

Derivation: docs/theory/feedback_linearization.md.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from functools import cached_property

from arc_odometry import REST, Velocity
from arc_odometry.number_range import check_finite, check_limit, check_positive, within
from diffbot_controllers.laws.drivetrain import Drivetrain, DrivetrainLaw, limit_torque
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import ObservedMotion, State, check_period
from diffbot_description import DynamicParameters, Torque

ACCURACY = 0.01  # a loop has settled when its error is within this share of the step


@dataclass(frozen=True)
class PiGains:
    """PI gains: nu = kp (weight r - u) + ki z, z' = r - u by forward Euler; (65) of Lages (2017).

    Example:
        >>> PiGains(10.0, 25.0).at(0.01)
        PiGains(kp=10.0, ki=25.0, weight=1.0)

    Attributes:
        kp: Proportional gain, 1/s, > 0.
        ki: Integral gain, 1/s^2, >= 0.
        weight: Set point weight, > 0 to 1.
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
        """Return these gains for any control period dt, s."""
        return self


# Of (71), (72), computed from (69), which neglects the double pole and the zero of (67).
PUBLISHED = PiGains(184.0, 8464.0)


@dataclass(frozen=True)
class PiDesign:
    """Gains that settle a step within 1 % in a given time, for the present control period.

    For the poles q = e^(s T) of the sampled loop kp = (2 - q1 - q2) / T, ki = (1 - q1)(1 - q2) /
    T^2, weight 1/2. With damping 1 there is no overshoot.

    Example:
        >>> gains = PiDesign(settling_time=0.1).at(0.01)
        >>> round(gains.kp, 1), round(gains.ki), gains.weight
        (73.8, 1362, 0.5)

    Attributes:
        settling_time: Time after which the error stays within 1 %, s, > 0.
        damping: Damping ratio of the pole pair, > 0.
    """

    settling_time: float = 0.05
    damping: float = 1.0

    def __post_init__(self) -> None:
        check_positive("PI design", settling_time=self.settling_time, damping=self.damping)

    @cached_property
    def natural_frequency(self) -> float:
        """Natural frequency wn, rad/s, with which the error is 1 % at settling_time."""
        decay = -math.log(ACCURACY)
        if self.damping <= 1.0:
            return decay / (self.damping * self.settling_time)
        # (e^(-fast x) + e^(-slow x)) / 2 = accuracy, by bisection; the fast part at most doubles
        # the slow one, which gives the bounds.
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
        """Return the gains for a control period dt, s; ValueError if not finite and > 0."""
        check_period(dt)
        root = cmath.sqrt(self.damping**2 - 1.0)
        wn = self.natural_frequency
        first = cmath.exp(-(self.damping + root) * wn * dt)
        second = cmath.exp(-(self.damping - root) * wn * dt)
        kp = (2.0 - first - second).real / dt
        return PiGains(kp, ((1.0 - first) * (1.0 - second)).real / dt**2, weight=0.5)


@dataclass(frozen=True)
class LinearizingRecord:
    """All variables of one update.

    Attributes:
        reference: u_r, m/s and rad/s.
        velocity: Velocity u used by the law, m/s and rad/s; `error`: u_r - u.
        integral: Integral part of nu, K_i z, m/s^2 and rad/s^2.
        nu: Commanded acceleration, (65), m/s^2 and rad/s^2.
        drift: Compensated f(u), m/s^2 and rad/s^2.
        unlimited: Torque of (62), [left, right], N m; small reversals at a goal are removed.
        torque: The same within the limit.
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
    """Makes the body velocity follow a reference by wheel torques.

    Beyond the published law: gains for the present control period, set point weighting, the mean of
    f(u) over the period, a torque limit, and anti-windup (conditioning technique, Hanus 1987).

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> from arc_odometry import Pose, Velocity
        >>> from diffbot_controllers import State
        >>> law = LinearizingController(dynamics, PiDesign(0.1), torque_limit=5.0)
        >>> state = State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0))
        >>> left, right = law.update(state, Velocity(0.5, 0.0), 0.01)
        >>> round(left, 2), round(right, 2)
        (3.49, 3.49)

    Args:
        torque_limit: Maximum |torque| of a wheel, N m, > 0, or infinite.
        mean_velocity: Whether State.velocity is the mean over the last period (encoders).
        published: Whether to use the law exactly as published.
        wheels: Friction, encoders and delay; None: unknown.
    """

    def __init__(
        self,
        dynamics: DynamicParameters,
        gains: PiDesign | PiGains = PiDesign(),
        torque_limit: float = math.inf,
        mean_velocity: bool = False,
        published: bool = False,
        wheels: KnownWheels | None = None,
    ) -> None:
        check_limit("linearizing controller", torque_limit=torque_limit)
        # The PI controller has its own integral part.
        self.drivetrain = Drivetrain(dynamics, mean_velocity, wheels, integral=False)
        self._gains = gains
        self._limit = torque_limit
        self._published = published
        self.reset()

    @classmethod
    def published(cls, dynamics: DynamicParameters) -> LinearizingController:
        """Return the law of the paper with the gains of the paper, (71), (72)."""
        return cls(dynamics, PUBLISHED, published=True)

    def reset(self) -> None:
        """Forget the past and set the integral part to 0."""
        self.drivetrain.reset()
        self._integral = REST
        self.record: LinearizingRecord | None = None

    def update(self, state: State, reference: Velocity, dt: float) -> Torque:
        """Return the torque [left, right], N m, for the next period; see `recorded`."""
        return self.recorded(state, reference, dt).torque

    def recorded(self, state: State, reference: Velocity, dt: float) -> LinearizingRecord:
        """Update the law, dt s after the last update, and return all its variables.

        Raises:
            ValueError: The reference or dt is not finite, or dt <= 0; nothing has changed then.
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
        """Update as `recorded` does, for an outer law that needs the motion too.

        If the robot `rests`, held by friction, nothing is integrated, and the torque is that of
        `Drivetrain.resting_torque`; `at_goal`: see Drivetrain.turned_round.
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
            unlimited = torque = self.drivetrain.resting_torque()
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
        last = gains if self.record is None else self.record.gains
        more = gains.kp * (1.0 - gains.weight) - last.kp * (1.0 - last.weight)
        return Velocity(integral.v + more * u.v, integral.omega + more * u.omega)

    def _mean_drift(self, u: Velocity, nu: Velocity, dt: float) -> Velocity:
        """Return the mean of f over the next period, for nu within the torque limit."""
        drift = self.dynamics.drift(u)
        most = 2.0 * self._limit * self.dynamics.k7 + abs(drift.v)
        turn = -2.0 * self._limit * self.dynamics.k8 + abs(drift.omega)
        bounded = Velocity(within(nu.v, most), within(nu.omega, turn))
        return self.dynamics.mean_drift(u, bounded, dt)

    def _integrated(self, state: State, dt: float) -> Velocity:
        """Return the integral part after the period that ends now."""
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
