# SPDX-License-Identifier: Apache-2.0
"""The velocity_ident_report node: identifies a robot that velocity_ident excites, and reports it.

Subscribes to `velocity_ident/status` alone. A command counts from the stamp of the odometry message
that it answers, as in the controllers, so dead times include the age of the odometry. While the
robot is excited, what the data tell so far is shown and published on `~/velocity_parameters`, by
the same analysis as at the end. Ends with the run: status 0 if completed or stopped by the user, 1
if it failed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from arc_odometry.number_range import Array
from diffbot_description import known_robots, save_robot
from diffbot_description.files import finite, write_atomically
from diffbot_ident.excitation.driver_stop import DriverStop
from diffbot_msgs.msg import IdentStatus, VelocityParameters
from diffbot_node import parameter, to_stamp
from diffbot_recordings.samples import Batch, RecordingError
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.verdict import results_table, values_table
from diffbot_report.drawing import Picture
from diffbot_report.inbox import Inbox
from diffbot_report.messages import ident_state, nanoseconds
from diffbot_report.page import Page
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_report.summary import RunDescription, RunFindings, repeat_command
from diffbot_report.watching_node import ReportParameters, WatchingNode

if TYPE_CHECKING:  # loads slowly
    from diffbot_recordings.velocity_analysis import AxisAnalysis

NODE = "velocity_ident"
CHANNELS = ("v", "w", "command_v", "command_w")
COLUMNS = ("time", *CHANNELS)
TABLE = "velocities.csv"
# A cut loses the commands before it, s.
LONGEST_SEGMENT = 3600.0
# Robot time before the first analysis of a run that goes on, and between two of them, s.
FIRST_LOOK, LOOK_PERIOD = 15.0, 8.0


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
        self.driver = DriverStop(
            message.command_timeout, message.command_timeout_error, message.command_timeout_reason
        )
        self.total += 1
        if self.elapsed < before:  # the run has begun again, as its velocities were wrong
            self._numbers = array("d")
        if self.state.phase is RunPhase.EXCITING:
            stamp = nanoseconds(message.header.stamp) / NANOSECONDS
            self._numbers.extend((stamp, *self.state.velocity, *message.command))

    def copied(self) -> VelocityRecord:
        """Return a copy of the data."""
        copy = VelocityRecord()
        copy.state, copy.driver, copy._numbers = self.state, self.driver, self._numbers[:]
        return copy

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


class LiveAnalysis:
    """Analyses what there is, again and again, in a thread of its own.

    Attributes:
        axes: The newest result, by axis; empty before the first.
    """

    def __init__(self) -> None:
        self.axes: dict[str, AxisAnalysis] = {}
        self._thread, self._due = ThreadPoolExecutor(1), FIRST_LOOK
        self._running: Future[dict[str, AxisAnalysis]] | None = None

    def look(self, record: VelocityRecord) -> bool:
        """Begin an analysis if one is due; return whether there is a new result."""
        running, state = self._running, record.state
        if running is None:
            excited = state is not None and state.phase is RunPhase.EXCITING
            if excited and record.elapsed >= self._due:
                self._running = self._thread.submit(analysed, record.copied())
            return False
        if not running.done():
            return False
        self._running, self._due = None, record.elapsed + LOOK_PERIOD
        if running.cancelled() or running.exception() is not None:
            return False  # the analysis at the end tells what is wrong
        self.axes = running.result()
        return bool(self.axes)

    def close(self) -> None:
        """Begin no other analysis."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def message_of(axes: Mapping[str, AxisAnalysis], stamp: int) -> VelocityParameters:
    """Return the results of both axes as a message with this stamp, ns."""
    from diffbot_recordings.findings import velocity_parameters

    message, known = VelocityParameters(), velocity_parameters(axes)
    message.header.stamp, message.header.frame_id = to_stamp(stamp / NANOSECONDS), "base_link"
    for name in ("sigma", "covariance_diagonal", "dead_band", "dead_band_variance"):
        getattr(message, name)[:] = known[name]
    message.dead_time[:] = known["dead_time"]
    for i, axis in enumerate(("v", "w")):
        verdict = axes[axis].verdict if axis in axes else None
        late = lag = math.nan
        if verdict is not None and verdict.usable:
            late, lag = verdict.value("dead time").std, verdict.value("time constant").std
        message.dead_time_variance[i], message.time_constant_variance[i] = late**2, lag**2
        if verdict is None or not verdict.usable:
            message.reason[i] = "no data" if verdict is None else verdict.summary()
    return message


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


class VelocityIdentReport(WatchingNode[VelocityRecord, VelocityIdentReportParameters]):
    """ROS interface of the report of a velocity robot's identification."""

    VERIFYING = "measuring when the driver stops by itself"

    def __init__(self) -> None:
        super().__init__("velocity_ident_report", VelocityIdentReportParameters)
        self._newest: int | None = None
        self._live = LiveAnalysis()
        self._known_topic = self.create_publisher(VelocityParameters, "~/velocity_parameters", 10)
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
        # Beside a simulator in the same process, which does not wait, there is no use in it.
        if not self.composed and self._live.look(self.recording) and self._newest is not None:
            self._known_topic.publish(message_of(self._live.axes, self._newest))
        return bool(statuses)

    def newest(self) -> int | None:
        """Return the stamp of the latest status, ns, once all were received; see RunEnd."""
        return None if self.recording.missing() else self._newest

    def table(self) -> RenderableType:
        """Return what the data tell so far, or before that the robot's motion."""
        if axes := self._live.axes:
            parts: list[RenderableType] = []
            for verdict in (analysis.verdict for analysis in axes.values()):
                parts += [Text(verdict.summary()), values_table(verdict)]
            return Group(*parts)
        table = Table("", "v, m/s", "omega, rad/s", "x, m", "y, m")
        if (state := self.recording.state) is not None:
            numbers = (*state.velocity, *state.position)
            table.add_row("now", *(f"{number:.3f}" for number in numbers))
        return table

    def findings(self) -> RunFindings:
        """Identify the robot, if the run was completed; the data are saved in any case."""
        from diffbot_recordings.findings import analyse_axes, velocity_findings
        from diffbot_recordings.identify_page import findings_page

        self._live.close()
        elapsed, missing = self.recording.elapsed, self.recording.missing()
        more = {"data": [self.recording.save(self.folder / TABLE)]}
        segments, reason = self._segments()
        if not segments:
            text = f"not identified: {reason}; the data are in {TABLE}"
            return RunFindings(elapsed, lambda title: f"{title}\n{text}", {}, more, missing, None)
        self.console.print("identifying", markup=False)
        seconds, driver = sum(segment.duration for segment in segments), self.recording.driver
        findings = velocity_findings(
            analyse_axes(segments),
            f"{seconds:.1f} s of motion in {len(segments)} stretches",
            self.robot.name,
            f"{NODE}, {self.run.setting}",
        )
        said = f"warning: {driver}" if driver.runs_on else str(driver)
        findings = replace(findings, notes=[*findings.notes, said])
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
            {**more, **driver_keys(driver)},
            missing,
            lambda: [Picture(name, draw) for name, draw in findings.pictures().items()],
            page,
        )

    def _segments(self) -> tuple[list[Segment], str]:
        """Return the data of a completed run, or no data and the reason."""
        state = self.recording.state
        if state is None or state.phase is not RunPhase.DONE:
            return [], "the run was not completed"
        return segments_of(self.recording)
