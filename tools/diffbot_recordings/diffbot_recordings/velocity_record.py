# SPDX-License-Identifier: Apache-2.0
"""Record of an excited velocity robot, and what a run of `ident` leaves of it.

A command counts from the stamp of the odometry that it answers, as in the controllers, so dead
times include the age of the odometry.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from arc_odometry.number_range import Array
from diffbot_description import Robot, known_robots, save_robot
from diffbot_description.files import finite
from diffbot_description.robot import Pair
from diffbot_ident.excitation.driver_stop import DriverStop
from diffbot_recordings.samples import Batch, RecordingError, write_table
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.verdict import results_table, values_table
from diffbot_report.drawing import Picture
from diffbot_report.page import Page
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_report.summary import RunDescription, RunFindings, repeat_command

if TYPE_CHECKING:  # loads slowly
    from diffbot_recordings.velocity_analysis import AxisAnalysis

NODE = "velocity_ident"
CHANNELS = ("v", "w", "command_v", "command_w")
COLUMNS = ("time", *CHANNELS)
TABLE = "velocities.csv"
# A cut loses the commands before it, s.
LONGEST_SEGMENT = 3600.0


class VelocityRecord:
    """Velocities and commands of a run.

    Attributes:
        state: The latest status of velocity_ident; None before the first.
        driver: When the robot's driver stops by itself, at the end of the run.
        warnings, done, total: See samples.Source.
    """

    name = f"{NODE}/status"

    def __init__(self) -> None:
        self.state: IdentState | None = None
        self.driver = DriverStop()
        self.warnings: list[str] = []
        self.done = self.total = 0
        self._numbers = array("d")

    @property
    def elapsed(self) -> float:
        return self.state.elapsed if self.state else 0.0

    def missing(self) -> list[str]:
        sent = self.state.statuses if self.state else 0
        if self.total == sent:
            return []
        return [f"{sent - self.total} of {sent} messages on {self.name}"]

    def add(self, state: IdentState, command: Pair, driver: DriverStop) -> None:
        """Add a status: the robot's state, and the command that answers it, m/s and rad/s."""
        before, self.state, self.driver = self.elapsed, state, driver
        self.total += 1
        if self.elapsed < before:  # the run has begun again, as its velocities were wrong
            self._numbers = array("d")
        if state.phase is RunPhase.EXCITING:
            self._numbers.extend((state.stamp / NANOSECONDS, *state.velocity, *command))

    def copied(self) -> VelocityRecord:
        copy = VelocityRecord()
        copy.state, copy.driver, copy._numbers = self.state, self.driver, self._numbers[:]
        return copy

    def rows(self) -> Array:
        """Return time, v, omega, and the commands of both, s, m/s and rad/s, shape (n, 5)."""
        return np.array(self._numbers).reshape(-1, len(COLUMNS))

    def batches(self) -> Iterator[Batch]:
        times, v, omega, command_v, command_w = self.rows().T
        yield Batch(times, {"v": v, "w": omega})
        yield Batch(times, {"command_v": command_v, "command_w": command_w})

    def segments(self, segmenter: Segmenter) -> list[Segment]:
        """Return the uninterrupted parts of the run; RecordingError: the data cannot be used."""
        return list(segmenter.segments(self.batches(), CHANNELS))

    def save(self, path: Path) -> str:
        """Write a table for `diffbot identify`; return its name."""
        return write_table(path, COLUMNS, self.rows()).name


def analysed(record: VelocityRecord) -> dict[str, AxisAnalysis]:
    """Return the analyses of the axes, as far as the data go; none if nothing has moved."""
    from diffbot_recordings.findings import analyse_axes

    segments, _ = segments_of(record)
    return analyse_axes(segments) if segments else {}


def segments_of(record: VelocityRecord) -> tuple[list[Segment], str]:
    """Return the uninterrupted parts of the data, and why there are none."""
    from diffbot_recordings.recording_analysis import STILL

    try:
        segments = record.segments(Segmenter(SegmentSettings(still=STILL, longest=LONGEST_SEGMENT)))
    except RecordingError as error:
        return [], str(error)
    return segments, "the robot did not move"


def driver_keys(driver: DriverStop) -> dict[str, Any]:
    """Return what summary.json tells of the driver's own stop."""
    measured = not driver.reason
    return {
        "driver": {
            "stops_by_itself": not driver.runs_on if measured else None,
            "seconds_after_last_command": finite(driver.seconds),
            "error": finite(driver.error),
            "reason": str(driver),
        }
    }


def live_table(record: VelocityRecord, axes: Mapping[str, AxisAnalysis]) -> RenderableType:
    """Return what the data tell so far, or before that the robot's motion."""
    if axes:
        parts: list[RenderableType] = []
        for verdict in (analysis.verdict for analysis in axes.values()):
            parts.append(Text(verdict.summary()))
            parts += [values_table(verdict)] if verdict.values else []
        return Group(*parts)
    table = Table("", "v, m/s", "omega, rad/s", "x, m", "y, m")
    if (state := record.state) is not None:
        numbers = (*state.velocity, *state.position)
        table.add_row("now", *(f"{number:.3f}" for number in numbers))
    return table


def velocity_run_findings(
    record: VelocityRecord, folder: Path, robot: Robot, setting: str
) -> RunFindings:
    """Identify the robot, if the run was completed, and save the data in any case.

    `setting` is that of the run in words.
    """
    from diffbot_recordings.findings import analyse_axes, velocity_findings
    from diffbot_recordings.identify_page import findings_page

    elapsed, missing = record.elapsed, record.missing()
    more = {"data": [record.save(folder / TABLE)]}
    segments, reason = segments_of(record)
    if record.state is None or record.state.phase is not RunPhase.DONE:
        segments, reason = [], "the run was not completed"
    if not segments:
        text = f"not identified: {reason}; the data are in {TABLE}"
        return RunFindings(elapsed, lambda title: f"{title}\n{text}", {}, more, missing, None)
    seconds, driver = sum(segment.duration for segment in segments), record.driver
    findings = velocity_findings(
        analyse_axes(segments),
        f"{seconds:.1f} s of motion in {len(segments)} stretches",
        robot.name,
        f"{NODE}, {setting}",
    )
    said = f"warning: {driver}" if driver.runs_on else str(driver)
    findings = replace(findings, notes=[*findings.notes, said])
    written = findings.write(folder)
    if robot.name not in known_robots():  # for exports, and for driving
        save_robot(robot, folder / f"{robot.name}.yaml")

    def page(run: RunDescription, place: Path, summary: Mapping[str, Any]) -> Page:
        texts = {"Repeat this run": repeat_command(run)}
        return findings_page(findings, summary, place, run.label, texts)

    return RunFindings(
        elapsed,
        lambda title: results_table(title, findings.verdicts),
        findings.content(written),
        {**more, **driver_keys(driver)},
        missing,
        lambda: [Picture(name, draw) for name, draw in findings.pictures().items()],
        page,
    )
