# SPDX-License-Identifier: Apache-2.0
"""Gradual set points: desired velocities whose acceleration changes no faster than the torque.

The torque of a robot with gears rises gradually (Drivetrain.slew_limited). A velocity loop whose
set point starts or stops to accelerate at once demands more and more torque until it has risen,
and overshoots: on arrival, where the set point turns to the goal's heading, the torque swung back
and forth through nearly its whole range. The torque can follow gradual set points.

Their rate is not fed forward. Near a goal it depends on the encoders' rounding, because the
direction to the goal turns at a rate of 1 / distance, and it would go straight to the torque.
"""

from __future__ import annotations

import math

from arc_odometry import REST, Velocity
from arc_odometry.odometry import check_positive, within


class GradualSetPoints:
    """Limits acceleration and jerk of the desired velocities of a law.

    Args:
        acceleration: Largest |d/dt| of the set points, m/s^2 and rad/s^2, > 0, finite.
        rise: Shortest time in which the acceleration changes from 0 to its limit, s, > 0.

    Raises:
        ValueError: An argument is outside its limits.
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

    def reset(self) -> None:
        """Forget the past: the next set points start at the robot's velocity."""
        self._last: Velocity | None = None
        self._change = REST

    def skip(self, wanted: Velocity) -> None:
        """Store desired velocities that were used without limits."""
        self._last, self._change = wanted, REST

    def limited(self, wanted: Velocity, u: Velocity, dt: float) -> Velocity:
        """Return the next set points.

        Args:
            wanted: Desired velocities, m/s and rad/s.
            u: Present velocity of the robot.
            dt: Control period, s.
        """
        last = u if self._last is None else self._last
        most, jerk = self._acceleration, self._jerk
        self._change = Velocity(
            gradual(wanted.v - last.v, self._change.v, most.v, jerk.v, dt),
            gradual(wanted.omega - last.omega, self._change.omega, most.omega, jerk.omega, dt),
        )
        self._last = Velocity(last.v + self._change.v * dt, last.omega + self._change.omega * dt)
        return self._last


def gradual(left: float, change: float, most: float, jerk: float, dt: float) -> float:
    """Return the rate of one set point over the next period.

    It approaches the desired velocity such that its rate ends at 0 there.

    Args:
        left: Desired velocity minus last set point.
        change: Last rate of the set point.
        most: Largest rate.
        jerk: Largest change of the rate per s.
        dt: Control period, s.
    """
    half = 0.5 * jerk * dt
    # From this rate on, the jerk brings it to 0 in whole periods over `left`.
    stopping = math.sqrt(half * half + 2.0 * jerk * abs(left)) - half
    asked = math.copysign(min(most, abs(left) / dt, stopping), left)
    return change + within(asked - change, jerk * dt)
