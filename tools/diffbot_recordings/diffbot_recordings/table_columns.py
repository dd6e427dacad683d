# SPDX-License-Identifier: Apache-2.0
"""The columns of a table by channel, chosen or recognised by names, and their units.

A unit in the name, such as "v [mm/s]" or "time_ms", gives the factor; sizes show a wrong one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_recordings.samples import COMMANDS, MEASURED, POSITIONS, Array, RecordingError

TIME = "time"
GYRO = "gyro_z"
"""Channel of a gyro about the upward axis, rad/s, of a torque robot; see recorded_gyro.py."""
CHANNELS = (TIME, *COMMANDS, *MEASURED, GYRO)

# Names by which columns are recognised, in order of preference, in lower case.
KNOWN: Mapping[str, tuple[str, ...]] = {
    TIME: ("time", "t", "t_s", "time_s", "timestamp", "stamp", "__time", "seconds", "sec"),
    "command_v": ("command_v", "cmd_v", "v_cmd", "cmd_vel_x", "cmd_vel.linear.x", "v_ref"),
    "command_w": (
        "command_w",
        "cmd_w",
        "w_cmd",
        "cmd_omega",
        "cmd_vel_omega",
        "cmd_vel.angular.z",
        "w_ref",
    ),
    "command_left": ("command_left", "cmd_left", "effort_command_left"),
    "command_right": ("command_right", "cmd_right", "effort_command_right"),
    "v": ("v", "speed", "linear_velocity", "odom_v", "odom.twist.twist.linear.x"),
    "w": ("w", "omega", "yaw_rate", "angular_velocity", "odom_w", "odom.twist.twist.angular.z"),
    "left_position": ("left_position", "left_angle"),
    "right_position": ("right_position", "right_angle"),
    "left_velocity": ("left_velocity", "meas_left_vel", "left_wheel_velocity"),
    "right_velocity": ("right_velocity", "meas_right_vel", "right_wheel_velocity"),
    "left_effort": ("left_effort", "left_torque"),
    "right_effort": ("right_effort", "right_torque"),
    "left_voltage": ("left_voltage", "left_motor_voltage", "voltage_left"),
    "right_voltage": ("right_voltage", "right_motor_voltage", "voltage_right"),
    "left_current": ("left_current", "left_motor_current", "current_left"),
    "right_current": ("right_current", "right_motor_current", "current_right"),
}
GYRO_NAMES = ("gyro_z", "gyro", "angular_velocity.z", "angular_velocity_z")
FACTORS = {"pi": math.pi, "2pi": math.tau, "deg": math.pi / 180.0, "rpm": math.tau / 60.0}

# Units in names with their factors into SI: of time, then by SI unit.
_TIMES = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
DEGREE, _TURN = math.pi / 180.0, math.tau
_UNITS: Mapping[str, Mapping[str, float]] = {
    "m/s": {"m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2, "km/h": 1.0 / 3.6, "kmh": 1.0 / 3.6},
    "rad/s": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": DEGREE,
        "dps": DEGREE,
        "°/s": DEGREE,
        "rpm": _TURN / 60.0,
        "rev/s": _TURN,
        "rps": _TURN,
    },
    "rad": {
        "rad": 1.0,
        "deg": DEGREE,
        "degree": DEGREE,
        "degrees": DEGREE,
        "°": DEGREE,
        "rev": _TURN,
    },
    "m": {"m": 1.0, "mm": 1e-3, "cm": 1e-2},
    "N m": {"nm": 1.0, "mnm": 1e-3, "ncm": 1e-2},
    "V": {"v": 1.0, "mv": 1e-3},
    "A": {"a": 1.0, "ma": 1e-3},
    "%": {"%": 1.0, "percent": 1.0},
}
_SI = {unit: si for si, units in _UNITS.items() for unit in units}
# The factor from encoder ticks to rad, for messages.
TICKS = "FACTOR being 2 pi / ticks of one turn of the wheel"
_EFFORTS = {"newton_metre": "N m", "ampere": "A", "percent": "%", "volt": "V"}
# Units of channels, by name or by its last part.
_MEASURED_IN = {
    "position": "rad", "velocity": "rad/s", "voltage": "V", "current": "A",
    "v": "m/s", "w": "rad/s", "yaw": "rad", "pose_x": "m", "pose_y": "m",
    "gyro_x": "rad/s", "gyro_y": "rad/s", "gyro_z": "rad/s",
}  # fmt: skip
_BRACKETS = re.compile(r"(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]\s*")
_SUFFIX = re.compile(r"(.+?)_(mm_s|mmps|cm_s|kmh|deg_s|degps|dps|rpm|rad_s|mnm|ms|us|ns)")
# An angle's unit at the end of a name or, for positions, anywhere: "enc_ticks_left".
_ANGLES = r"(rad|deg|degrees?|ticks?|counts?)"
_ANGLE_SUFFIX = re.compile(rf"(.*(?:position|angle))_{_ANGLES}")
_ANGLE_WORD = re.compile(rf"(?:.*[\W_])?{_ANGLES}(?:[\W_].*)?")
_TICKS = ("tick", "ticks", "count", "counts")
_SPELLED = {
    "mm_s": "mm/s",
    "mmps": "mm/s",
    "cm_s": "cm/s",
    "deg_s": "deg/s",
    "degps": "deg/s",
    "rad_s": "rad/s",
}


@dataclass(frozen=True)
class Column:
    """A column and the factor that turns it into SI.

    Attributes:
        factor: None: none is given, or the unit is not known; 1 is used.
        unit: Unit in the name, from which the factor follows; None: none, or the user gave it.
    """

    name: str
    factor: float | None = None
    unit: str | None = None

    @property
    def scale(self) -> float:
        return 1.0 if self.factor is None else self.factor

    def __str__(self) -> str:
        return self.name if self.scale == 1.0 else f"{self.name} * {self.scale:.6g}"


def parse_columns(texts: Iterable[str], channels: Sequence[str] = CHANNELS) -> dict[str, Column]:
    """Parse texts such as "v=speed,w=gyro_z*deg": CHANNEL=COLUMN[*FACTOR]; or RecordingError."""
    results: dict[str, Column] = {}
    for entry in (part.strip() for text in texts for part in text.split(",") if part.strip()):
        channel, equals, column = (part.strip() for part in entry.partition("="))
        if not equals or not column:
            raise RecordingError(
                f"--columns {entry!r}: must be CHANNEL=COLUMN or CHANNEL=COLUMN*FACTOR"
            )
        if channel not in channels:
            raise RecordingError(
                f"--columns {entry!r}: there is no channel {channel!r}; there are "
                f"{', '.join(channels)}"
            )
        name, times, factor = column.rpartition("*")
        results[channel] = Column(name.strip(), _factor(entry, factor)) if times else Column(column)
    return results


def _factor(entry: str, text: str) -> float:
    text = text.strip()
    if text.lstrip("-") in FACTORS:
        return (-1.0 if text.startswith("-") else 1.0) * FACTORS[text.lstrip("-")]
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not math.isfinite(factor) or factor == 0.0:
        raise RecordingError(
            f"--columns {entry!r}: factor {text!r} must be a number other than 0, or one of "
            f"{', '.join(FACTORS)}"
        )
    return factor


def columns_of(
    header: Sequence[str],
    chosen: Mapping[str, Column],
    known: Mapping[str, tuple[str, ...]] = KNOWN,
) -> dict[str, Column]:
    """Return the column of each channel that a table has, by the usual names `known`.

    If the user chose any, only the time is still found by name.
    """
    by_name = {name.strip().lower(): name for name in reversed(header)}
    plain = {bare(name): name for name in reversed(header)}
    results = {}
    for channel, column in chosen.items():
        name = column.name if column.name in header else plain.get(column.name.lower())
        if name is not None:
            results[channel] = _with_unit(channel, name, column.factor)
    for channel, names in known.items():
        if channel in chosen or (chosen.keys() - {TIME} and channel != TIME):
            continue
        full = next((by_name[name] for name in names if name in by_name), None)
        name = full or next((plain[name] for name in names if name in plain), None)
        if name is not None:
            results[channel] = _with_unit(channel, name, None)
    return results


def bare(name: str) -> str:
    """Return a column's name without its unit, in lower case."""
    return _split(name)[0].lower()


def _split(name: str) -> tuple[str, str | None]:
    name = name.strip()
    if (match := _BRACKETS.fullmatch(name)) is not None:
        return match[1].strip(), match[2]
    for suffix in (_SUFFIX, _ANGLE_SUFFIX):
        if (match := suffix.fullmatch(name.lower())) is not None:
            return name[: len(match[1])], _SPELLED.get(match[2], match[2])
    return name, None


def _with_unit(channel: str, name: str, factor: float | None) -> Column:
    unit = _split(name)[1]
    if unit is None and _kind(channel) == "position":
        word = _ANGLE_WORD.fullmatch(name.lower())
        unit = word and word[1]
    if unit is None or factor is not None:
        return Column(name, factor)
    if channel == TIME:
        return Column(name, _TIMES.get(_spelled(unit)), unit)
    si = _SI.get(_spelled(unit))
    return Column(name, None if si is None else _UNITS[si][_spelled(unit)], unit)


def _kind(channel: str) -> str:
    return channel.rpartition("_")[2]


def _spelled(unit: str) -> str:
    return unit.lower().replace(" ", "").replace("·", "").replace("*", "")


def unit_problem(channel: str, column: Column, effort_unit: str) -> str | None:
    """Return why a column's unit does not fit its channel, and what to do; None: it fits, or none.

    `effort_unit` is that of efforts and torque commands, one of options.EFFORT_UNITS.
    """
    if column.unit is None:
        return None
    si, kind = _SI.get(_spelled(column.unit)), _kind(channel)
    own = _MEASURED_IN.get(channel, _MEASURED_IN.get(kind))
    wanted = own or _EFFORTS.get(effort_unit)
    factor = f"--columns {channel}={column.name!r}*FACTOR"
    if kind == "position" and _spelled(column.unit) in _TICKS:
        return (
            f"column {column.name!r} is in {column.unit}, and {channel} in rad: {factor}, {TICKS}"
        )
    if si is None:
        return (
            f"column {column.name!r}: the unit {column.unit!r} is not known; {channel} is in "
            f"{wanted or 'a unit of its own'}: give the factor, {factor}"
        )
    if wanted in (None, si):
        return None
    if own is None and si in _EFFORTS.values():
        unit = next(name for name, each in _EFFORTS.items() if each == si)
        return (
            f"column {column.name!r} is in {column.unit}, but efforts are read in {wanted}: set "
            f"--effort-unit {unit}"
        )
    return f"column {column.name!r} is in {column.unit}, and {channel} in {wanted}; {factor}"


# Steps of an angle that are undone at once, rad, are not of a wheel.
RETURNS = 0.5
# Share of rows with such steps that tells a second source.
MANY_RETURNS = 0.1
FEW = 10
# No wheel exceeds FAR_BEYOND times the robot's limits; over SPEED_SPAN, s, at quantiles below
# wraps.
FAR_BEYOND, SPEED_SPAN, SPEED_QUANTILE, UNWRAPPED_QUANTILE = 3.0, 0.05, 0.75, 0.9
# Largest plausible 90th percentile of each channel, its unit, and the likeliest other unit's
# factor.
SIZES = {
    "v": (30.0, "m/s", 1e-3),
    "command_v": (30.0, "m/s", 1e-3),
    "w": (60.0, "rad/s", DEGREE),
    "command_w": (60.0, "rad/s", DEGREE),
    "left_velocity": (1000.0, "rad/s", DEGREE),
    "right_velocity": (1000.0, "rad/s", DEGREE),
}


def beyond_wheels(robot: Robot | None, geometry: WheelGeometry) -> float:
    """Return a speed that no wheel of the robot, or of this geometry, reaches, rad/s."""
    if robot is None:
        return SIZES["v"][0] / geometry.left_radius
    return FAR_BEYOND * robot.wheel_speed


class ChannelSizes:
    """Keeps the sizes of the values of each channel, and compares them with its unit."""

    def __init__(self, name: str, columns: Mapping[str, Column]) -> None:
        self._name, self._columns = name, columns
        self._returns = Counter[str]()  # steps of positions that are undone at once
        self._largest: dict[str, list[float]] = {name: [] for name in columns if name != TIME}

    def add(self, name: str, times: Array, column: Array) -> None:
        """Add values in SI units at times in s, shape (n,)."""
        if name not in POSITIONS:
            self._largest[name].append(float(np.percentile(np.abs(column), 90.0)))
        elif len(speeds := _speeds(times, column)):
            steps = np.diff(column)
            there, back = steps[:-1], steps[1:]
            self._returns[name] += int(np.count_nonzero(-there * back > RETURNS**2))
            unwrapped = _speeds(times, np.unwrap(column))
            self._largest[name].append(
                max(
                    float(np.quantile(speeds, SPEED_QUANTILE)),
                    float(np.quantile(unwrapped, UNWRAPPED_QUANTILE)),
                )
            )

    def check(self, read: int, fastest: float) -> None:
        """Check all channels after the last of the `read` rows, or RecordingError.

        No wheel reaches `fastest` rad/s.
        """
        self._check_sizes(read)
        self._check_positions(read, fastest)

    def _check_sizes(self, read: int) -> None:
        for channel, largest in self._largest.items():
            limit, unit, factor = SIZES.get(channel, (math.inf, "", 1.0))
            column = self._columns[channel]
            size = float(np.median(largest)) if largest and read > FEW else 0.0
            if column.factor is None and size > limit:
                raise RecordingError(
                    f"{self._name}: {column.name} ({channel}) reaches {size:.4g} {unit}, more "
                    f"than {limit:g}: in other units? Then --columns "
                    f"{with_factor(self._columns, (channel,), factor)}; if it is right: "
                    f"{channel}={column.name}*1"
                )

    def _check_positions(self, read: int, fastest: float) -> None:
        for channel in (name for name in POSITIONS if name in self._largest):
            column, speeds = self._columns[channel], self._largest[channel]
            speed = float(np.median(speeds)) if speeds and read > FEW else 0.0
            if self._returns[channel] > MANY_RETURNS * read:
                continue  # angles of two sources, which are told from each other later
            if column.factor is None and speed > fastest:
                raise RecordingError(
                    f"{self._name}: {column.name} ({channel}) turns at {speed:.4g} rad/s if "
                    f"it is in rad, and no wheel here beyond {fastest:.4g}: positions seem to "
                    f"be in degrees or encoder ticks. Degrees: --columns "
                    f"{with_factor(self._columns, POSITIONS, DEGREE)}; ticks: *FACTOR for both, "
                    f"{TICKS}; if they are in rad: {channel}={column.name}*1"
                )


def with_factor(columns: Mapping[str, Column], changed: Sequence[str], factor: float) -> str:
    """Return all columns as --columns takes them, some of them with another factor."""
    return ",".join(
        f"{channel}={column.name}"
        + (f"*{factor:.6g}" if channel in changed else "")
        + (f"*{column.scale:.6g}" if channel not in changed and column.scale != 1.0 else "")
        for channel, column in columns.items()
    )


def _speeds(times: Array, positions: Array) -> Array:
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    apart = max(1, round(SPEED_SPAN / period)) if period > 0.0 else len(times)
    lasted = times[apart:] - times[:-apart]
    turned = np.abs(positions[apart:] - positions[:-apart])
    result: Array = turned[lasted > 0.0] / lasted[lasted > 0.0]
    return result
