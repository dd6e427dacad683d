"""The dynamic model of the robot and its inverse, the feedback linearization."""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_controllers.checks import check_finite
from diffbot_controllers.motion import Torque, Velocity

# Smallest |K7| and |K8|: 1e9 N m would then give less than 1 m/s^2. The robot is no robot.
SMALLEST_INPUT = 1e-9


@dataclass(frozen=True)
class BodyDynamics:
    """u' = f(u) + G tau, (61) of Lages (2017), (1) of Lages (2018), with wheel torques tau.

    v' = K5 omega^2 + K7 (tau_l + tau_r), omega' = K6 v omega + K8 (tau_l - tau_r). In the 2018
    paper f12 = K5, f21 = K6, g11 = g12 = K7, g21 = -g22 = K8. Its (4) prints g21 twice, which
    would be singular.

    Attributes:
        k5: m/rad^2.
        k6: 1/m.
        k7: m/(s^2 N m), > 0.
        k8: rad/(s^2 N m), < 0 with this order of the wheels.

    Raises:
        ValueError: a number is not finite, G is singular, or a sign would turn the loop unstable.
    """

    k5: float
    k6: float
    k7: float
    k8: float

    def __post_init__(self) -> None:
        check_finite("dynamic parameters", k5=self.k5, k6=self.k6, k7=self.k7, k8=self.k8)
        for name, value, sign in (("k7", self.k7, 1.0), ("k8", self.k8, -1.0)):
            if sign * value < SMALLEST_INPUT:
                limit = f"> {SMALLEST_INPUT}" if sign > 0.0 else f"< -{SMALLEST_INPUT}"
                raise ValueError(
                    f"dynamic parameters: {name} = {value}: must be {limit}, else G is singular or "
                    "torque acts the wrong way round; order the wheels [left, right]"
                )

    def drift(self, u: Velocity) -> Velocity:
        """f(u), the acceleration without torque, m/s^2 and rad/s^2; (3) of the 2018 paper."""
        return Velocity(self.k5 * u.omega * u.omega, self.k6 * u.v * u.omega)

    def mean_drift(self, u: Velocity, acceleration: Velocity, period: float) -> Velocity:
        """Mean of f over a period (s) in which u changes at a constant rate."""
        dv, domega = acceleration.v * period, acceleration.omega * period
        v, omega = u.v + 0.5 * dv, u.omega + 0.5 * domega
        return Velocity(
            self.k5 * (omega * omega + domega * domega / 12.0),
            self.k6 * (v * omega + dv * domega / 12.0),
        )

    def input_acceleration(self, torque: Torque) -> Velocity:
        """G tau, the acceleration by torque alone, m/s^2 and rad/s^2."""
        left, right = torque
        return Velocity(self.k7 * (left + right), self.k8 * (left - right))

    def torque(self, nu: Velocity, drift: Velocity) -> Torque:
        """Torque G^-1 (nu - f), (62) of the 2017 and (5) of the 2018 paper.

        Args:
            nu: acceleration wanted, m/s^2 and rad/s^2.
            drift: f(u), or its mean over the control interval, in which torque is constant.
        """
        total = (nu.v - drift.v) / self.k7
        difference = (nu.omega - drift.omega) / self.k8
        return 0.5 * (total + difference), 0.5 * (total - difference)
