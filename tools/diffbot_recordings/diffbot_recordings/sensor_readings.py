# SPDX-License-Identifier: Apache-2.0
"""Readings for a calibration of odometry: turns of the wheels, a gyro, a pose source.

All stamps of one calibration are on one clock, s, as in the headers of messages. A pose source may
have a frame of its own, whose placement in the world need not be known.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from arc_odometry.odometry import Array as Array

# Speed that no wheel reaches, rad/s: an angle that changes faster is a jump of its encoder.
FASTEST = 200.0


class ReadingsError(ValueError):
    """Readings that cannot be used; the message names field, value, limit and what to change."""


def _check(readings: object) -> None:
    """Convert all fields to arrays of floats, (n,); check that they are finite and stamps ascend.

    Raises:
        ReadingsError: They cannot be used.
    """
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
    """Angles of both wheels.

    Attributes:
        stamps: Times of the readings, (n,), s, ascending.
        left: Angle of the left wheel, (n,), rad; it counts whole turns.
        right: Angle of the right wheel, (n,), rad; it counts whole turns.

    Raises:
        ReadingsError: Shapes differ, a value is not finite, or stamps do not ascend.
    """

    stamps: Array
    left: Array
    right: Array

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class GyroReadings:
    """Yaw rates of a gyro that is fixed to the robot.

    Attributes:
        stamps: Times, (m,), s, ascending.
        rate: Rate about the upward axis, (m,), rad/s, counter-clockwise.

    Raises:
        ReadingsError: Shapes differ, a value is not finite, or stamps do not ascend.
    """

    stamps: Array
    rate: Array

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class PoseReadings:
    """Poses of a sensor that is fixed to the robot, in a frame that is fixed in the world.

    Attributes:
        stamps: Times, (k,), s, ascending.
        x: Position, (k,), m.
        y: Position, (k,), m.
        yaw: Heading, (k,), rad, counter-clockwise from the frame's x axis; whole turns do not
            matter.

    Raises:
        ReadingsError: Shapes differ, a value is not finite, or stamps do not ascend.
    """

    stamps: Array
    x: Array
    y: Array
    yaw: Array

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class CalibrationReadings:
    """All readings of one drive.

    Attributes:
        wheels: Angles of both wheels.
        gyro: Yaw rates; None: there are none.
        poses: Poses; None: there are none.
    """

    wheels: WheelTurns
    gyro: GyroReadings | None = None
    poses: PoseReadings | None = None

    def until(self, time: float) -> CalibrationReadings:
        """Return the readings up to a time, s."""

        def kept(source: Any) -> Any:
            if source is None:
                return None
            early = source.stamps <= time
            return type(source)(*(column[early] for column in vars(source).values()))

        return CalibrationReadings(kept(self.wheels), kept(self.gyro), kept(self.poses))
