# SPDX-License-Identifier: Apache-2.0
"""What a drive has told so far, reading by reading, and what is missing of it.

Messages come as they like: said again, late by their stamps, or with numbers that are none. What
cannot be a reading is left out and counted, with the first reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from arc_odometry.joints import wheel_turn
from diffbot_ident.calibration.readings import GyroReadings, PoseReadings, WheelTurns

# No wheel turns faster than this, rad/s: what jumps by more between two stamps is no encoder.
FASTEST = 300.0
# Fewer readings are no drive.
FEWEST = 20


@dataclass
class SourceReadings:
    """Readings of one source.

    Attributes:
        name: for messages.
        rows: stamp (s) and values of each.
        refused: how many were left out.
        reason: why the first of them was; None: there is none.
    """

    name: str
    rows: list[tuple[float, ...]] = field(default_factory=list)
    refused: int = 0
    reason: str | None = None

    def refuse(self, reason: str) -> None:
        """Leave one out."""
        self.refused += 1
        self.reason = self.reason or reason

    def takes(self, stamp: float, *numbers: float) -> bool:
        """Whether a reading is one and is later than those before; a stamp said again is none."""
        if not all(map(math.isfinite, (stamp, *numbers))):
            self.refuse(f"{(stamp, *numbers)}: must be finite")
            return False
        newest = self.rows[-1][0] if self.rows else -math.inf
        if stamp < newest:
            self.refuse(f"stamp {stamp:.6f} s after {newest:.6f} s: must ascend")
        return stamp > newest

    def columns(self) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Stamps and values, (n,) each."""
        return list(np.array(self.rows, dtype=float).T)

    @property
    def excuse(self) -> str:
        """What was left out, to be added to a sentence; empty where nothing was."""
        if not self.refused:
            return ""
        return f"; {self.refused} of {self.name} were refused, the first one: {self.reason}"


class Collected:
    """Readings of one drive.

    Attributes:
        wheels: angles of left and right wheel, rad, whole turns counted.
        gyro: yaw rates, rad/s.
        poses: x, y (m), yaw (rad).
    """

    def __init__(self) -> None:
        self.wheels, self.gyro, self.poses = map(SourceReadings, ("wheels", "gyro", "poses"))
        self._raw = (0.0, 0.0)

    @property
    def sources(self) -> tuple[SourceReadings, SourceReadings, SourceReadings]:
        """All."""
        return self.wheels, self.gyro, self.poses

    def add_wheels(self, stamp: float, position: tuple[float, float]) -> None:
        """Angles of the wheels [left, right] as the encoders say, which may wrap.

        Args:
            stamp: s.
            position: rad.
        """
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

    def add_rate(self, stamp: float, rate: float) -> None:
        """A yaw rate: stamp in s, rad/s."""
        if self.gyro.takes(stamp, rate):
            self.gyro.rows.append((stamp, rate))

    def add_pose(self, stamp: float, x: float, y: float, yaw: float) -> None:
        """A pose: stamp in s, m, m, rad."""
        if self.poses.takes(stamp, x, y, yaw):
            self.poses.rows.append((stamp, x, y, yaw))

    def wheel_turns(self) -> WheelTurns:
        """Of the wheels; ask `missing` first."""
        return WheelTurns(*self.wheels.columns())

    def gyro_readings(self) -> GyroReadings | None:
        """None where there are too few."""
        return GyroReadings(*self.gyro.columns()) if len(self.gyro.rows) >= FEWEST else None

    def pose_readings(self) -> PoseReadings | None:
        """None where there are too few."""
        return PoseReadings(*self.poses.columns()) if len(self.poses.rows) >= FEWEST else None

    def missing(self) -> str | None:
        """What a calibration cannot do without and is not there, in a sentence; else None."""
        wheels, gyro, poses = (len(source.rows) for source in self.sources)
        if wheels < FEWEST:
            return (
                f"joint_states held {wheels} readings of both wheels, and at least {FEWEST} are "
                f"needed{self.wheels.excuse}"
            )
        if max(gyro, poses) < FEWEST:
            return (
                f"{gyro} readings of a gyro on imu/data and {poses} of a pose source on pose came, "
                f"and at least {FEWEST} of one of them are needed{self.gyro.excuse}"
                f"{self.poses.excuse}"
            )
        return None
