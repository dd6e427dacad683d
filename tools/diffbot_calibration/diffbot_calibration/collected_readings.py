# SPDX-License-Identifier: Apache-2.0
"""Collect the readings of a drive; those that cannot be used are counted, with the first reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from arc_odometry import WheelGeometry
from arc_odometry.odometry import wheel_turn
from diffbot_recordings.laser_poses import LASER_ERRORS, LaserPoses
from diffbot_recordings.sensor_readings import (
    FASTEST,
    CalibrationReadings,
    CommonPoseErrors,
    GyroReadings,
    PoseReadings,
    Subject,
    WheelTurns,
    odometry_turns,
)

FEWEST = 20


@dataclass
class SourceReadings:
    """Readings of one source: rows of stamp (s) and values; and what was left out, and why."""

    name: str
    rows: list[tuple[float, ...]] = field(default_factory=list)
    refused: int = 0
    reason: str | None = None

    def refuse(self, reason: str) -> None:
        """Count a reading that is left out."""
        self.refused += 1
        self.reason = self.reason or reason

    def takes(self, stamp: float, *numbers: float) -> bool:
        """Whether a reading is finite and newer than all before; repeated stamps are ignored."""
        if not all(map(math.isfinite, (stamp, *numbers))):
            self.refuse(f"{(stamp, *numbers)}: must be finite")
            return False
        newest = self.rows[-1][0] if self.rows else -math.inf
        if stamp < newest:
            self.refuse(f"stamp {stamp:.6f} s after {newest:.6f} s: must ascend")
        return stamp > newest

    def columns(self) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Return stamps and values, (n,) each."""
        return list(np.array(self.rows, dtype=float).T)

    @property
    def excuse(self) -> str:
        """Text on what was left out, to append to a sentence; empty if nothing was."""
        if not self.refused:
            return ""
        return f"; {self.refused} of {self.name} were rejected, the first one: {self.reason}"


class Collected:
    """Readings of one drive: wheels [left, right] rad, rates rad/s, poses m, m, rad; stamps in s.

    Attributes:
        odometry: Poses of the driver's odometry, which stand for wheels that nothing reports.
        pose_errors: Errors that all poses have in common.
    """

    def __init__(self) -> None:
        names = ("wheels", "odometry", "gyro", "poses")
        self.wheels, self.odometry, self.gyro, self.poses = map(SourceReadings, names)
        self.pose_errors = CommonPoseErrors()
        self._raw = (0.0, 0.0)

    @property
    def subject(self) -> Subject:
        """What the readings calibrate."""
        return Subject.WHEELS if self.wheels.rows or not self.odometry.rows else Subject.ODOMETRY

    @property
    def motion(self) -> SourceReadings:
        """Readings of the wheels, or else of the odometry."""
        return self.wheels if self.subject is Subject.WHEELS else self.odometry

    @property
    def sources(self) -> tuple[SourceReadings, SourceReadings, SourceReadings]:
        """Readings of motion, gyro and pose source."""
        return self.motion, self.gyro, self.poses

    def add_wheels(self, stamp: float, position: tuple[float, float]) -> None:
        """Add angles [left, right], rad, as read from encoders, which may wrap."""
        wheels = self.wheels
        if not wheels.takes(stamp, *position):
            return
        if wheels.rows:
            before, left, right = wheels.rows[-1]
            limit = FASTEST * (stamp - before)
            try:
                left += wheel_turn("left", self._raw[0], position[0], limit)
                right += wheel_turn("right", self._raw[1], position[1], limit)
            except ValueError as error:
                wheels.refuse(str(error))
                return
        else:
            left, right = position
        self._raw = position
        wheels.rows.append((stamp, left, right))

    def add_odometry(self, stamp: float, x: float, y: float, yaw: float) -> None:
        """Add a pose of the odometry, m, m, rad."""
        if self.odometry.takes(stamp, x, y, yaw):
            self.odometry.rows.append((stamp, x, y, yaw))

    def add_rate(self, stamp: float, rate: float) -> None:
        """Add a yaw rate, rad/s."""
        if self.gyro.takes(stamp, rate):
            self.gyro.rows.append((stamp, rate))

    def add_pose(self, stamp: float, x: float, y: float, yaw: float, frame: float = 0.0) -> None:
        """Add a pose, m, m, rad; `frame`: see PoseReadings."""
        if self.poses.takes(stamp, x, y, yaw):
            self.poses.rows.append((stamp, x, y, yaw, frame))

    def add_laser(self, laser: LaserPoses) -> None:
        """Add the newest pose of a laser."""
        self.pose_errors = LASER_ERRORS
        self.add_pose(*laser.rows[-1])

    def readings(self, geometry: WheelGeometry) -> CalibrationReadings:
        """Return the readings, without sources that have too few; check `missing` first.

        `geometry` is of wheels that would have caused the odometry, which must move, else a
        ReadingsError.
        """
        gyro, poses = (len(source.rows) >= FEWEST for source in (self.gyro, self.poses))
        if self.subject is Subject.WHEELS:
            wheels = WheelTurns(*self.wheels.columns())
        else:
            wheels, lost = odometry_turns(np.array(self.odometry.rows), geometry)
            if lost:
                self.odometry.refuse(f"the odometry jumped; {lost} poses are before or after that")
        return CalibrationReadings(
            wheels,
            GyroReadings(*self.gyro.columns()) if gyro else None,
            PoseReadings(*self.poses.columns()) if poses else None,
            self.subject,
            self.pose_errors,
        )

    def missing(self) -> str | None:
        """Return a sentence on readings that a calibration lacks; None: nothing is missing."""
        wheels, gyro, poses = (len(source.rows) for source in self.sources)
        if wheels < FEWEST:
            what = "both wheels received on joint_states"
            if self.subject is Subject.ODOMETRY:
                what = "the odometry received on odom"
            return f"{wheels} readings of {what}, must be at least {FEWEST}{self.motion.excuse}"
        if max(gyro, poses) < FEWEST:
            return (
                f"{gyro} readings of a gyro received on imu/data and {poses} of a pose source on "
                "pose; one of them must have at least "
                f"{FEWEST}{self.gyro.excuse}{self.poses.excuse}"
            )
        return None
