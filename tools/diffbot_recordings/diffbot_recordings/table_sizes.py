# SPDX-License-Identifier: Apache-2.0
"""Whether the sizes of a table's numbers fit the units of their channels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_recordings.samples import POSITIONS, Array, RecordingError
from diffbot_recordings.table_columns import DEGREE, TICKS, TIME, Column

# Steps of an angle that are undone at once, rad, are not of a wheel.
RETURNS = 0.5
# Share of rows with such steps that tells a second source.
MANY_RETURNS = 0.1
# Too few rows for a check.
FEW = 10
# No wheel exceeds FAR_BEYOND times what the robot's limits allow. Speeds are taken over SPEED_SPAN,
# s, at quantiles that wraps of positions, also unwrapped ones, do not reach.
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
