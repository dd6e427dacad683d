# SPDX-License-Identifier: Apache-2.0
"""A stretch: one recording of ordinary driving, and what `identify` finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arc_odometry.number_range import Array
from diffbot_description import Robot, load_robot
from diffbot_learning.driven_sizes import StretchValue, driven_sizes, read_driven
from diffbot_learning.motions import motion_times
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording
from diffbot_recordings.samples import body_velocity
from diffbot_recordings.sensor_readings import WheelTurns
from diffbot_study.fleet_rows import COLUMNS, FleetRecording, findings_row
from diffbot_study.parquet_store import Row

# Time over which wheel angles become speeds, s.
SPEED_TIME = 0.1


@dataclass(frozen=True)
class Stretch:
    """What one recording tells.

    Attributes:
        time: Its start, s since 1970.
        values: By name, of what may be used.
        row: The columns of a fleet's table, to find changes by.
        motions: Seconds of each kind of motion.
        reason: Why nothing may be used; empty if something may.
    """

    time: float
    values: Mapping[str, StretchValue] = field(default_factory=dict)
    row: Row = field(default_factory=dict)
    motions: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


def read_stretch(path: Path, robot: str, tf: tuple[str, str] | None = None) -> Stretch:
    """Identify a recording, and measure which motions it holds; refusals are results.

    Args:
        path: Recording of any kind that `identify` reads.
        robot: Name or file of the robot's description.
        tf: Frames (fixed, of the robot) whose transform is the pose source.

    Raises:
        ValueError: The robot's description cannot be read.
        OSError: The recording cannot be read.
    """
    description = load_robot(robot)
    time = FleetRecording(path, description.name, robot, {}).time
    sizes: dict[str, StretchValue] = {}
    motions: dict[str, float] = {}
    try:
        readings = read_driven(path, description, tf)
        motions = driven_motions(readings.wheels, description)
        sizes, no_sizes = driven_sizes(readings, description.geometry)
    except (ValueError, ArithmeticError, EOFError, KeyError) as error:
        no_sizes = str(error)
    row = dict.fromkeys(COLUMNS)
    values: dict[str, StretchValue] = {}
    reason = no_sizes
    try:
        findings = analyse_recording(Options([path], robot=robot))
    except (ValueError, ArithmeticError, EOFError, KeyError) as error:
        reason = str(error)
    else:
        alone = len(findings.verdicts) == 1
        values = {
            value.name if alone else f"{verdict.subject}: {value.name}": StretchValue(
                value.value, value.std, value.unit
            )
            for verdict in findings.verdicts
            if verdict.usable
            for value in verdict.values
            if value.identifiable and value.std > 0.0
        }
        row |= findings_row(findings)
        reason = "; ".join(verdict.summary() for verdict in findings.verdicts)
    row |= {"time": time, "robot": description.name, "path": None, "notes": None}
    values |= sizes
    return Stretch(time, values, row, motions, "" if values else reason)


def driven_motions(wheels: WheelTurns, robot: Robot) -> dict[str, float]:
    """Return the seconds of each kind of motion of wheels."""
    if len(wheels.stamps) < 3:
        return {}
    limits = (robot.limits.linear_velocity, robot.limits.angular_velocity)
    every = max(1, round(SPEED_TIME / max(float(np.median(np.diff(wheels.stamps))), 1e-6)))
    times, *angles = (column[::every] for column in (wheels.stamps, wheels.left, wheels.right))
    steps: Array = np.maximum(np.diff(times), 1e-6)
    left, right = (np.diff(angle) / steps for angle in angles)
    body = body_velocity(robot.geometry, left, right)
    return motion_times(times[1:], body["v"], body["w"], limits)
