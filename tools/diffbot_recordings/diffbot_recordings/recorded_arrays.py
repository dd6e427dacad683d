# SPDX-License-Identifier: Apache-2.0
"""Identification from arrays or columns of times, wheel angles and torques, as from a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arc_odometry import WheelGeometry
from arc_odometry.joints import LONGEST_STEP, SHORTEST_STEP
from arc_odometry.number_range import Array
from arc_odometry.odometry import MAX_WHEEL_SPEED
from diffbot_description.robot import Wheels
from diffbot_description.robot_parsing import check_field
from diffbot_ident.estimate import Advice, Estimate, EstimateState, Estimator
from diffbot_ident.estimators import make_estimator
from diffbot_ident.torque.rows import LONG_STEP
from diffbot_recordings.counter_wraps import continuous
from diffbot_recordings.options import NEWTON_METRE
from diffbot_recordings.samples import EFFORTS, POSITIONS
from diffbot_recordings.table_columns import TIME, columns_of, parse_columns, unit_problem
from diffbot_recordings.table_rows import seconds_of
from diffbot_recordings.torque_analysis import TORQUE_SEGMENTS, analyse_arrays, typical_motion


def identify_arrays(
    time: ArrayLike,
    angles: ArrayLike,
    torques: ArrayLike,
    *,
    wheel_radius: float,
    wheel_separation: float,
    estimator: str | Estimator = "integral",
) -> Estimate:
    """Identify K5..K8 from a recording of one robot, as `identify` does from a table of these rows.

    Rows with a number that is not finite are left out; gaps of up to 60 ms are bridged, longer ones
    separate the data. `Estimate.warnings` counts both. A model that does not predict the held-out
    quarters is INVALID.

    Args:
        time: s, increasing in equal steps of 0.1 to 60 ms, shape (n,), n >= 2.
        angles: Angles of the wheels [left, right], rad, shape (n, 2).
        torques: Torques of the wheels [left, right], N m, that acted from the previous instant to
            this one, shape (n, 2); the first ones are not used.
        wheel_radius: Radius of both wheels, m, up to 2.
        wheel_separation: Full track, m, up to 10.
        estimator: "integral" or "rls", or your own, new.

    Raises:
        ValueError: A shape or length is wrong, the time does not increase or is not in s, an angle
            jumps (the message names the row), or the angles are not those of the wheels.
    """
    stamps, turned, torque = (np.asarray(each, dtype=float) for each in (time, angles, torques))
    if stamps.ndim != 1 or not turned.shape == torque.shape == (len(stamps), 2):
        raise ValueError(
            f"time {stamps.shape}, angles {turned.shape} and torques {torque.shape}: must be (n,), "
            "(n, 2) and (n, 2)"
        )
    check_field(Wheels, "radius", float(wheel_radius), "wheel_radius")
    check_field(Wheels, "separation", float(wheel_separation), "wheel_separation")
    geometry = WheelGeometry(wheel_radius, wheel_radius, wheel_separation)
    numbers = np.isfinite(np.column_stack((stamps, turned, torque))).all(axis=1)
    rows = np.flatnonzero(numbers)
    stamps, turned, torque = stamps[rows], turned[rows], torque[rows]
    gaps = _gaps(stamps, rows)
    _check_speeds(stamps, turned, rows, gaps)
    own = None if isinstance(estimator, str) else estimator
    if isinstance(estimator, str) and estimator != "integral":
        scale = typical_motion(stamps, turned, torque, geometry)
        own = make_estimator(estimator, geometry, scale)
    result = analyse_arrays(stamps, turned, torque, geometry, own)
    if result is None:
        why = f"no stretch of {TORQUE_SEGMENTS.shortest:g} s or more in which a wheel turns"
        return Estimate(samples=0).as_a_whole(EstimateState.UNESTIMATED, why, Advice.RECORD_LONGER)
    estimate, verified = result.estimate, result.verification
    if verified is not None and verified.decided and not verified.passed:
        estimate = estimate.as_a_whole(EstimateState.INVALID, verified.reason)
    return replace(estimate, warnings=(*estimate.warnings, *_left_out(numbers, gaps)))


class Frame(Protocol):
    """Columns by name, as in a pandas DataFrame or a dictionary of arrays."""

    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, name: Any, /) -> Any: ...


def identify_frame(
    frame: Frame,
    *,
    wheel_radius: float,
    wheel_separation: float,
    columns: Sequence[str] = (),
    estimator: str | Estimator = "integral",
) -> Estimate:
    """Identify K5..K8 from columns, found by their names and units as those of a table.

    Args:
        frame: Time (numbers, or dates), angles and torques of both wheels, as identify_arrays.
        wheel_radius, wheel_separation, estimator: See identify_arrays.
        columns: Columns that have other names, as "left_position=l*deg"; see parse_columns.

    Raises:
        ValueError: A column is missing or in another unit, or as identify_arrays.
    """
    names = {str(name): name for name in frame}
    chosen = columns_of(list(names), parse_columns(columns))
    needed = (TIME, *POSITIONS, *EFFORTS)
    if missing := [channel for channel in needed if channel not in chosen]:
        raise ValueError(
            f"no column holds {', '.join(missing)}; name it: columns=['CHANNEL=COLUMN']; columns: "
            f"{', '.join(names)}"
        )
    values = {}
    for channel in needed:
        column = chosen[channel]
        own = np.asarray(frame[names[column.name]])
        if channel == TIME and own.dtype.kind == "M":
            values[channel] = seconds_of(own)
            continue
        if channel != TIME and (problem := unit_problem(channel, column, NEWTON_METRE)):
            raise ValueError(problem)
        values[channel] = column.scale * own.astype(float)
    angles, torques = (np.column_stack([values[c] for c in pair]) for pair in (POSITIONS, EFFORTS))
    return identify_arrays(
        values[TIME],
        angles,
        torques,
        wheel_radius=wheel_radius,
        wheel_separation=wheel_separation,
        estimator=estimator,
    )


def _check_speeds(
    stamps: Array, angles: Array, rows: NDArray[np.intp], gaps: NDArray[np.bool_]
) -> None:
    steps_in_time = np.diff(stamps)
    longest = MAX_WHEEL_SPEED * np.maximum(steps_in_time, np.median(steps_in_time))
    for side, own in zip(("left", "right"), angles.T, strict=True):
        steps = np.diff(np.unwrap(continuous(stamps, own)[0]))
        fast = (np.abs(steps) > longest) & ~gaps[1:]
        if fast.any():
            at = int(np.argmax(fast))
            raise ValueError(
                f"row {rows[at + 1]}: angle of the {side} wheel jumps by {steps[at]:.3g} rad in "
                f"{steps_in_time[at]:.3g} s: must be at most {MAX_WHEEL_SPEED:g} rad/s; "
                "angles must be in rad and torques in N m"
            )


def _gaps(stamps: Array, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    if len(rows) < 2:
        raise ValueError(
            f"{len(rows)} rows with a time, both angles and both torques: must be at least 2"
        )
    steps = np.diff(stamps)
    if not (steps > 0.0).all():
        first = int(np.argmin(steps > 0.0))
        raise ValueError(
            f"time[{rows[first + 1]}] = {stamps[first + 1]:.9g} s after time[{rows[first]}] = "
            f"{stamps[first]:.9g} s: must increase; sort the rows by time, and remove "
            "duplicates"
        )
    usual = float(np.median(steps))
    if not SHORTEST_STEP <= usual <= LONGEST_STEP:
        raise ValueError(
            f"time increases by {usual:.4g} s from row to row: must be {SHORTEST_STEP:g} to "
            f"{LONGEST_STEP:g} s; give it in s, and the wheels at 20 Hz or more"
        )
    return np.concatenate(([False], steps > LONG_STEP * usual))


def _left_out(numbers: NDArray[np.bool_], gaps: NDArray[np.bool_]) -> list[str]:
    said = []
    if not numbers.all():
        incomplete = np.flatnonzero(~numbers)
        said.append(
            f"{len(incomplete)} of {len(numbers)} rows are ignored, the first is row "
            f"{incomplete[0]}: a number is not finite"
        )
    if gaps.any():
        said.append(f"gaps in the time: {np.count_nonzero(gaps)}; they widen the intervals")
    return said
