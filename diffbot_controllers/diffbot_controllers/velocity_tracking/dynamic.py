"""Commands that give a robot the velocity wanted; (12) of Siwek et al. (2023).

    command of v     = sigma1 a_v     + sigma3 v          a_v     = v_d'     + k_v     (u_v - v)
    command of omega = sigma2 a_omega + sigma4 omega      a_omega = omega_d' + k_omega (u_omega - w)

with the reference's own acceleration as feed-forward, u from the kinematic law and the robot's
velocity (v, w) as measured. (12) is printed with the matrix of (A13), whose columns for sigma1 and
sigma2 are left out here, as their accelerations are already in the first term.

With the right sigma the velocity error obeys e' = -k e whatever the robot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from diffbot_controllers.checks import check_positive
from diffbot_controllers.motion import Velocity
from diffbot_controllers.velocity_tracking.kinematic import Braking, MovingReference
from diffbot_ident.velocity.sigma import Sigma


@dataclass(frozen=True)
class VelocityLimits:
    """What may be asked of the robot; math.inf: no limit.

    Attributes:
        linear_velocity: largest |command of v|, m/s, > 0.
        angular_velocity: largest |command of omega|, rad/s, > 0.
        linear_acceleration: largest |a_v|, m/s^2, > 0.
        angular_acceleration: largest |a_omega|, rad/s^2, > 0.

    Raises:
        ValueError: a limit is not > 0.
    """

    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf

    def __post_init__(self) -> None:
        check_positive(
            "velocity limits",
            unbounded=True,
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
            linear_acceleration=self.linear_acceleration,
            angular_acceleration=self.angular_acceleration,
        )

    def command(self, asked: Velocity) -> Velocity:
        """A command within the limits, each axis for itself: they have a drive of their own."""
        return Velocity(
            _within(asked.v, self.linear_velocity), _within(asked.omega, self.angular_velocity)
        )

    def acceleration(self, asked: Velocity) -> Velocity:
        """An acceleration within the limits, m/s^2 and rad/s^2."""
        return Velocity(
            _within(asked.v, self.linear_acceleration),
            _within(asked.omega, self.angular_acceleration),
        )

    def braking(self, sigma: Sigma, reference: MovingReference) -> Braking:
        """How hard the robot can brake to a reference's velocity within these limits."""
        ahead, behind = _braking(
            *sigma.axis(0), self.linear_velocity, self.linear_acceleration,
            reference.v, reference.dv,
        )  # fmt: skip
        left, right = _braking(
            *sigma.axis(1), self.angular_velocity, self.angular_acceleration,
            reference.omega, reference.domega,
        )  # fmt: skip
        return Braking(ahead, behind, left, right)


def _braking(
    inertia: float, drag: float, command: float, acceleration: float, speed: float, slope: float
) -> tuple[float, float]:
    """Least change of the error's rate, while the error is positive, and while it is negative.

    At the reference's speed a command of +-limit gives (+-limit - drag speed) / inertia by (3), and
    the reference's own acceleration counts from there. A fifth is left for the correction.
    """
    both = []
    for side in (1.0, -1.0):
        hardest = min((command + side * drag * speed) / inertia, acceleration) + side * slope
        # A reference that the robot cannot hold leaves nothing; it must not stop for that.
        both.append(max(0.8 * hardest, 0.05 * min(command / inertia, acceleration)))
    return both[0], both[1]


def wanted_acceleration(
    wanted: Velocity, velocity: Velocity, feed_forward: Velocity, gains: Velocity
) -> Velocity:
    """The accelerations of (12), m/s^2 and rad/s^2.

    Args:
        wanted: u of the kinematic law.
        velocity: the robot's own.
        feed_forward: the reference's acceleration.
        gains: k_v and k_omega, 1/s.
    """
    return Velocity(
        feed_forward.v + gains.v * (wanted.v - velocity.v),
        feed_forward.omega + gains.omega * (wanted.omega - velocity.omega),
    )


def dynamic_command(sigma: Sigma, velocity: Velocity, acceleration: Velocity) -> Velocity:
    """The command of (12), m/s and rad/s, without limits."""
    return Velocity(*sigma.command(velocity, acceleration))


def _within(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
