"""The drive_report node: shows a driving run and writes its report.

Subscribes to `<controller>/status`, `<controller>/state` and, where a simulator publishes it,
`ground_truth` (nav_msgs/Odometry), `ground_truth/dynamic_parameters` and
`ground_truth/velocity_parameters`; of a controller with live parameters also
`<controller>/adaptation`. Ends with the run: status 0 when it was completed or
stopped by the user, 1 when it failed. Controllers whose parameter `listeners` is 1 wait for it.
"""

from __future__ import annotations

import time
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.subscription import Subscription
from rich.console import RenderableType

import diffbot_msgs.msg
from diffbot_bringup.drive_report.adaptation_recording import FIELDS
from diffbot_bringup.drive_report.controller_conversions import (
    DRIVING,
    controller_sample,
    gains_of,
    true_parameters,
    true_sigma,
)
from diffbot_bringup.drive_report.controller_sample import ControllerSample
from diffbot_bringup.drive_report.controller_topics import CONTROLLERS, TRUTH
from diffbot_bringup.drive_report.drive_drawing import DriveDrawing
from diffbot_bringup.drive_report.drive_recording import DriveRecording
from diffbot_bringup.drive_report.drive_writer import DriveWriter
from diffbot_bringup.drive_report.live_table import live_table
from diffbot_bringup.drive_report.message_reader import MessageReader
from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.samples import DONE, STOPPED
from diffbot_bringup.report.watching_node import WatchingNode
from diffbot_msgs.msg import (
    AdaptationStatus,
    ControllerState,
    DynamicParameters,
    VelocityParameters,
)
from diffbot_node import Parameter

PARAMETERS = (
    Parameter("name", "", "name of the run, for the summary; empty: the controller's"),
    Parameter(
        "controller",
        "backstep_controller",
        "name of the controller's node",
        choices=tuple(CONTROLLERS),
    ),
    Parameter("animation", True, "whether drive.gif is made"),
)

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Once a run is done, samples that are still on their way have this long, s of wall time.
QUIET = 0.1
# Wall time to wait for the first true pose of a simulator, s.
TRUTH_PATIENCE = 3.0


class DriveReport(WatchingNode):
    """ROS side of the report; what it writes is DriveWriter's."""

    def __init__(self) -> None:
        super().__init__("drive_report", PARAMETERS)
        controller = self.values.controller
        self._fields = fields = CONTROLLERS[controller]
        self._type = getattr(diffbot_msgs.msg, fields.message)
        self._truth_topic = self.create_kept(Odometry, "ground_truth")
        self._state_topic = self.create_polled(ControllerState, f"{controller}/state", LATCHED)
        self._adaptation_topic = self.create_kept(AdaptationStatus, f"{controller}/adaptation")
        self._parameters_topic = self.create_kept(
            DynamicParameters, "ground_truth/dynamic_parameters", latched=True
        )
        self._sigma_topic = self.create_kept(
            VelocityParameters, "ground_truth/velocity_parameters", latched=True
        )
        self._status_topic: Subscription | None = None
        drawing = DriveDrawing(self.robot, self.values.animation)
        drawing.start()
        self._status_reader = MessageReader(fields.names)
        self._truth_reader = MessageReader(TRUTH)
        self._adaptation_reader = MessageReader((*FIELDS, "passed"))
        self._recording = DriveRecording(fields, truth_due=self.run.truth_due)
        self._writer = DriveWriter(self.run, controller, self.folder, self.console, drawing)
        self._newest: Any = None
        self._begin = self._received = time.monotonic()
        self.watch(controller, (self._state_topic,))

    def run_name(self) -> str:
        """The parameter, or the controller's name."""
        return self.values.name or self.values.controller

    def take_all(self, now: float) -> None:
        """Take in all samples."""
        recording = self._recording
        truth = self.take_kept(self._truth_topic)
        if truth:
            recording.add_truth(*self._truth_reader.read(truth))
        for message in self.take(self._state_topic):
            recording.add_state(controller_sample(message))
            if recording.state.phase == DRIVING:
                self.pace.update(recording.elapsed, now)
        judged = self._take_adaptation()
        if self._status_topic is None and self._listens(now):
            topic = f"{self.values.controller}/status"
            self._status_topic = self.create_kept(self._type, topic)
        status = self.take_kept(self._status_topic) if self._status_topic else []
        if status:
            self._newest = status[-1]
            counts = [message.count for message in status]
            recording.add_status(*self._status_reader.read(status), counts)
        if status or truth or judged:
            self._received = now

    def _take_adaptation(self) -> bool:
        """Take in what becomes of live parameters, and the true ones; whether some came."""
        recording = self._recording.adaptation
        for message in self.take_kept(self._parameters_topic):
            recording.add_truth(*true_parameters(message))
        for message in self.take_kept(self._sigma_topic):
            recording.add_truth(*true_sigma(message))
        judged = self.take_kept(self._adaptation_topic)
        if judged:
            counts = [message.count for message in judged]
            gates = tuple(judged[0].gates)
            recording.add(gates, *self._adaptation_reader.read(judged), counts)
        return bool(judged)

    def _listens(self, now: float) -> bool:
        """Whether to subscribe to the status, for which a controller may wait (its `listeners`).

        A simulator says its first state again until it is answered; once that has come here, no
        true pose is missed. Discovery takes up to seconds, and in another order for each topic.
        """
        if self.run.simulator and not len(self._recording.truth):
            return now - self._begin >= TRUTH_PATIENCE
        return True

    def state(self) -> ControllerSample | None:
        """The newest state of the controller."""
        return self._recording.state

    def newest(self) -> float | None:
        """The time of the last state, s, once nothing more comes; see RunEnd."""
        state = self._recording.state
        if state is None or state.phase not in (DONE, STOPPED) or self.missing():
            return None
        return state.time if state.statuses or self._is_quiet() else None

    def _is_quiet(self) -> bool:
        """Whether nothing more comes from a controller that does not count its messages."""
        return time.monotonic() - self._received >= QUIET

    def missing(self) -> list[str]:
        """What should have come and did not."""
        return self._recording.missing()

    def received(self) -> float:
        """When the newest sample came."""
        return self._received

    def table(self) -> RenderableType:
        """The newest sample."""
        return live_table(self._recording)

    def write(self, ending: Ending, deadline: float) -> bool:
        """The final table, the pictures and summary.json."""
        gains = {}
        if self._newest is not None:
            gains = gains_of(self._newest, self._fields)
        return self._writer.write(self._recording, gains, ending, self.pace.factor, deadline)
