# SPDX-License-Identifier: Apache-2.0
"""The ident_report node: shows an identification run and writes its report.

Subscribes to `ident/dynamic_parameters`, `ident/status`, `ident/verification` and, if a simulator
publishes it, `ground_truth/dynamic_parameters`. Ends with the run: status 0 when it was completed
or stopped by the user, 1 when it failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rich.console import RenderableType

from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import KEPT_LATCHED, parameter
from diffbot_report.ident_findings import identification_findings
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import identification_table
from diffbot_report.messages import (
    estimate_of,
    ident_state,
    nanoseconds,
    true_parameters,
    verdict_of,
    verification_of,
)
from diffbot_report.polled_node import raw_stamp
from diffbot_report.run_end import RunPhase
from diffbot_report.summary import RunFindings
from diffbot_report.watching_node import ReportParameters, WatchingNode


@dataclass(frozen=True)
class IdentReportParameters(ReportParameters):
    """Parameters of ident_report."""

    name: str = parameter("ident", "name of the run, for the summary")


class IdentReport(WatchingNode[IdentRecording, IdentReportParameters]):
    """ROS interface of the report of an identification."""

    def __init__(self) -> None:
        super().__init__("ident_report", IdentReportParameters)
        self._model = self.robot.model
        self._newest: bytes | None = None
        self.watch(
            "ident",
            IdentRecording(truth_due=self.run.truth_due),
            "diffbot_report.ident_figures",
        )

    def subscribe(self) -> tuple[Subscription[Any], ...]:
        """Subscribe to the topics of ident and to the true parameters."""
        self._status_topic = self.create_kept(IdentStatus, "ident/status", raw=True)
        self._truth_topic = self.create_kept(
            DynamicParameters, "ground_truth/dynamic_parameters", latched=True
        )
        self._parameters_topic = self.create_kept(
            DynamicParameters, "ident/dynamic_parameters", raw=True
        )
        self._verification_topic = self.create_polled(
            Verification, "ident/verification", KEPT_LATCHED
        )
        return self._status_topic, self._parameters_topic

    def take_all(self, now: float) -> bool:
        """Deserialise the messages that the pictures need and, always, the last status."""
        recording = self.recording
        for message in self.take_kept(self._truth_topic):
            recording.true_parameters.add(*true_parameters(message))
        statuses = self.take_kept(self._status_topic)
        recording.statuses += len(statuses)
        for serialized in statuses:
            # Always read the last one: it may report the end of the run.
            if serialized is statuses[-1] or recording.wants_state(_stamp(serialized)):
                recording.add_state(ident_state(deserialize_message(serialized, IdentStatus)))
        if statuses and recording.state and recording.state.phase is RunPhase.EXCITING:
            self.real_time.update(recording.elapsed, now)
        estimates = self.take_kept(self._parameters_topic)
        recording.estimates += len(estimates)
        for serialized in estimates:
            self._newest, recording.newest = serialized, _stamp(serialized)
            if recording.wants_estimate(recording.newest):
                self._unpack_newest()
        # Take this last: it is sent before the status that ends the run.
        for message in self.take(self._verification_topic):
            recording.verification = verification_of(message)
        return bool(statuses or estimates)

    def _unpack_newest(self) -> None:
        if self._newest is not None:
            message = deserialize_message(self._newest, DynamicParameters)
            stamp = nanoseconds(message.header.stamp)
            self.recording.add_estimate(stamp, estimate_of(message), verdict_of(message))

    def newest(self) -> int | None:
        """Return the latest estimate's stamp, ns, once all before were received; see RunEnd."""
        return None if self.recording.missing() else self.recording.newest

    def table(self) -> RenderableType:
        """Return a table of the current K5..K8."""
        self._unpack_newest()
        return identification_table(self.recording, self._model, self.console.width)

    def findings(self) -> RunFindings:
        """Return K5..K8 at the end, and the quantities derived from them."""
        return identification_findings(
            self.recording, self.robot, self.console.width, self.run.setting
        )


def _stamp(serialized: bytes) -> int:
    return nanoseconds(raw_stamp(serialized))
