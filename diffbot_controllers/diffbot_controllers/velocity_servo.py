"""The inner part of the standard backstepping law: from velocities wanted to wheel torques."""

from __future__ import annotations

import math
from dataclasses import dataclass

from diffbot_controllers.checks import check_finite, check_positive
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.motion import Torque, Velocity
from diffbot_controllers.pi_gains import ACCURACY
from diffbot_controllers.torque_limit import limit_torque


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
