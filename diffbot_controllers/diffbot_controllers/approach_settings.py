"""Gains and bounds of the approach to a pose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from diffbot_controllers.checks import check_positive


@dataclass(frozen=True)
class ApproachGains:
    """Gains of the approach.

    Attributes:
        gamma1: rate at which the distance shrinks, 1/s, > 0; gamma_1 of the papers.
        gamma2: rate at which the heading turns to the way, 1/s, > 0; gamma_2.
        ratio: lambda_3 / lambda_2, how much the direction of arrival counts, > 0.
        linear_velocity: largest |v|, m/s, > 0, or infinite.
        angular_velocity: largest |omega|, rad/s, > 0, or infinite.
        deceleration: with which the robot can come to rest at the goal, m/s^2, > 0, or infinite.
        angular_deceleration: likewise when it turns to its way, rad/s^2, > 0, or infinite.
        lateral_acceleration: largest |v omega|, m/s^2, > 0, or infinite: what tyres hold and the
            robot does not tip over at; v gives way to it.
        near: distance, m, > 0, at which the robot has arrived: from there on it only turns to the
            goal's heading and drives on its own axis.

    Raises:
        ValueError: a number is outside its limits.
    """

    gamma1: float = 5.0
    gamma2: float = 12.0
    ratio: float = 2.0
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    deceleration: float = math.inf
    angular_deceleration: float = math.inf
    lateral_acceleration: float = math.inf
    near: float = 0.004

    def __post_init__(self) -> None:
        check_positive(
            "approach gains",
            gamma1=self.gamma1,
            gamma2=self.gamma2,
            ratio=self.ratio,
            near=self.near,
        )
        check_positive(
            "approach gains",
            unbounded=True,
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
            deceleration=self.deceleration,
            angular_deceleration=self.angular_deceleration,
            lateral_acceleration=self.lateral_acceleration,
        )
