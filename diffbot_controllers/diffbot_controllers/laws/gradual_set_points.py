# SPDX-License-Identifier: Apache-2.0
"""Set points that the torque can follow: desired velocities with limited acceleration and jerk."""

from __future__ import annotations

import math

from arc_odometry import REST, MotionLimits, Velocity
from arc_odometry.number_range import check_positive, within


class GradualSetPoints:
    """Limits acceleration and jerk of the desired velocities of a law.

    Args:
        acceleration: Largest |d/dt| of the set points, m/s^2 and rad/s^2, > 0, finite.
        rise: Shortest time in which the acceleration changes from 0 to its limit, s, > 0.
    """

    def __init__(self, acceleration: Velocity, rise: float) -> None:
        check_positive(
            "gradual set points",
            linear_acceleration=acceleration.v,
            angular_acceleration=acceleration.omega,
            rise=rise,
        )
        self._acceleration = acceleration
        self._jerk = Velocity(acceleration.v / rise, acceleration.omega / rise)
        self.reset()

    @classmethod
    def within(cls, limits: MotionLimits, rise: float) -> GradualSetPoints | None:
        """Return limits of the set points that the torque can follow; None: no limits.

        `rise` is the minimum time in which the torque rises from 0 to its limit, s.
        """
        accelerations = Velocity(limits.linear_acceleration, limits.angular_acceleration)
        if rise == 0.0 or not all(map(math.isfinite, accelerations)):
            return None
        return cls(accelerations, rise)

    def reset(self) -> None:
        """Forget the past: the next set points start at the robot's velocity."""
        self._last: Velocity | None = None
        self._change = REST

    def skip(self, wanted: Velocity) -> None:
        """Store desired velocities that were used without limits."""
        self._last, self._change = wanted, REST

    def limited(self, wanted: Velocity, u: Velocity, dt: float) -> Velocity:
        """Return the next set points towards `wanted`, from the robot's velocity u; dt in s."""
        last = u if self._last is None else self._last
        most, jerk = self._acceleration, self._jerk
        self._change = Velocity(
            gradual(wanted.v - last.v, self._change.v, most.v, jerk.v, dt),
            gradual(wanted.omega - last.omega, self._change.omega, most.omega, jerk.omega, dt),
        )
        self._last = Velocity(last.v + self._change.v * dt, last.omega + self._change.omega * dt)
        return self._last


def gradual(left: float, change: float, most: float, jerk: float, dt: float) -> float:
    """Return the rate of one set point over the next period; it ends at 0 at the desired velocity.

    Args:
        left: Desired velocity minus last set point.
        change: Last rate of the set point, of at most `most`.
        jerk: Largest change of the rate per s.
    """
    half = 0.5 * jerk * dt
    # From this rate on, the jerk brings it to 0 in whole periods over `left`.
    stopping = math.sqrt(half * half + 2.0 * jerk * abs(left)) - half
    asked = math.copysign(min(most, abs(left) / dt, stopping), left)
    return change + within(asked - change, jerk * dt)
