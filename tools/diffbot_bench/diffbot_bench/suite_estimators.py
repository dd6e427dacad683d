# SPDX-License-Identifier: Apache-2.0
"""The suite's own estimators, used as `identify` uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from diffbot_bench.independent_plant import Array
from diffbot_bench.tasks import NAMES_K, Record
from diffbot_description.command_kind import CommandKind
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState
from diffbot_recordings import identify_arrays
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.recording_analysis import STILL
from diffbot_recordings.samples import Batch, Recording
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings

Entry = float | tuple[float, float, float]


def identify(record: Record) -> Mapping[str, Entry] | None:
    """`diffbot identify`: intervals, or a refusal."""
    if record.kind is CommandKind.VELOCITY:
        return _velocity(record)
    return _entries(estimate(record, "integral"))


def estimate(record: Record, estimator: str) -> Estimate:
    """Return what an estimator of the suite says of a torque record."""
    columns = record.columns
    angles, efforts = (
        np.column_stack([columns[f"{side}_{name}"] for side in ("left", "right")])
        for name in ("position", "effort")
    )
    assert record.wheel_radius is not None and record.track is not None
    return identify_arrays(
        columns["time"],
        angles,
        efforts,
        wheel_radius=record.wheel_radius,
        wheel_separation=record.track,
        estimator=estimator,
    )


def _entries(result: Estimate) -> dict[str, Entry] | None:
    if result.state is not EstimateState.ESTIMATED:
        return None
    entries: dict[str, Entry] = {}
    for name, value, variance in zip(NAMES_K, result.values, result.variances, strict=True):
        if np.isfinite(variance):
            half = NORMAL_95 * float(np.sqrt(variance))
            entries[name] = (value, value - half, value + half)
    return entries


def _velocity(record: Record) -> dict[str, Entry]:
    columns = record.columns
    odometry = np.column_stack([columns[name] for name in ("time", "v", "omega")])
    commands = np.column_stack([columns[f"command_{name}"] for name in ("time", "v", "omega")])
    entries: dict[str, Entry] = {}
    for axis, analysis in analyse_axes(segments_of(odometry, commands)).items():
        if not analysis.verdict.usable:
            continue
        named = {value.name: value for value in analysis.verdict.values}
        for name, long in (
            ("time_constant", "time constant"),
            ("gain", "gain"),
            ("dead_time", "dead time"),
        ):
            value = named.get(long)
            if value is not None and (ends := value.interval95) is not None:
                entries[f"{name}_{'v' if axis == 'v' else 'omega'}"] = (value.value, *ends)
    return entries


class _Recorded:
    """Odometry and commands as a source of a Recording."""

    name, done, total = "random robot", 1, 1

    def __init__(self, odometry: Array, commands: Array) -> None:
        self.warnings: list[str] = []
        self._odometry, self._commands = odometry.T, commands.T

    def batches(self) -> Iterator[Batch]:
        t, v, w = self._odometry
        yield Batch(t, {"v": v, "w": w})
        t, v, w = self._commands
        yield Batch(t, {"command_v": v, "command_w": w})


def segments_of(odometry: Array, commands: Array) -> list[Segment]:
    """Return the moving parts of a record; odometry and commands: stamp, v and omega, (n, 3)."""
    channels = ("command_v", "command_w", "v", "w")
    recording = Recording("velocity", [_Recorded(odometry, commands)], channels)
    segmenter = Segmenter(SegmentSettings(still=STILL))
    return list(segmenter.segments(recording.batches(), recording.channels))
