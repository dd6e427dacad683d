# SPDX-License-Identifier: Apache-2.0
"""A stretch: one recording of ordinary driving, and what `identify` finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arc_odometry import WheelGeometry
from arc_odometry.number_range import Array
from diffbot_description import Robot, load_robot
from diffbot_learning.motions import motion_times
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording, open_recording
from diffbot_recordings.samples import POSITIONS, Recording, body_velocity
from diffbot_study.fleet_rows import COLUMNS, FleetRecording, findings_row
from diffbot_study.parquet_store import Row

# Time over which wheel angles become speeds, s.
SPEED_TIME = 0.1

Quantity = tuple[float, float, str]


@dataclass(frozen=True)
class Stretch:
    """What one recording tells.

    Attributes:
        time: Its start, s since 1970.
        values: Value, standard deviation and unit by name, of what may be used.
        row: The columns of a fleet's table, to find changes by.
        motions: Seconds of each kind of motion.
        reason: Why nothing may be used; empty if something may.
    """

    time: float
    values: Mapping[str, Quantity] = field(default_factory=dict)
    row: Row = field(default_factory=dict)
    motions: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


def read_stretch(path: Path, robot: str) -> Stretch:
    """Identify a recording, and measure which motions it holds; refusals are results.

    Args:
        path: Recording of any kind that `identify` reads.
        robot: Name or file of the robot's description.

    Raises:
        ValueError: The robot's description cannot be read.
        OSError: The recording cannot be read.
    """
    description = load_robot(robot)
    time = FleetRecording(path, description.name, robot, {}).time
    options = Options([path], robot=robot)
    try:
        motions = _motions(open_recording(options), description)
        findings = analyse_recording(options)
    except (ValueError, ArithmeticError, EOFError, KeyError) as error:
        return Stretch(time, reason=str(error))
    alone = len(findings.verdicts) == 1
    values = {
        value.name if alone else f"{verdict.subject}: {value.name}": (
            value.value,
            value.std,
            value.unit,
        )
        for verdict in findings.verdicts
        if verdict.usable
        for value in verdict.values
        if value.identifiable and value.std > 0.0
    }
    row = dict.fromkeys(COLUMNS) | findings_row(findings)
    row |= {"time": time, "robot": description.name, "path": None, "notes": None}
    reason = "" if values else "; ".join(verdict.summary() for verdict in findings.verdicts)
    return Stretch(time, values, row, motions, reason)


def _motions(recording: Recording, robot: Robot) -> dict[str, float]:
    limits = (robot.limits.linear_velocity, robot.limits.angular_velocity)
    geometry = robot.geometry
    totals: dict[str, float] = {}
    for batch in recording.batches():
        motion = _body_motion(batch.times, batch.channels, geometry)
        if motion is None:
            continue
        for kind, seconds in motion_times(*motion, limits).items():
            totals[kind] = totals.get(kind, 0.0) + seconds
    return totals


def _body_motion(
    times: Array, channels: Mapping[str, Array], geometry: WheelGeometry
) -> tuple[Array, Array, Array] | None:
    """Return times, v and w of a batch with speeds or wheel angles; None if it has neither."""
    if {"v", "w"} <= {*channels}:
        return times, channels["v"], channels["w"]
    if not {*POSITIONS} <= {*channels} or len(times) < 3:
        return None
    every = max(1, round(SPEED_TIME / max(float(np.median(np.diff(times))), 1e-6)))
    chosen = slice(None, None, every)
    times = times[chosen]
    steps = np.maximum(np.diff(times), 1e-6)
    left, right = (np.diff(channels[name][chosen]) / steps for name in POSITIONS)
    body = body_velocity(geometry, left, right)
    return times[1:], body["v"], body["w"]
