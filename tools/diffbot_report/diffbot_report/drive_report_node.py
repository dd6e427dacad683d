# SPDX-License-Identifier: Apache-2.0
"""The drive_report node: shows a driving run and writes its report.

Ends with the run: status 0 if completed or stopped by the user, 1 if it failed. Controllers whose
parameter `listeners` is 1 wait for this node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from nav_msgs.msg import Odometry
from rich.console import RenderableType

import diffbot_msgs.msg
from diffbot_msgs.msg import (
    AdaptationStatus,
    ControllerState,
    DynamicParameters,
    VelocityParameters,
)
from diffbot_node import parameter
from diffbot_report.controller_topics import CONTROLLERS, JUDGEMENT, TRUTH
from diffbot_report.drive_findings import drive_findings
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.drive_results import live_table
from diffbot_report.inbox import LATEST, Inbox
from diffbot_report.messages import (
    MessageReader,
    controller_state,
    gains_of,
    tells_time,
    true_parameters,
)
from diffbot_report.run_end import RunPhase
from diffbot_report.summary import RunFindings
from diffbot_report.watching_node import ReportParameters, WatchingNode


@dataclass(frozen=True)
class DriveReportParameters(ReportParameters):
    """Parameters of drive_report."""

    controller: str = parameter(
        "backstep_controller", "name of the controller's node", choices=tuple(CONTROLLERS)
    )
    animation: bool = parameter(True, "whether drive.gif is made")


# Wall time for samples in transit at the end, s.
QUIET_TIME = 0.1


class DriveReport(WatchingNode[DriveRecording, DriveReportParameters]):
    """ROS interface of the report of a driving run."""

    def __init__(self) -> None:
        super().__init__("drive_report", DriveReportParameters)
        controller = self.values.controller
        fields = CONTROLLERS[controller]
        self._status_type = getattr(diffbot_msgs.msg, fields.message)
        self._read_status = MessageReader(fields.names).read
        self._read_truth = MessageReader(TRUTH).read
        self._read_judgements = MessageReader(JUDGEMENT).read
        self._newest: Any = None
        self.watch(
            controller,
            DriveRecording(fields, truth_due=self.run.truth_due),
            "diffbot_report.drive_figures",
        )

    def subscribe(self) -> tuple[Inbox, ...]:
        controller = self.values.controller
        self._truth = self.inbox(Odometry, "ground_truth")
        self._states = self.inbox(ControllerState, f"{controller}/state", LATEST)
        self._statuses = self.inbox(self._status_type, f"{controller}/status")
        self._judgements = self.inbox(AdaptationStatus, f"{controller}/adaptation")
        self._true_parameters = [
            self.inbox(kind, f"ground_truth/{name}", LATEST)
            for kind, name in (
                (DynamicParameters, "dynamic_parameters"),
                (VelocityParameters, "velocity_parameters"),
            )
        ]
        return (self._states,)

    def run_name(self) -> str:
        return self.values.name or self.values.controller

    def take_all(self, now: float) -> bool:
        recording = self.recording
        if truth := self._truth.take():
            recording.add_truth(*self._read_truth(truth))
        for message in filter(tells_time, self._states.take()):
            state = controller_state(message)
            recording.add_state(state)
            if state.phase is RunPhase.DRIVING:
                self.real_time.update(state.elapsed, now)
        for parameters in self._true_parameters:
            for message in parameters.take():
                recording.adaptation.true_parameters.add(*true_parameters(message))
        if judged := self._judgements.take():
            counts, gates = [message.count for message in judged], tuple(judged[0].gates)
            recording.adaptation.add(gates, *self._read_judgements(judged), counts)
        if statuses := self._statuses.take():
            self._newest = statuses[-1]
            counts = [message.count for message in statuses]
            recording.add_status(*self._read_status(statuses), counts)
        return bool(statuses or truth or judged)

    def newest(self) -> int | None:
        state = self.recording.state
        if state is None or not state.phase.ended or self.recording.missing():
            return None
        # A controller that does not count its messages.
        quiet = time.monotonic() - self.received >= QUIET_TIME
        return state.stamp if state.statuses or quiet else None

    def table(self) -> RenderableType:
        return live_table(self.recording)

    def findings(self) -> RunFindings:
        status, fields = self._newest, self.recording.fields
        return drive_findings(
            self.recording,
            self.run,
            self.values.controller,
            {} if status is None else gains_of(status, fields),
            self.robot,
            self.values.animation,
        )
