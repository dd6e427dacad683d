# SPDX-License-Identifier: Apache-2.0
"""The ident_report node: shows an identification run and writes its report.

Ends with the run: status 0 if completed or stopped by the user, 1 if it failed.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import RenderableType

from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import parameter
from diffbot_report.ident_findings import identification_findings
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import identification_table
from diffbot_report.inbox import LATEST, Inbox
from diffbot_report.messages import (
    estimate_of,
    ident_state,
    nanoseconds,
    tells_time,
    true_parameters,
    verdict_of,
    verification_of,
)
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
        self._newest: DynamicParameters | None = None
        self.watch(
            "ident",
            IdentRecording(truth_due=self.run.truth_due),
            "diffbot_report.ident_figures",
        )

    def subscribe(self) -> tuple[Inbox, ...]:
        self._statuses = self.inbox(IdentStatus, "ident/status")
        self._estimates = self.inbox(DynamicParameters, "ident/dynamic_parameters")
        self._truth = self.inbox(DynamicParameters, "ground_truth/dynamic_parameters", LATEST)
        self._verification = self.inbox(Verification, "ident/verification", LATEST)
        return self._statuses, self._estimates

    def take_all(self, now: float) -> bool:
        recording = self.recording
        for message in self._truth.take():
            recording.true_parameters.add(*true_parameters(message))
        statuses = list(filter(tells_time, self._statuses.take()))
        recording.statuses += len(statuses)
        for message in statuses:
            # It may report the end.
            if message is statuses[-1] or recording.wants_state(_stamp(message)):
                recording.add_state(ident_state(message))
        if statuses and recording.state and recording.state.phase is RunPhase.EXCITING:
            self.real_time.update(recording.elapsed, now)
        estimates = self._estimates.take()
        recording.estimates += len(estimates)
        for message in estimates:
            self._newest, recording.newest = message, _stamp(message)
            if recording.wants_estimate(recording.newest):
                self._read_newest()
        for message in self._verification.take():
            recording.verification = verification_of(message)
        return bool(statuses or estimates)

    def _read_newest(self) -> None:
        if (message := self._newest) is not None:
            self.recording.add_estimate(_stamp(message), estimate_of(message), verdict_of(message))

    def newest(self) -> int | None:
        return None if self.recording.missing() else self.recording.newest

    def table(self) -> RenderableType:
        self._read_newest()
        return identification_table(self.recording, self.robot, self.console.width)

    def findings(self) -> RunFindings:
        return identification_findings(
            self.recording, self.robot, self.console.width, self.run.setting
        )


def _stamp(message: IdentStatus | DynamicParameters) -> int:
    return nanoseconds(message.header.stamp)
