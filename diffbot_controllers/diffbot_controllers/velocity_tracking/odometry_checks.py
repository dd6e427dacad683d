# SPDX-License-Identifier: Apache-2.0
"""What a robot's own odometry tells, and what is wrong with it: odd stamps, and poses that jump.

Within a period dt a pose may change by

    |change of position| <= PLACE + MARGIN v dt      |change of heading| <= HEADING + MARGIN w dt

with (v, w) the speeds that the robot reaches at its limits. PLACE and HEADING are what a sound
localisation may correct at once; the tracker takes that for an error as any other.

A larger step is a jump, and nobody knows at once which of the two poses is right. Where it was a
localisation that found its place, the new pose stays; where two odometries take turns on one
topic it does not. So a pose counts again once it has been without a jump for SETTLING.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Anomaly, AnomalyKind, Pose, Velocity
from arc_odometry.geometry import check_finite, check_positive

PLACE = 0.1  # m
HEADING = 0.2  # rad
MARGIN = 2.0  # for a filter that catches up, and for limits that are not exact
SETTLING = 0.5  # s


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

    def check(self, stamp: float) -> Anomaly | None:
        """Take in a stamp, s; returns what is odd about it, None where nothing is."""
        last = self._last
        if stamp < last:
            went = f"stamp {stamp:.3f} s after {last:.3f} s"
            if not self._late:
                self._late = True
                return Anomaly(AnomalyKind.LATE, f"{went}: late odometry left out")
            self._late, self._last = False, stamp
            return Anomaly(
                AnomalyKind.RESET, f"{went}: time was reset; it goes on from the new stamp"
            )
        self._late, self._last = False, stamp
        if stamp - last > self._longest_gap:
            return Anomaly(
                AnomalyKind.GAP,
                f"no odometry for {stamp - last:.3f} s, limit {self._longest_gap:g} s; check the "
                "robot's driver, or raise input_timeout for a slow one",
            )
        return None


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
        try:
            self._check_step(stamp - last[0], last[1], pose)
        except ValueError:
            self._jumped = stamp
            raise
        if self._jumped is not None:
            steady = stamp - self._jumped
            if steady < SETTLING:
                raise ValueError(
                    f"the odometry's pose jumped {steady:.3f} s ago: it has to be steady for "
                    f"{SETTLING:g} s"
                )
            self._jumped = None

    def _check_step(self, dt: float, last: Pose, pose: Pose) -> None:
        """Refuse a pose that cannot follow another after a time, s."""
        place = math.hypot(pose.x - last.x, pose.y - last.y)
        turn = abs(math.remainder(pose.theta - last.theta, math.tau))
        furthest = PLACE + MARGIN * self._fastest.v * dt
        most = HEADING + MARGIN * self._fastest.omega * dt
        # Written so that a comparison with NaN fails.
        if not (place <= furthest and turn <= most):
            raise ValueError(
                f"the odometry's pose jumped by {place:.3f} m and {turn:.3f} rad in {dt:.3f} s, "
                f"limits {furthest:.3f} m and {most:.3f} rad: check that only one node tells the "
                "pose, and the localisation; it counts again once it has been steady for "
                f"{SETTLING:g} s"
            )
