"""Poses that follow each other as a robot's do, and jumps that no robot can make.

Within a period dt a pose may change by

    |change of position| <= PLACE + MARGIN v dt        |change of heading| <= HEADING + MARGIN w dt

with (v, w) the speeds that the robot reaches at its limits. PLACE and HEADING are what a sound
localisation may correct at once; the tracker takes that for an error as any other.

A larger step is a jump, and nobody knows at once which of the two poses is right. Where it was a
localisation that found its place, the new pose stays; where two odometries take turns on one topic
it does not. So a pose counts again once it has been without a jump for SETTLING.
"""

from __future__ import annotations

import math

from arc_odometry import Pose
from diffbot_controllers.checks import check_positive
from diffbot_controllers.motion import Velocity

PLACE = 0.1  # m
HEADING = 0.2  # rad
MARGIN = 2.0  # for a filter that catches up, and for limits that are not exact
SETTLING = 0.5  # s


class PoseContinuity:
    """Refuses poses that jump, and those that come soon after.

    Args:
        fastest: speeds that the robot reaches at its limits, m/s and rad/s, > 0.

    Raises:
        ValueError: a speed is not > 0.
    """

    def __init__(self, fastest: Velocity) -> None:
        check_positive("fastest", v=fastest.v, omega=fastest.omega)
        self._fastest = fastest
        self._last: tuple[float, Pose] | None = None
        self._jumped: float | None = None  # stamp of the newest jump, s

    def check(self, stamp: float, pose: Pose) -> None:
        """Take in a pose, m and rad, and its stamp, s; one that went back begins anew.

        Raises:
            ValueError: it is a jump, or one was less than SETTLING before.
        """
        last, self._last = self._last, (stamp, pose)
        if last is None or stamp <= last[0]:
            self._jumped = None
            return
        if jump := self._jump(stamp - last[0], last[1], pose):
            self._jumped = stamp
            raise ValueError(jump)
        if self._jumped is not None:
            steady = stamp - self._jumped
            if steady < SETTLING:
                raise ValueError(
                    f"the odometry's pose jumped {steady:.3f} s ago: it has to be steady for "
                    f"{SETTLING:g} s"
                )
            self._jumped = None

    def _jump(self, dt: float, last: Pose, pose: Pose) -> str:
        """Why a pose cannot follow another after a time, s; empty where it can."""
        place = math.hypot(pose.x - last.x, pose.y - last.y)
        turn = abs(math.remainder(pose.theta - last.theta, math.tau))
        furthest = PLACE + MARGIN * self._fastest.v * dt
        most = HEADING + MARGIN * self._fastest.omega * dt
        if place <= furthest and turn <= most:
            return ""
        return (
            f"the odometry's pose jumped by {place:.3f} m and {turn:.3f} rad in {dt:.3f} s, limits "
            f"{furthest:.3f} m and {most:.3f} rad: check that only one node tells the pose, and "
            f"the localisation; it counts again once it has been steady for {SETTLING:g} s"
        )
