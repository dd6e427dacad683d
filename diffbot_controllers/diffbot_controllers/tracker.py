"""Velocities that keep the robot on a moving reference: feed-forward and small corrections."""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_controllers import rates
from diffbot_controllers.checks import check_positive
from diffbot_controllers.rates import Rate


@dataclass(frozen=True)
class TrackerGains:
    """Gains of the tracker.

    Attributes:
        along: rate at which the error along the robot's axis shrinks, 1/s, > 0.
        reach: distance driven in which the error across shrinks by e, m, > 0.
        turning: least rate at which the heading error shrinks, 1/s, > 0.

    Raises:
        ValueError: a gain is outside its limits.
    """

    along: float = 4.5
    reach: float = 0.2
    turning: float = 2.0

    def __post_init__(self) -> None:
        check_positive("tracker gains", along=self.along, reach=self.reach, turning=self.turning)


def tracking_velocity(
    x: Rate, y: Rate, theta: Rate, v: Rate, omega: Rate, gains: TrackerGains
) -> tuple[Rate, Rate]:
    """Velocities eta = [v, omega] that follow a reference in either driving direction.

    eta_1 = v cos(theta) + k1 x, eta_2 = omega + b v sinc(theta) y + k3 theta (Samson 1993),
    b = 1 / reach^2, k3 = 2 sqrt(omega^2 + b v^2 + (turning / 2)^2). With
    V = b (x^2 + y^2) / 2 + theta^2 / 2, V' = -b k1 x^2 - k3 theta^2: the error shrinks from
    anywhere, across the path too while v is not 0. Without an error the reference's own
    velocity is left, so that a robot on the path has no lag.

    Args:
        x: of the reference in the robot's frame, m.
        y: as x, m.
        theta: reference's heading minus the robot's, rad, within +-pi.
        v: velocity of the reference, m/s, and its rate of change.
        omega: yaw rate of the reference, rad/s, and its rate of change.
        gains: k1 and the rest.
    """
    b = 1.0 / gains.reach**2
    k3 = 2.0 * rates.sqrt(omega * omega + b * v * v + 0.25 * gains.turning**2)
    eta1 = v * rates.cos(theta) + gains.along * x
    eta2 = omega + b * v * rates.sinc(theta) * y + k3 * theta
    return eta1, eta2
