# SPDX-License-Identifier: Apache-2.0
"""The velocity_ident_report node: identifies a robot that velocity_ident excites, and reports it.

Subscribes to `velocity_ident/status` alone. While the robot is excited, what the data tell so far
is shown and published on `~/velocity_parameters`, by the same analysis as at the end. Ends with the
run: status 0 if completed or stopped by the user, 1 if it failed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import RenderableType

from diffbot_description.robot import Pair
from diffbot_ident.excitation.driver_stop import DriverStop
from diffbot_msgs.msg import IdentStatus, VelocityParameters
from diffbot_node import parameter, to_stamp
from diffbot_recordings.velocity_record import (
    NODE,
    VelocityRecord,
    analysed,
    live_table,
    velocity_run_findings,
)
from diffbot_report.inbox import Inbox
from diffbot_report.messages import ident_state, nanoseconds, tells_time
from diffbot_report.run_end import RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_report.summary import RunFindings
from diffbot_report.watching_node import ReportParameters, WatchingNode

if TYPE_CHECKING:  # loads slowly
    from diffbot_recordings.settled import SettledLooks
    from diffbot_recordings.velocity_analysis import AxisAnalysis

# Robot time before the first analysis of a run that goes on, s.
FIRST_LOOK = 15.0


@dataclass(frozen=True)
class VelocityIdentReportParameters(ReportParameters):
    """Parameters of velocity_ident_report."""

    name: str = parameter("ident", "name of the run, for the summary")
    sim: str = parameter(
        "none",
        "simulator, for the summary; others than velocity do not take velocity commands",
        choices=("velocity", "none"),
    )


def answer_of(message: IdentStatus) -> tuple[Pair, DriverStop]:
    """Return the command that a status tells, and when the driver stops by itself."""
    driver = DriverStop(
        message.command_timeout, message.command_timeout_error, message.command_timeout_reason
    )
    v, omega = message.command
    return (v, omega), driver


class LiveAnalysis:
    """Analyses what there is, again and again, in a thread of its own.

    Attributes:
        axes: What the newest result and the one before tell, by axis; empty before the first.
    """

    def __init__(self) -> None:
        self.axes: dict[str, AxisAnalysis] = {}
        self._looks: SettledLooks | None = None
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
        from diffbot_recordings.settled import LOOK_PERIOD, SettledLooks

        self._running, self._due = None, record.elapsed + LOOK_PERIOD
        if running.cancelled() or running.exception() is not None:
            return False  # the analysis at the end tells what is wrong
        self._looks = self._looks or SettledLooks()
        self._looks.add(running.result())
        self.axes, self._due = self._looks.axes, record.elapsed + self._looks.pause
        return bool(self.axes)

    def close(self) -> None:
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
        self._statuses = self.inbox(IdentStatus, f"{NODE}/status")
        return (self._statuses,)

    def take_all(self, now: float) -> bool:
        statuses = list(filter(tells_time, self._statuses.take()))
        for message in statuses:
            self.recording.add(ident_state(message), *answer_of(message))
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
        return live_table(self.recording, self._live.axes)

    def findings(self) -> RunFindings:
        self._live.close()
        self.console.print("identifying", markup=False)
        return velocity_run_findings(self.recording, self.folder, self.robot, self.run.setting)
