"""Feedback linearization and PI on the body velocity, Lages (2017), (61)-(72)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from diffbot_controllers.checks import check_finite, check_positive
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.motion import REST, State, Torque, Velocity, check_period
from diffbot_controllers.pi_gains import PUBLISHED, PiDesign, PiGains
from diffbot_controllers.torque_limit import limit_torque
from diffbot_controllers.velocity_estimate import VelocityEstimate


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
        gains: GainsSource = PiDesign(),  # noqa: B008  (frozen)
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
