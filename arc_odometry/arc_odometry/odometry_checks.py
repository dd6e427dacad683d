# SPDX-License-Identifier: Apache-2.0
"""Samples of a robot's own odometry, with checks for irregular stamps and pose jumps.

Within a period dt a pose may change by

    |change of position| <= PLACE + MARGIN v dt      |change of heading| <= HEADING + MARGIN w dt

with (v, w) the speeds that the robot reaches at its limits. More is a jump: a localisation has
found its place, or two sources take turns. Poses are accepted again after SETTLING.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import REST, Anomaly, AnomalyKind, Arc, Pose, Velocity
from arc_odometry.joints import seldom
from arc_odometry.number_range import check_finite, check_positive

PLACE = 0.1  # largest correction of the position at once, m
HEADING = 0.2  # largest correction of the heading at once, rad
MARGIN = 2.0  # factor on the speeds, for a filter that catches up and for inexact limits
SETTLING = 0.5  # time without a jump after which poses are accepted again, s


@dataclass(frozen=True)
class OdometrySample:
    """Odometry at one instant: stamp in s, pose in the odom frame, body velocity; finite."""

    stamp: float
    pose: Pose
    velocity: Velocity

    def __post_init__(self) -> None:
        check_finite("odometry", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("odometry", v=self.velocity.v, omega=self.velocity.omega)


class PoseVelocity:
    """Velocities from successive poses: the mean over the time between two of them."""

    def __init__(self) -> None:
        self._last: tuple[float, Pose] | None = None
        self._velocity = REST

    def update(self, stamp: float, pose: Pose) -> Velocity:
        """Process a pose, m and rad, with its stamp, s; return the velocity up to it, 0 at first.

        An earlier stamp, or the same again, changes nothing.
        """
        if self._last is None:
            self._last = stamp, pose
        elif stamp > self._last[0]:
            step = stamp - self._last[0]
            arc = Arc.between(self._last[1], pose)
            self._last, self._velocity = (stamp, pose), Velocity(*(part / step for part in arc))
        return self._velocity


class OdometryStamps:
    """Detects anomalies in the stamps of odometry, such as steps above `longest_gap`, s.

    One sample with an earlier stamp than its predecessor is late; a second one in a row shows that
    time was reset. After a gap it is unknown how the robot executed the command.
    """

    def __init__(self, longest_gap: float) -> None:
        self._longest_gap = longest_gap
        self._last = math.nan
        self._late = False

    def check(self, stamp: float) -> Anomaly | None:
        """Process a stamp, s; return its anomaly, or None for a regular one."""
        last = self._last
        if stamp < last:
            went = f"stamp {stamp:.3f} s after {last:.3f} s"
            if not self._late:
                self._late = True
                return Anomaly(AnomalyKind.LATE, f"{went}: late odometry ignored")
            self._late, self._last = False, stamp
            return Anomaly(
                AnomalyKind.RESET, f"{went}: time was reset; continuing from the new stamp"
            )
        self._late, self._last = False, stamp
        if stamp - last > self._longest_gap:
            return Anomaly(
                AnomalyKind.GAP,
                seldom("odometry", stamp - last, last, self._longest_gap),
            )
        return None


class PoseContinuity:
    """Rejects poses that jump, and those that follow soon after a jump.

    `fastest`: speeds that the robot reaches at its limits, m/s and rad/s, > 0.
    """

    def __init__(self, fastest: Velocity) -> None:
        check_positive("fastest", v=fastest.v, omega=fastest.omega)
        self._fastest = fastest
        self._last: tuple[float, Pose] | None = None
        self._jumped: float | None = None  # stamp of the newest jump, s

    def check(self, stamp: float, pose: Pose) -> None:
        """Check a pose, m and rad, with its stamp, s; an earlier stamp restarts the check.

        Raises:
            ValueError: The pose has jumped, or another one did less than SETTLING before.
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
        place = math.hypot(pose.x - last.x, pose.y - last.y)
        turn = abs(math.remainder(pose.theta - last.theta, math.tau))
        furthest = PLACE + MARGIN * self._fastest.v * dt
        most = HEADING + MARGIN * self._fastest.omega * dt
        # NaN is rejected.
        if not (place <= furthest and turn <= most):
            raise ValueError(
                f"the odometry's pose jumped by {place:.3f} m and {turn:.3f} rad in {dt:.3f} s, "
                f"limits {furthest:.3f} m and {most:.3f} rad: check the "
                "localisation, and that only one node publishes the pose; it is used again after "
                f"{SETTLING:g} s without a jump"
            )
