# SPDX-License-Identifier: Apache-2.0
"""Read SysId logs of WPILib: voltages, positions, velocities and yaw in four drivetrain tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffbot_description.files import parse_json, read_regular
from diffbot_description.limits import JSON
from diffbot_recordings.samples import Array, RecordingError, is_number

# A JSON object of four tests, "slow-forward", "slow-backward" (ramps), "fast-forward",
# "fast-backward" (steps): rows [t s, V left, right, positions (rotations), velocities (rot/s), yaw
# rad, yaw rate]; with "sysid": true, "test", "units", "unitsPerRotation". Older logs have rows [t,
# battery V, share of the voltage, V left, right, positions, velocities, yaw] and no "sysid".

TESTS = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")
DRIVETRAINS = ("Drivetrain", "Drivetrain (Angular)")
# Factors of units: of lengths into m, and of wheel angles into rad.
LENGTHS = {"Meters": 1.0, "Feet": 0.3048, "Inches": 0.0254}
ANGLES = {"Radians": 1.0, "Rotations": math.tau, "Degrees": math.pi / 180.0}
# Columns of time, voltages, positions, velocities, yaw, yaw rate; None: not recorded.
NEW: tuple[int | None, ...] = (0, 1, 2, 3, 4, 5, 6, 7, 8)
OLD: tuple[int | None, ...] = (0, 3, 4, 5, 6, 7, 8, 9, None)


@dataclass(frozen=True)
class SysIdTest:
    """One test; all arrays have shape (n,).

    Attributes:
        name: One of TESTS.
        times: Increasing times, s.
        left_voltage: V, as the right one.
        left_position: m, or rad of the wheel; see SysIdLog.unit.
        left_velocity: m/s or rad/s.
        yaw: rad.
        yaw_rate: rad/s; NaN if not recorded.
    """

    name: str
    times: Array
    left_voltage: Array
    right_voltage: Array
    left_position: Array
    right_position: Array
    left_velocity: Array
    right_velocity: Array
    yaw: Array
    yaw_rate: Array


@dataclass(frozen=True)
class SysIdLog:
    """A SysId log: file name, kind (one of DRIVETRAINS), tests by name.

    The unit of positions is "m", or "rad" if the log states no length.
    """

    name: str
    kind: str
    unit: str
    tests: Mapping[str, SysIdTest]


def read_sysid(path: Path) -> SysIdLog:
    """Read a log. Raises RecordingError if it is no drivetrain log."""
    data = _json(path)
    kind = data.get("test")
    if kind is None and not any(name in data for name in TESTS):
        raise RecordingError(
            f"{path.name}: not a SysId log: it has no entry 'test', and none of {', '.join(TESTS)}"
        )
    if kind not in DRIVETRAINS:
        raise RecordingError(
            f"{path.name}: test = {kind!r}: must be one of {', '.join(map(repr, DRIVETRAINS))}; "
            "logs of single mechanisms hold no robot that drives"
        )
    scale, unit = _scale(path, data)
    columns = NEW if data.get("sysid") is True else OLD
    tests = {
        name: _test(path, name, data[name], columns, scale) for name in TESTS if data.get(name)
    }
    if not tests:
        raise RecordingError(
            f"{path.name}: holds rows of none of the tests {', '.join(TESTS)}; its entries are "
            f"{', '.join(map(str, data))[:300] or 'none'}; rename them, or record two tests or more"
        )
    return SysIdLog(path.name, str(kind), unit, tests)


def _json(path: Path) -> dict[str, object]:
    try:
        data = parse_json(read_regular(path, JSON))
    except ValueError as error:
        raise RecordingError(f"{path.name}: cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise RecordingError(f"{path.name}: must be a JSON object with the tests of a SysId log")
    return data


def _scale(path: Path, data: Mapping[str, object]) -> tuple[float, str]:
    """Return the SI units per rotation, and the unit's name."""
    units, factor = data.get("units"), data.get("unitsPerRotation")
    if not isinstance(factor, (int, float)) or not 0.0 < factor <= sys.float_info.max:
        raise RecordingError(
            f"{path.name}: unitsPerRotation = {factor!r}: must be a number > 0, the way of a wheel "
            "in one rotation"
        )
    if isinstance(units, str) and units in LENGTHS:
        return float(factor) * LENGTHS[units], "m"
    if isinstance(units, str) and units in ANGLES:
        return float(factor) * ANGLES[units], "rad"
    raise RecordingError(
        f"{path.name}: units = {units!r}: must be one of {', '.join((*LENGTHS, *ANGLES))}"
    )


def _test(
    path: Path, name: str, rows: object, columns: tuple[int | None, ...], scale: float
) -> SysIdTest:
    try:
        table = np.array(rows, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"{path.name}: {name}: rows must be lists of numbers of one length: {error}"
        ) from error
    width = 9 if columns is NEW else 10
    if table.ndim != 2 or table.shape[1] != width:
        raise RecordingError(
            f"{path.name}: {name}: rows have shape {table.shape}: must be (n, {width})"
        )
    usable = np.asarray(is_number(table).all(axis=1))
    # Drop rows that were sent twice or out of order.
    usable[1:] &= np.diff(np.maximum.accumulate(table[:, 0])) > 0.0
    table = table[usable]
    if not len(table):
        raise RecordingError(f"{path.name}: {name}: no row holds finite numbers at a later time")
    values = [np.full(len(table), math.nan) if c is None else table[:, c] for c in columns]
    values[3:7] = [scale * column for column in values[3:7]]
    return SysIdTest(name, *values)
