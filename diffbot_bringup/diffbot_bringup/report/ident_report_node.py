"""The ident_report node: shows an identification run and writes its report.

Subscribes to `ident/dynamic_parameters`, `ident/status` and, where a simulator publishes it,
`ground_truth/dynamic_parameters`. Ends with the run: status 0 when it was completed or stopped by
the user, 1 when it failed.
"""

from __future__ import annotations

import time
from datetime import datetime

from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from arc_odometry import WheelGeometry
from diffbot_bringup.report.arguments import parse_arguments
from diffbot_bringup.report.conversions import parameter_sample, stamp_of, status_sample
from diffbot_bringup.report.drawing import Drawing
from diffbot_bringup.report.pace import Pace
from diffbot_bringup.report.polled_node import PolledNode
from diffbot_bringup.report.progress import Progress, make_console, make_display
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.report_writer import ReportWriter
from diffbot_bringup.report.run_end import FAILED, Ending, RunEnd
from diffbot_bringup.report.samples import DONE, EXCITING, STOPPED, WAITING
from diffbot_bringup.report.summary import RunDescription
from diffbot_description import load_robot
from diffbot_msgs.msg import DynamicParameters, IdentStatus
from diffbot_node import Parameter, declare, results_folder

PARAMETERS = (
    Parameter("name", "ident", "name of the run, for the summary"),
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter("sim", "", "simulator, for the summary; empty or none: a real robot"),
    Parameter("seed", -1, "seed of the run, for the summary; -1: unknown", minimum=-1),
    Parameter("results", "", "folder for the report; empty: results/<date>-<name>"),
    Parameter("arguments", "", "launch arguments, for the summary: JSON or name:=value ..."),
    Parameter(
        "patience", 20.0, "wall time to wait for the ident node, s; 0: for ever", minimum=0.0
    ),
    Parameter("refresh_rate", 4.0, "updates of the view, 1/s of wall time", above=0.0, maximum=5.0),
)

POLL_PERIOD = 0.02  # s of wall time
# Lasts 0.1 s at 5000 messages per second; loading matplotlib can hold a poll up that long.
QUEUE = QoSProfile(depth=500, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Wall time for pictures after a run's own end and after a signal, s.
DRAWING_TIME, HURRIED_DRAWING_TIME = 30.0, 0.25
# Wall time after a signal for the ident node, which may have got it too, to say how it ended, s.
LAST_WORDS_TIME = 0.4


class IdentReport(PolledNode):
    """ROS side of the report; what it shows and writes is ReportWriter's."""

    def __init__(self) -> None:
        super().__init__("ident_report")
        self.exit_code: int | None = None
        values = declare(self, PARAMETERS)
        robot = load_robot(values.robot)
        wheels = robot.wheels
        started = datetime.now().astimezone()
        run = RunDescription(
            name=values.name,
            robot=robot.name,
            sim=values.sim,
            seed=values.seed if values.seed >= 0 else None,
            arguments=parse_arguments(values.arguments),
            started=started.isoformat(timespec="seconds"),
        )
        directory = results_folder(
            values.results or f"results/{started:%Y%m%d-%H%M%S}-{values.name}"
        )
        # The ident node waits for its listeners, so listen first and load the rest meanwhile.
        self._status_topic = self.create_polled(IdentStatus, "ident/status", QUEUE, raw=True)
        self._truth_topic = self.create_polled(
            DynamicParameters, "ground_truth/dynamic_parameters", LATCHED
        )
        self._parameters_topic = self.create_polled(
            DynamicParameters, "ident/dynamic_parameters", QUEUE, raw=True
        )
        drawing = Drawing()
        drawing.start()
        console = make_console()
        geometry = WheelGeometry(wheels.radius, wheels.radius, wheels.separation)
        self._writer = ReportWriter(run, geometry, directory, console, drawing)
        self._recording = IdentRecording()
        self._end, self._pace = RunEnd(values.patience), Pace()
        self._display = make_display(console)
        self._view_period = 1.0 / values.refresh_rate
        self._viewed = self._counted = -1e9
        self._senders = 0
        self._newest: bytes | None = None
        self._reported = False
        self._broken = ""
        self.create_timer(POLL_PERIOD, self._poll, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _poll(self) -> None:
        if self._reported:
            return
        try:
            self._look(time.monotonic())
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _look(self, now: float) -> None:
        self._take(now)
        view = now - self._viewed >= self._view_period
        if now - self._counted >= 0.2:
            self._counted = now
            self._senders = self._count_senders()
        ending = self._end.update(
            now, self._recording.status, self._parameters_time(), self._senders
        )
        if ending is not None:
            self._report(ending, now + DRAWING_TIME)
        elif view:
            self._viewed = now
            self._show(now)

    def _count_senders(self) -> int:
        topics = (self._status_topic, self._parameters_topic)
        return sum(self.count_publishers(topic.topic_name) for topic in topics)

    def _take(self, now: float) -> None:
        recording = self._recording
        for message in self.take(self._truth_topic):
            sample = parameter_sample(message)
            recording.add_truth(sample.time, sample.values)
        batch = list(self.take(self._status_topic))
        for serialized in batch:
            # The last one counts whether or not it is drawn: it may say that the run is over.
            if serialized is batch[-1] or recording.wants_status(stamp_of(serialized)):
                recording.add_status(status_sample(deserialize_message(serialized, IdentStatus)))
        if batch and recording.status.phase == EXCITING:
            self._pace.update(recording.elapsed, now)
        for serialized in self.take(self._parameters_topic):
            self._newest = serialized
            if recording.wants_parameters(stamp_of(serialized)):
                self._unpack_newest()

    def _parameters_time(self) -> float | None:
        return None if self._newest is None else stamp_of(self._newest)

    def _unpack_newest(self) -> None:
        if self._newest is not None:
            message = deserialize_message(self._newest, DynamicParameters)
            self._recording.add_parameters(parameter_sample(message))

    def _show(self, now: float) -> None:
        self._unpack_newest()
        status = self._recording.status
        note = "waiting for the ident node"
        if status is not None:
            note = status.message if status.phase == WAITING else ""
        progress = Progress(
            self._writer.label,
            status.elapsed if status else 0.0,
            status.duration if status else 0.0,
            self._pace.factor,
            note,
        )
        self._display.show(progress, self._writer.table(self._recording), now)

    def _report(self, ending: Ending, deadline: float) -> None:
        self._reported = True
        self._show(time.monotonic())
        self._display.close()
        self._writer.write(self._recording, ending, self._pace.factor, deadline)
        self.exit_code = 1 if ending.outcome == FAILED else 0

    def close(self) -> None:
        """On every way out: leave the terminal in order, and a report of what there is."""
        if self._reported:
            return
        if self._broken:
            self._display.close()
            ending = Ending(FAILED, self._broken)
        else:
            ending = self._ending_by_signal()
        self._report(ending, time.monotonic() + HURRIED_DRAWING_TIME)

    def _ending_by_signal(self) -> Ending:
        """What to make of a signal: the user's, or that of a launch that ends a failed run."""
        deadline = time.monotonic() + LAST_WORDS_TIME
        while True:
            now = time.monotonic()
            self._take(now)
            status = self._recording.status
            last = now >= deadline or (status is not None and status.phase in (DONE, STOPPED))
            if last:
                senders = self._count_senders()
                return self._end.update(
                    now, status, self._parameters_time(), senders, interrupted=True
                )
            time.sleep(POLL_PERIOD)
