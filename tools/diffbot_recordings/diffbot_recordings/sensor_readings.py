# SPDX-License-Identifier: Apache-2.0
"""Readings for a calibration: wheels, a gyro, a pose source; and odometry by exact arcs.

Lages (2018) (35)-(37), for any geometry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
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
    """Poses of a sensor on the robot in a fixed frame, (k,), m and rad; ascending stamps, s.

    `frame` numbers the frame of each, (k,): how two of them lie to each other is unknown.
    """

    stamps: Array
    x: Array
    y: Array
    yaw: Array
    frame: Array | None = None

    def __post_init__(self) -> None:
        if self.frame is None:
            object.__setattr__(self, "frame", np.zeros(np.shape(self.stamps)))
        _check(self)


@dataclass(frozen=True)
class CommonPoseErrors:
    """Standard deviations of errors that all poses of a source have in common.

    Attributes:
        scale: Of lengths, relative.
        skew: Of the radii's ratio, by a map that is bent.
        turn: Of turns against lengths, relative.
        place: Of the mounting's x and y over the white noise of positions: noise that a map keeps.
        yaw: Of the mounting's yaw over the same, rad/m.
    """

    scale: float = 0.0
    skew: float = 0.0
    turn: float = 0.0
    place: float = 0.0
    yaw: float = 0.0


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
    pose_errors: CommonPoseErrors = CommonPoseErrors()

    def until(self, time: float) -> CalibrationReadings:
        """Return the readings up to a time, s."""

        def kept(source: Any) -> Any:
            if source is None:
                return None
            early = source.stamps <= time
            return type(source)(*(column[early] for column in vars(source).values()))

        return CalibrationReadings(
            kept(self.wheels), kept(self.gyro), kept(self.poses), self.subject, self.pose_errors
        )


LONGEST_GAP = 0.25
"""The motion between wheel readings further apart than this, s, is unknown."""


class WheelPath:
    """Odometry of wheels that roll without slip, from (0, 0), heading 0, at the first reading."""

    def __init__(self, wheels: WheelTurns, geometry: WheelGeometry) -> None:
        if len(wheels.stamps) < 2:
            raise ReadingsError(
                f"WheelTurns.stamps holds {len(wheels.stamps)} readings: must hold 2 or more"
            )
        self._stamps = wheels.stamps
        left = geometry.left_radius * np.diff(wheels.left)
        right = geometry.right_radius * np.diff(wheels.right)
        self._lengths, self._turns = 0.5 * (left + right), (right - left) / geometry.separation
        self._headings = np.concatenate(([0.0], np.cumsum(self._turns)))
        dx, dy = _chord(self._lengths, self._turns, self._headings[:-1])
        self._x = np.concatenate(([0.0], np.cumsum(dx)))
        self._y = np.concatenate(([0.0], np.cumsum(dy)))

    def poses(self, times: Array) -> Array:
        """Return poses [x m, y m, heading rad (whole turns counted)] at times in s, (n, 3)."""
        i, fraction = _places(self._stamps, times)
        turn = fraction * self._turns[i]
        dx, dy = _chord(fraction * self._lengths[i], turn, self._headings[i])
        return np.stack((self._x[i] + dx, self._y[i] + dy, self._headings[i] + turn), axis=1)

    def headings(self, times: Array) -> Array:
        """Return headings at times in s, rad, (n,)."""
        i, fraction = _places(self._stamps, times)
        turned: Array = self._headings[i] + fraction * self._turns[i]
        return turned


def angles(wheels: WheelTurns, times: Array) -> Array:
    """Return interpolated angles of the wheels [left, right] at times in s, rad, (..., 2)."""
    i, fraction = _places(wheels.stamps, times)
    return np.stack(
        [a[i] + fraction * (a[i + 1] - a[i]) for a in (wheels.left, wheels.right)], axis=-1
    )


def driven(wheels: WheelTurns, times: Array) -> Array:
    """Return the angles that the wheels have turned so far in either direction, rad, (..., 2)."""
    i, fraction = _places(wheels.stamps, times)
    columns = []
    for angle in (wheels.left, wheels.right):
        path = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(angle)))))
        columns.append(path[i] + fraction * (path[i + 1] - path[i]))
    return np.stack(columns, axis=-1)


def gaps(wheels: WheelTurns) -> Array:
    """Return the time in the middle of each gap in the wheels' readings, s, (n,)."""
    wide = np.flatnonzero(np.diff(wheels.stamps) > LONGEST_GAP)
    return 0.5 * (wheels.stamps[wide] + wheels.stamps[wide + 1])


def _places(stamps: Array, times: Array) -> tuple[np.ndarray, Array]:
    i = np.clip(np.searchsorted(stamps, times, side="right") - 1, 0, len(stamps) - 2)
    return i, (times - stamps[i]) / (stamps[i + 1] - stamps[i])


def _chord(length: Array, turn: Array, heading: Array) -> tuple[Array, Array]:
    chord = length * np.sinc(turn / (2.0 * np.pi))
    direction = heading + 0.5 * turn
    return chord * np.cos(direction), chord * np.sin(direction)


FEWEST = 20
# A step that needs this many times the speed of nearly all steps is a jump or a reset.
JUMP, USUAL = 5.0, 95.0
# Smallest speed of a rim that counts as a jump, m/s.
SLOWEST_JUMP = 0.5


def odometry_turns(poses: Array, geometry: WheelGeometry) -> tuple[WheelTurns, int]:
    """Return the turns of wheels whose odometry, by exact arcs, is the longest part without jumps.

        >>> rows = [(0.1 * k, 0.05 * k, 0.0, 0.0) for k in range(30)]
        >>> turns, _ = odometry_turns(np.array(rows), WheelGeometry(0.1, 0.1, 0.4))
        >>> round(float(turns.left[-1]), 3)
        14.5

    Args:
        poses: Rows [stamp s, x m, y m, yaw rad] in the order of ascending stamps, (n, 4).
        geometry: Of the wheels; where the driver's own differs, only the angles do.

    Returns:
        The turns, and the number of poses that were left out.

    Raises:
        ReadingsError: There are too few poses, or they never move.
    """
    if len(poses) < FEWEST:
        raise ReadingsError(
            f"odometry: {len(poses)} poses: must be {FEWEST} or more; record longer"
        )
    stamps, x, y, yaw = poses.T
    turn = (np.diff(yaw) + math.pi) % math.tau - math.pi
    middle = yaw[:-1] + 0.5 * turn
    chord = np.cos(middle) * np.diff(x) + np.sin(middle) * np.diff(y)
    length = chord / np.sinc(turn / math.tau)
    across = np.abs(np.cos(middle) * np.diff(y) - np.sin(middle) * np.diff(x))
    rims = np.abs(length) + geometry.half_track * np.abs(turn) + across
    usual = float(np.percentile(rims / np.diff(stamps), USUAL))
    if usual == 0.0:
        raise ReadingsError("odometry: the pose never changes: drive while it is recorded")
    # Readings that came late move further in a short time: a jump is one by any usual period.
    period = np.maximum(np.diff(stamps), float(np.median(np.diff(stamps))))
    whole = longest_whole(rims > max(JUMP * usual, SLOWEST_JUMP) * period)
    kept = slice(whole.start, whole.stop - 1)
    rolled = [
        np.concatenate(([0.0], np.cumsum(length[kept] + side * geometry.half_track * turn[kept])))
        for side in (-1.0, 1.0)
    ]
    turns = WheelTurns(
        stamps[whole], rolled[0] / geometry.left_radius, rolled[1] / geometry.right_radius
    )
    return turns, len(stamps) - len(turns.stamps)


def longest_whole(torn: NDArray[np.bool_]) -> slice:
    """Return the longest part of readings between the steps that are torn, (n - 1,)."""
    ends = [0, *(np.flatnonzero(torn) + 1).tolist(), len(torn) + 1]
    begin, end = max(zip(ends[:-1], ends[1:], strict=True), key=lambda pair: pair[1] - pair[0])
    return slice(begin, end)
