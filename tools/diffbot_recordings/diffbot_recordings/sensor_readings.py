# SPDX-License-Identifier: Apache-2.0
"""Readings for a calibration: turns of the wheels, a gyro, a pose source; on one clock."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np

from arc_odometry.number_range import Array as Array

# No wheel is faster, rad/s: its encoder jumped.
FASTEST = 200.0


class ReadingsError(ValueError):
    """Readings that cannot be used; the message names field, value, limit and what to change."""


def _check(readings: object) -> None:
    """Convert all fields to float arrays, (n,); check that they are finite and stamps ascend."""
    kind = type(readings).__name__
    length = None
    for field in fields(readings):  # type: ignore[arg-type]
        name = f"{kind}.{field.name}"
        try:
            values = np.array(getattr(readings, field.name), dtype=float)
        except (TypeError, ValueError) as error:
            raise ReadingsError(f"{name}: must be numbers: {error}") from None
        length = len(values) if values.ndim == 1 and length is None else length
        if values.ndim != 1 or len(values) != length:
            raise ReadingsError(
                f"{name} has the shape {values.shape}: must be ({'n' if length is None else length}"
                ",), one value per stamp"
            )
        if not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ReadingsError(
                f"{name}[{index}] = {values[index]}: must be finite; remove such readings"
            )
        values.flags.writeable = False
        object.__setattr__(readings, field.name, values)
    stamps: Array = getattr(readings, "stamps")  # noqa: B009  (any of the classes below)
    back = np.flatnonzero(np.diff(stamps) <= 0.0)
    if len(back):
        index = int(back[0]) + 1
        raise ReadingsError(
            f"{kind}.stamps[{index}] = {stamps[index]!r} s after {stamps[index - 1]!r} s: must "
            "ascend; sort the readings and remove duplicates"
        )


@dataclass(frozen=True)
class WheelTurns:
    """Angles of both wheels, which count whole turns, (n,), rad; ascending stamps, s.

    As of the classes below, ReadingsError for shapes, stamps or values that cannot be used.
    """

    stamps: Array
    left: Array
    right: Array

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class GyroReadings:
    """Rates about the upward axis of a gyro on the robot, (m,), rad/s; ascending stamps, s."""

    stamps: Array
    rate: Array

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class PoseReadings:
    """Poses of a sensor on the robot in a fixed frame, (k,), m and rad; ascending stamps, s."""

    stamps: Array
    x: Array
    y: Array
    yaw: Array

    def __post_init__(self) -> None:
        _check(self)


class Subject(Enum):
    """What is calibrated."""

    WHEELS = "wheels"
    """Radii and track, from angles of the wheels."""
    ODOMETRY = "odometry"
    """Scales of a driver's odometry, from its poses."""

    @property
    def words(self) -> str:
        """The sizes that are calibrated, in words."""
        return "radii and track" if self is Subject.WHEELS else "scales of the odometry"


@dataclass(frozen=True)
class CalibrationReadings:
    """All readings of one drive; None: there is no such sensor.

    Of an odometry, `wheels` are those that would have caused it.
    """

    wheels: WheelTurns
    gyro: GyroReadings | None = None
    poses: PoseReadings | None = None
    subject: Subject = Subject.WHEELS

    def until(self, time: float) -> CalibrationReadings:
        """Return the readings up to a time, s."""

        def kept(source: Any) -> Any:
            if source is None:
                return None
            early = source.stamps <= time
            return type(source)(*(column[early] for column in vars(source).values()))

        return CalibrationReadings(
            kept(self.wheels), kept(self.gyro), kept(self.poses), self.subject
        )
