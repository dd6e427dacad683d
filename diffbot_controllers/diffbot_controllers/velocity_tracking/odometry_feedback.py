"""Pose and velocity as a robot's own odometry tells them, and what is odd about their stamps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Oddity, Pose
from diffbot_controllers.checks import check_finite
from diffbot_controllers.motion import Velocity


@dataclass(frozen=True)
class OdometrySample:
    """What an odometry tells.

    Attributes:
        stamp: s.
        pose: in the odom frame, m and rad.
        velocity: of the robot, m/s and rad/s.

    Raises:
        ValueError: a number is not finite.
    """

    stamp: float
    pose: Pose
    velocity: Velocity

    def __post_init__(self) -> None:
        check_finite("odometry", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("odometry", v=self.velocity.v, omega=self.velocity.omega)


class OdometryStamps:
    """Says what is odd about the stamps of odometry.

    - One sample earlier than its predecessor came late. A second one in a row shows that time was
      reset.
    - After a gap nobody knows what the robot did with the command.

    Args:
        longest_gap: between two stamps, s, > 0.
    """

    def __init__(self, longest_gap: float) -> None:
        self._longest_gap = longest_gap
        self._last = math.nan
        self._late = False

    def check(self, stamp: float) -> Oddity | None:
        """Take in a stamp, s; returns what is odd about it, None where nothing is."""
        last = self._last
        if stamp < last:
            went = f"stamp {stamp:.3f} s after {last:.3f} s"
            if not self._late:
                self._late = True
                return Oddity("late", f"{went}: late odometry left out")
            self._late, self._last = False, stamp
            return Oddity("reset", f"{went}: time was reset; it goes on from the new stamp")
        self._late, self._last = False, stamp
        if stamp - last > self._longest_gap:
            return Oddity(
                "gap",
                f"no odometry for {stamp - last:.3f} s, limit {self._longest_gap:g} s; check the "
                "robot's driver, or raise input_timeout for a slow one",
            )
        return None
