# SPDX-License-Identifier: Apache-2.0
"""Changes of a robot between its stretches, by the tests of fleets, with their causes.

Values that change together are tested together: what `identify` tells, radii and track, the gyro,
the place of the pose source, slip. A change of a size below LEAST is none: rooms, floors and
temperatures differ by as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import FRICTION_NAMES, NAMES, NORMAL_95
from diffbot_learning.stretch import Stretch
from diffbot_study.fleet_causes import name_cause
from diffbot_study.fleet_quantities import LOG, choose_quantities
from diffbot_study.fleet_trends import DRIFT, FEWEST, STEP, Track, Trend, find_trends, minute, said
from diffbot_study.parquet_store import Row

SIZES, RATIOS = ("left_radius", "right_radius", "track"), ("radius_ratio", "track_over_mean_radius")
GROUPS = (
    SIZES,
    RATIOS,
    ("linear_scale", "angular_scale", "heading_drift"),
    ("gyro_scale",),
    ("mount_x", "mount_y", "mount_yaw"),
    ("path_noise",),
)
ABSOLUTE = {"heading_drift": "rad/m", "mount_x": "m", "mount_y": "m", "mount_yaw": "rad"}
LEAST = {
    "heading_drift": 0.01,
    "mount_x": 0.008,
    "mount_y": 0.008,
    "mount_yaw": math.radians(0.5),
    "path_noise": math.log(5.0),
}
"""Least changes, in the unit of ABSOLUTE or of the logarithm."""
LEAST_RELATIVE = 0.004
# Smallest errors with which causes are judged: signatures are no more precise.
OF_IDENTIFY, OF_SIZES = 0.01, 0.0005


@dataclass(frozen=True)
class RobotChange:
    """A change of the robot: what, by how much, when.

    Attributes:
        cause: As in the fleet's alarms, such as "load" or "tyre left"; "no known cause".
        confidence: Weight of the cause among all, 0 to 1.
        between: Times that bound it, s since 1970.
        gradual: Whether it is a drift.
    """

    text: str
    cause: str
    confidence: float
    between: tuple[float, float]
    gradual: bool


@dataclass(frozen=True)
class _TestedGroup:
    """Quantities that are tested together: their names, their course, errors for the cause."""

    names: tuple[str, ...]
    track: Track
    least_error: float


def find_change(stretches: Sequence[Stretch], level: float) -> RobotChange | None:
    """Return the surest change between stretches, in order of time; None: nothing changed.

    Args:
        level: Probability of any change for a robot that did not change.
    """
    groups = [*_groups(stretches)]
    best: tuple[Trend, _TestedGroup] | None = None
    for group in groups:
        trends = find_trends("", {"": group.track}, group.names)
        if not trends or trends[0].p * len(groups) > level or _is_small(trends[0]):
            continue
        if best is None or trends[0].p < best[0].p:
            best = trends[0], group
    if best is None:
        return None
    trend, group = best
    errors = np.maximum(np.array([*trend.change_std.values()]), group.least_error)
    cause, confidence = name_cause(group.names, np.array([*trend.change.values()]), errors)
    return RobotChange(_text(trend), cause, confidence, trend.between, trend.kind == DRIFT)


def is_testable(stretches: Sequence[Stretch]) -> bool:
    """Whether there are enough stretches for a test."""
    return any(True for _ in _groups(stretches))


def _groups(stretches: Sequence[Stretch]) -> Iterator[_TestedGroup]:
    rows = [one.row for one in stretches if one.row.get("usable") in ("all", "some")]
    quantities = choose_quantities(rows) if rows else None
    if quantities is not None:
        rows = [row for row in rows if quantities.is_reported(row) and _is_whole(row)]
        if len(rows) >= FEWEST:
            track = Track(np.array([row["time"] for row in rows]), *quantities.of(rows))
            yield _TestedGroup(tuple(quantities.names), track, OF_IDENTIFY)
    for names in GROUPS:
        known = [one for one in stretches if {*names} <= {*one.values}]
        if names == RATIOS:
            known = [one for one in known if not {*SIZES} <= {*one.values}]
        if len(known) >= FEWEST:
            values, errors = zip(*(_of(one, names) for one in known), strict=True)
            track = Track(np.array([one.time for one in known]), np.array(values), np.array(errors))
            yield _TestedGroup(tuple(_name(name) for name in names), track, OF_SIZES)


def _name(value: str) -> str:
    return value if value in ABSOLUTE else f"{LOG}{value}"


def _of(stretch: Stretch, names: Sequence[str]) -> tuple[list[float], list[float]]:
    known = [stretch.values[name] for name in names]
    pairs = [
        (one.value, one.std)
        if name in ABSOLUTE
        else (math.log(max(one.value, 1e-300)), one.std / max(abs(one.value), 1e-300))
        for name, one in zip(names, known, strict=True)
    ]
    return [value for value, _ in pairs], [std for _, std in pairs]


def _is_small(trend: Trend) -> bool:
    """Whether a change of sizes is below LEAST; what `identify` tells has no such limit."""
    name = trend.quantity.removeprefix(LOG)
    known = any(name in names for names in GROUPS)
    return known and abs(trend.change[trend.quantity]) < LEAST.get(name, LEAST_RELATIVE)


def _text(trend: Trend) -> str:
    unit = ABSOLUTE.get(trend.quantity)
    if unit is None:
        return said(trend)
    change, half = (
        trend.change[trend.quantity],
        NORMAL_95 * trend.change_std[trend.quantity],
    )
    begin, end = (minute(time) for time in trend.between)
    when = f"between {begin} and {end}" if trend.kind == STEP else f"from {begin} to {end}"
    return f"{trend.kind} of {trend.quantity} by {change:+.3g} ± {half:.2g} {unit} {when}"


def _is_whole(row: Row) -> bool:
    """Whether a torque row has all of K5..K8 and friction: a missing one would look changed."""
    if row.get("k7") is None:
        return True
    return all(row.get(f"std_{name}") is not None for name in (*NAMES, *FRICTION_NAMES))


def change_of(content: Mapping[str, object]) -> RobotChange:
    """Return a change from its fields, as a file holds them. Raises KeyError or TypeError."""
    known = {**content, "between": tuple(content["between"])}  # type: ignore[arg-type]
    return RobotChange(**known)  # type: ignore[arg-type]
