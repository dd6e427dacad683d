"""The ident_report node: shows an identification run and writes its report.

Subscribes to `ident/dynamic_parameters`, `ident/status`, `ident/verification` and, where a
simulator publishes it, `ground_truth/dynamic_parameters`. Ends with the run: status 0 when it was
completed or stopped by the user, 1 when it failed.
"""

from __future__ import annotations

import time

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rich.console import RenderableType

from diffbot_bringup.report.conversions import (
    parameter_sample,
    stamp_of,
    status_sample,
    verification_sample,
)
from diffbot_bringup.report.drawing import Drawing
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.report_writer import ReportWriter
from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.samples import EXCITING, StatusSample
from diffbot_bringup.report.watching_node import WatchingNode
from diffbot_description import described_model
from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import Parameter

PARAMETERS = (Parameter("name", "ident", "name of the run, for the summary"),)

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class IdentReport(WatchingNode):
    """ROS side of the report; what it shows and writes is ReportWriter's."""

    def __init__(self) -> None:
        super().__init__("ident_report", PARAMETERS)
        self._status_topic = self.create_kept(IdentStatus, "ident/status", raw=True)
        self._truth_topic = self.create_kept(
            DynamicParameters, "ground_truth/dynamic_parameters", latched=True
        )
        self._parameters_topic = self.create_kept(
            DynamicParameters, "ident/dynamic_parameters", raw=True
        )
        self._verification_topic = self.create_polled(Verification, "ident/verification", LATCHED)
        drawing = Drawing()
        drawing.start()
        model = described_model(self.robot)
        self._writer = ReportWriter(self.run, model, self.folder, self.console, drawing)
        self._recording = IdentRecording(truth_due=self.run.truth_due)
        self._newest: bytes | None = None
        self._received = time.monotonic()
        self.watch("ident", (self._status_topic, self._parameters_topic))

    def take_all(self, now: float) -> None:
        """Unpack what the pictures need and, always, the last status."""
        recording = self._recording
        before = recording.statuses, recording.estimates
        for message in self.take_kept(self._truth_topic):
            sample = parameter_sample(message)
            recording.add_truth(sample.time, sample.values)
        batch = self.take_kept(self._status_topic)
        recording.statuses += len(batch)
        for serialized in batch:
            # The last one counts whether or not it is drawn: it may say that the run is over.
            if serialized is batch[-1] or recording.wants_status(stamp_of(serialized)):
                recording.add_status(status_sample(deserialize_message(serialized, IdentStatus)))
        if batch and recording.status.phase == EXCITING:
            self.pace.update(recording.elapsed, now)
        for serialized in self.take_kept(self._parameters_topic):
            self._newest = serialized
            recording.estimates += 1
            recording.newest = stamp_of(serialized)
            if recording.wants_parameters(stamp_of(serialized)):
                self._unpack_newest()
        if (recording.statuses, recording.estimates) != before:
            self._received = now
        # Last, as it is sent before the status that ends the run.
        for message in self.take(self._verification_topic):
            recording.verification = verification_sample(message)

    def state(self) -> StatusSample | None:
        """The newest status."""
        return self._recording.status

    def newest(self) -> float | None:
        """Stamp of the newest estimate, s, once all before has come; see RunEnd."""
        return None if self.missing() else self._recording.newest

    def missing(self) -> list[str]:
        """What should have come and did not."""
        return self._recording.missing()

    def received(self) -> float:
        """When the newest message came."""
        return self._received

    def _unpack_newest(self) -> None:
        if self._newest is not None:
            message = deserialize_message(self._newest, DynamicParameters)
            self._recording.add_parameters(parameter_sample(message))

    def table(self) -> RenderableType:
        """K5..K8 as they are now."""
        self._unpack_newest()
        return self._writer.table(self._recording)

    def write(self, ending: Ending, deadline: float) -> bool:
        """The final table, the pictures and summary.json."""
        return self._writer.write(self._recording, ending, self.pace.factor, deadline)
