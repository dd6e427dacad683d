# SPDX-License-Identifier: Apache-2.0
"""The velocity_ident_report node: identifies a robot that velocity_ident excites, and reports it.

Subscribes to `velocity_ident/status` alone. A command counts from the stamp of the odometry message
that it answers, as in the controllers, so dead times include the age of the odometry. Ends with the
run: status 0 if completed or stopped by the user, 1 if it failed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from arc_odometry.number_range import Array
from diffbot_description import known_robots, save_robot
from diffbot_description.files import write_atomically
from diffbot_msgs.msg import IdentStatus
from diffbot_node import parameter
from diffbot_recordings.samples import Batch, RecordingError
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.verdict import results_table
from diffbot_report.drawing import Picture
from diffbot_report.inbox import Inbox
from diffbot_report.messages import ident_state, nanoseconds
from diffbot_report.page import Page
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_report.summary import RunDescription, RunFindings, repeat_command
from diffbot_report.watching_node import ReportParameters, WatchingNode

NODE = "velocity_ident"
CHANNELS = ("v", "w", "command_v", "command_w")
COLUMNS = ("time", *CHANNELS)
TABLE = "velocities.csv"
# A cut loses the commands before it, s.
LONGEST_SEGMENT = 3600.0


@dataclass(frozen=True)
class VelocityIdentReportParameters(ReportParameters):
    """Parameters of velocity_ident_report."""

    name: str = parameter("ident", "name of the run, for the summary")
    sim: str = parameter(
        "none",
        "simulator, for the summary; others than velocity do not take velocity commands",
        choices=("velocity", "none"),
    )


class VelocityRecord:
    """Velocities and commands of a run.

    Attributes:
        state: The latest status of velocity_ident; None before the first.
        warnings, done, total: See samples.Source.
    """

    name = f"{NODE}/status"

    def __init__(self) -> None:
        self.state: IdentState | None = None
        self.warnings: list[str] = []
        self.done = self.total = 0
        self._numbers = array("d")

    @property
    def elapsed(self) -> float:
        """Robot time since the excitation began, s."""
        return self.state.elapsed if self.state else 0.0

    def missing(self) -> list[str]:
        """Return sentences on messages that were not received."""
        sent = self.state.statuses if self.state else 0
        if self.total == sent:
            return []
        return [f"{sent - self.total} of {sent} messages on {self.name}"]

    def add(self, message: IdentStatus) -> None:
        """Add a status."""
        before, self.state = self.elapsed, ident_state(message)
        self.total += 1
        if self.elapsed < before:  # the run has begun again, as its velocities were wrong
            self._numbers = array("d")
        if self.state.phase is RunPhase.EXCITING:
            stamp = nanoseconds(message.header.stamp) / NANOSECONDS
            self._numbers.extend((stamp, *self.state.velocity, *message.command))

    def rows(self) -> Array:
        """Return time, v, omega, and the commands of both, s, m/s and rad/s, shape (n, 5)."""
        return np.array(self._numbers).reshape(-1, len(COLUMNS))

    def batches(self) -> Iterator[Batch]:
        """Yield the velocities, and the commands that answered them."""
        times, v, omega, command_v, command_w = self.rows().T
        yield Batch(times, {"v": v, "w": omega})
        yield Batch(times, {"command_v": command_v, "command_w": command_w})

    def segments(self, segmenter: Segmenter) -> list[Segment]:
        """Return the uninterrupted parts of the run.

        Raises:
            RecordingError: The data cannot be used.
        """
        return list(segmenter.segments(self.batches(), CHANNELS))

    def save(self, path: Path) -> str:
        """Write a table for `diffbot identify`; return its name."""

        def write(target: Path) -> None:
            np.savetxt(target, self.rows(), "%.17g", ",", header=",".join(COLUMNS), comments="")

        return write_atomically(path, write).name


class VelocityIdentReport(WatchingNode[VelocityRecord, VelocityIdentReportParameters]):
    """ROS interface of the report of a velocity robot's identification."""

    def __init__(self) -> None:
        super().__init__("velocity_ident_report", VelocityIdentReportParameters)
        self._newest: int | None = None
        self.watch(NODE, VelocityRecord(), "diffbot_report.figure_style")

    def subscribe(self) -> tuple[Inbox, ...]:
        """Subscribe to the status."""
        self._statuses = self.inbox(IdentStatus, f"{NODE}/status")
        return (self._statuses,)

    def take_all(self, now: float) -> bool:
        """Read all statuses."""
        statuses = self._statuses.take()
        for message in statuses:
            self.recording.add(message)
            self._newest = nanoseconds(message.header.stamp)
        if statuses and self.recording.elapsed > 0.0:
            self.real_time.update(self.recording.elapsed, now)
        return bool(statuses)

    def newest(self) -> int | None:
        """Return the stamp of the latest status, ns, once all were received; see RunEnd."""
        return None if self.recording.missing() else self._newest

    def table(self) -> RenderableType:
        """Return the robot's motion, as the identification is made at the end."""
        table = Table("", "v, m/s", "omega, rad/s", "x, m", "y, m")
        if (state := self.recording.state) is not None:
            numbers = (*state.velocity, *state.position)
            table.add_row("now", *(f"{number:.3f}" for number in numbers))
        return table

    def findings(self) -> RunFindings:
        """Identify the robot, if the run was completed; the data are saved in any case."""
        from diffbot_recordings.findings import analyse_axes, velocity_findings
        from diffbot_recordings.identify_page import findings_page

        elapsed, missing = self.recording.elapsed, self.recording.missing()
        more = {"data": [self.recording.save(self.folder / TABLE)]}
        segments, reason = self._segments()
        if not segments:
            text = f"not identified: {reason}; the data are in {TABLE}"
            return RunFindings(elapsed, lambda title: f"{title}\n{text}", {}, more, missing, None)
        self.console.print("identifying", markup=False)
        seconds = sum(segment.duration for segment in segments)
        findings = velocity_findings(
            analyse_axes(segments),
            f"{seconds:.1f} s of motion in {len(segments)} stretches",
            self.robot.name,
            f"{NODE}, {self.run.setting}",
        )
        written = findings.write(self.folder)
        if self.robot.name not in known_robots():  # for exports, and for driving
            save_robot(self.robot, self.folder / f"{self.robot.name}.yaml")

        def page(run: RunDescription, folder: Path, summary: Mapping[str, Any]) -> Page:
            texts = {"Repeat this run": repeat_command(run)}
            return findings_page(findings, summary, folder, run.label, texts)

        return RunFindings(
            elapsed,
            lambda title: results_table(title, findings.verdicts),
            findings.content(written),
            more,
            missing,
            lambda: [Picture(name, draw) for name, draw in findings.pictures().items()],
            page,
        )

    def _segments(self) -> tuple[list[Segment], str]:
        """Return the data of a completed run, or no data and the reason."""
        from diffbot_recordings.recording_analysis import STILL

        state = self.recording.state
        if state is None or state.phase is not RunPhase.DONE:
            return [], "the run was not completed"
        settings = SegmentSettings(still=STILL, longest=LONGEST_SEGMENT)
        try:
            return self.recording.segments(Segmenter(settings)), "the robot did not move"
        except RecordingError as error:
            return [], str(error)
