"""What an excitation sees of the robot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Motion:
    """The robot's motion as measured at one control instant.

    Attributes:
        pose: of the axle's midpoint by odometry, (x in m, y in m, theta in rad), in the arena's
            frame: its origin is the arena's centre, and the robot starts at (0, 0, 0).
        velocity: of the body over the last control period, (v in m/s, omega in rad/s).
        wheel_speeds: over the last control period, (left, right), rad/s.
    """

    pose: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float] = (0.0, 0.0)
    wheel_speeds: tuple[float, float] = (0.0, 0.0)
