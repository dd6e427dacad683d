# SPDX-License-Identifier: Apache-2.0
"""Limits of a robot's velocity and acceleration: of each axis, and of the wheels' rims."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry.arcs import Velocity
from arc_odometry.number_range import check_limit, check_positive, within
from arc_odometry.odometry import WheelGeometry


@dataclass(frozen=True)
class RimLimit:
    """Limit of the wheels' rim speed; the faster rim moves with |v| + b |omega|.

    `speed`, m/s, > 0; infinite: no limit. `half_track`: b, m, > 0. Others are a ValueError.

    Example:
        >>> RimLimit(1.0, half_track=0.2).within(Velocity(1.0, 5.0))
        Velocity(v=0.5, omega=2.5)
    """

    speed: float = math.inf
    half_track: float = 1.0

    def __post_init__(self) -> None:
        check_limit("limit of the rims", speed=self.speed)
        check_positive("limit of the rims", half_track=self.half_track)

    @classmethod
    def of(cls, geometry: WheelGeometry, wheel_speed: float) -> RimLimit:
        """Return the limit of wheels that turn at most at `wheel_speed`, rad/s."""
        radius = min(geometry.left_radius, geometry.right_radius)
        return cls(wheel_speed * radius, geometry.half_track)

    def within(self, wanted: Velocity, v: float = 0.0) -> Velocity:
        """Return the desired velocity, scaled down where a rim would be too fast.

        The ratio of v to omega stays, so the robot stays on its circle; but the present velocity v,
        m/s, leaves less rim speed for omega: the robot slows down before it turns.
        """
        fastest = self.rim(*wanted)
        if fastest > self.speed:
            fraction = self.speed / fastest
            wanted = Velocity(fraction * wanted.v, fraction * wanted.omega)
        if self.rim(v, wanted.omega) <= self.speed:
            return wanted
        return Velocity(wanted.v, within(wanted.omega, self.turning(v)))

    def rim(self, v: float, omega: float) -> float:
        """Return the speed of the faster rim, m/s, for v in m/s and omega in rad/s."""
        return abs(v) + self.half_track * abs(omega)

    def turning(self, v: float) -> float:
        """Return the largest |omega|, rad/s, at a velocity v in m/s."""
        return max(self.speed - abs(v), 0.0) / self.half_track


UNLIMITED_RIMS = RimLimit()


@dataclass(frozen=True)
class MotionLimits:
    """Limits of velocities and accelerations, > 0, else a ValueError; infinite: no limit.

    Of |v|, m/s, |omega|, rad/s, |dv/dt|, m/s^2, |domega/dt|, rad/s^2, and of the wheels' rims.

    Example:
        >>> limits = MotionLimits(linear_velocity=0.5, angular_acceleration=2.0)
        >>> limits.velocity(Velocity(1.0, 3.0)), limits.acceleration(Velocity(1.0, 3.0))
        (Velocity(v=0.5, omega=3.0), Velocity(v=1.0, omega=2.0))
    """

    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf
    rims: RimLimit = UNLIMITED_RIMS

    def __post_init__(self) -> None:
        check_limit(
            "motion limits",
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
            linear_acceleration=self.linear_acceleration,
            angular_acceleration=self.angular_acceleration,
        )

    def velocity(self, asked: Velocity, v: float = 0.0) -> Velocity:
        """Return a velocity within the limits: first each axis separately, then the rims.

        `v`: present velocity of the robot, m/s; see RimLimit.within.
        """
        return self.rims.within(
            Velocity(
                within(asked.v, self.linear_velocity), within(asked.omega, self.angular_velocity)
            ),
            v,
        )

    def acceleration(self, asked: Velocity) -> Velocity:
        """Return an acceleration within the limits, m/s^2 and rad/s^2."""
        return Velocity(
            within(asked.v, self.linear_acceleration),
            within(asked.omega, self.angular_acceleration),
        )
