# SPDX-License-Identifier: Apache-2.0
"""What a trajectory takes of a robot's speeds and accelerations; the rest is for corrections."""

from __future__ import annotations

import math

from arc_odometry import Velocity
from diffbot_description import Robot
from diffbot_description.velocity_parameters import read_sigma
from pose2d_trajectories.timing import TrajectoryLimits

SPEED_FRACTION, ACCELERATION_FRACTION = 0.8, 0.6


def robot_limits(
    robot: Robot,
    identified: str | None = None,
    assumed: tuple[float, float] = (0.0, 0.0),
    given: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008  (frozen)
) -> TrajectoryLimits:
    """Return the limits `given`, reduced to what a trajectory takes of a robot's.

    Args:
        identified: File of identified values, which tell what speeds and accelerations it reaches.
        assumed: Accelerations of (v, omega) where nothing tells one, m/s^2, rad/s^2; 0: unlimited.

    Raises:
        ValueError: The file cannot be used.
    """
    speeds = Velocity(robot.limits.linear_velocity, robot.limits.angular_velocity)
    own = robot.acceleration_limits()
    if identified is not None:
        known = read_sigma(identified)
        own, speeds = (
            _least(own, known.accelerations(speeds)),
            _least(speeds, known.speeds(speeds)),
        )
    v, omega = (SPEED_FRACTION * speed for speed in speeds)
    dv, domega = (
        ACCELERATION_FRACTION * limit if limit < math.inf else otherwise or math.inf
        for limit, otherwise in zip(own, assumed, strict=True)
    )
    return TrajectoryLimits(
        min(given.linear_velocity, v),
        min(given.angular_velocity, omega),
        min(given.linear_acceleration, dv),
        min(given.angular_acceleration, domega),
    )


def _least(one: Velocity, other: Velocity) -> Velocity:
    return Velocity(*map(min, one, other))
