"""The drive_report node: shows a driving run and writes its report.

Subscribes to `<controller>/status`, `<controller>/state` and, where a simulator publishes it,
`ground_truth` (nav_msgs/Odometry), `ground_truth/dynamic_parameters` and
`ground_truth/velocity_parameters`; of a controller with live parameters also
`<controller>/adaptation`. Ends with the run: status 0 when it was completed or
stopped by the user, 1 when it failed. Controllers whose parameter `listeners` is 1 wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.subscription import Subscription
from rich.console import Console, RenderableType
from rich.text import Text

import diffbot_msgs.msg
from diffbot_description import Robot
from diffbot_msgs.msg import (
    AdaptationStatus,
    ControllerState,
    DynamicParameters,
    VelocityParameters,
)
from diffbot_node import Parameter, seconds
from diffbot_report import ident_recording as samples
from diffbot_report.controller_topics import (
    CONTROLLERS,
    TORQUE,
    TRUTH,
    VELOCITY,
    ControllerSample,
    StatusFields,
)
from diffbot_report.drawing import BackgroundDrawing, Picture
from diffbot_report.drive_recording import FIELDS, AdaptationRun, DriveRecording, DriveRun
from diffbot_report.drive_results import (
    DriveResults,
    adaptation_keys,
    changes_of,
    controller_keys,
    drive_keys,
    drive_results,
)
from diffbot_report.drive_table import live_table, results_table
from diffbot_report.ident_recording import DONE, STOPPED
from diffbot_report.robot_outline import RobotOutline
from diffbot_report.run_end import Ending
from diffbot_report.summary import RunDescription, hand_over, headline, run_summary
from diffbot_report.watching_node import WatchingNode

# ---
# From a controller's messages to the samples and gains of a report.

NANOSECONDS = 1_000_000_000
DRIVING = "driving"
PHASES = {
    ControllerState.WAITING: samples.WAITING,
    ControllerState.DRIVING: DRIVING,
    ControllerState.DONE: samples.DONE,
    ControllerState.STOPPED: samples.STOPPED,
}


def controller_sample(message: ControllerState) -> ControllerSample:
    """The sample of a message."""
    return ControllerSample(
        time=seconds(message.header.stamp),
        phase=PHASES.get(message.phase, samples.STOPPED),
        message=message.message,
        elapsed=message.elapsed,
        duration=message.duration,
        refused=message.refused,
        law=message.law,
        torque_limit=message.torque_limit,
        parameters=(message.k5, message.k6, message.k7, message.k8),
        parameters_source=message.parameters_source,
        statuses=message.statuses,
        judgements=message.judgements,
    )


def true_parameters(message: DynamicParameters) -> tuple[int, tuple[float, ...]]:
    """Stamp in ns and K5..K8 of a simulator's truth."""
    return nanoseconds(message.header.stamp), (message.k5, message.k6, message.k7, message.k8)


def true_sigma(message: VelocityParameters) -> tuple[int, tuple[float, ...]]:
    """Stamp in ns and sigma1..sigma4 of a simulator's truth."""
    return nanoseconds(message.header.stamp), tuple(message.sigma.tolist())


def nanoseconds(stamp: Time) -> int:
    """A stamp in ns."""
    return stamp.sec * NANOSECONDS + stamp.nanosec


def gains_of(status: Any, fields: StatusFields) -> dict[str, Any]:
    """The gains in a status message, by the names of the summary."""
    found = {}
    for key, path in fields.gains.items():
        value = status
        for name in path.split("."):
            value = getattr(value, name)
        found[key] = np.asarray(value, float).tolist()
    return found


# ---
# Stamps and numbers of a topic's messages, a batch at a time.


class MessageReader:
    """Reads chosen fields of messages that have a header.

    Args:
        names: numbers or arrays of numbers of fixed size, for example "set_point.x".
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._fields = [attrgetter(name) for name in names]

    def read(self, messages: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Stamps in ns, shape (n,), and the fields side by side, shape (n, columns); n > 0."""
        stamps = [m.header.stamp.sec * NANOSECONDS + m.header.stamp.nanosec for m in messages]
        rows = [np.hstack([field(m) for field in self._fields]) for m in messages]
        return np.array(stamps, np.int64), np.array(rows, float)


# ---
# Drawing the pictures and the animation of a driving run.

# Wall time that an animation may take, s.
ANIMATION_TIME = 6.0


class DriveDrawing(BackgroundDrawing):
    """PNGs and drive.gif.

    Args:
        robot: its shape and colours.
        animation: whether drive.gif is made.
    """

    def __init__(self, robot: Robot, animation: bool = True) -> None:
        super().__init__()
        self._robot = robot
        self._animation = animation

    def load(self) -> None:
        """Import what draws, and warm it up."""
        from diffbot_report import adaptation_figures as adaptation_figure
        from diffbot_report import adaptation_figures as sigma_figure
        from diffbot_report import animation as movie
        from diffbot_report import drive_figures
        from diffbot_report import drive_figures as path_figure
        from diffbot_report import drive_figures as pose_figure
        from diffbot_report import ident_figures as figures

        figures.warm_up()
        self._path, self._pose, self._time = path_figure, pose_figure, drive_figures
        self._adaptation, self._sigma = adaptation_figure, sigma_figure
        self._save, self._movie = figures.save_figure, movie

    def draw(
        self,
        run: DriveRun,
        recording: DriveRecording,
        about: RunDescription,
        directory: Path,
        deadline: float,
    ) -> Iterator[Path]:
        """Write the files into the directory, one after the other; yields their paths.

        Args:
            run: at least two samples.
            recording: the same run, for the controller's state.
            about: what was run.
            directory: where to.
            deadline: time.monotonic() after which no further one is begun, s.
        """
        if not self.ready(deadline):
            return
        outline = RobotOutline.of(self._robot)
        results = drive_results(run, recording)
        state = recording.state
        law = f", {state.law}" if state and state.law else ""
        title = f"{about.name}{law} ({about.setting})"
        limits = recording.limits
        pictures = [
            Picture(f"{name}.png", lambda path, m=make: self._save(m(), path))
            for name, make in self._figures(run, results, recording, outline, title).items()
        ]
        if self._animation and len(run.known_poses):
            pictures.append(
                Picture(
                    "drive.gif",
                    lambda path: self._movie.write_movie(path, run, self._robot, limits, title),
                    ANIMATION_TIME,
                )
            )
        yield from self.write(pictures, directory, deadline)

    def _figures(
        self,
        run: DriveRun,
        results: DriveResults,
        recording: DriveRecording,
        outline: RobotOutline,
        title: str,
    ) -> dict[str, Callable[[], Any]]:
        symbol, commanded = recording.fields.velocity_name, recording.fields.commanded
        colour = self._robot.appearance.body
        make: dict[str, Callable[[], Any]] = {}
        if len(run.known_poses):
            make["path"] = lambda: self._path.path_figure(run, outline, colour, title)
        if run.has_pose_reference:
            make["pose"] = lambda: self._pose.pose_figure(run, results.metrics, title)
        make["velocities"] = lambda: self._time.velocities_figure(run, results, symbol, title)
        make[commanded.picture] = lambda: self._time.commands_figure(
            run, results, recording.limits, title
        )
        if run.has_pose_reference:
            errors = "backstep_errors" if commanded is TORQUE else "velocity_errors"
            make[errors] = lambda: self._time.velocity_errors_figure(run, results, symbol, title)
            make.update(self._adaptation_figures(run, results, recording, title))
        return make

    def _adaptation_figures(
        self, run: DriveRun, results: DriveResults, recording: DriveRecording, title: str
    ) -> dict[str, Callable[[], Any]]:
        """Where parameters were live, or the robot changed."""
        lived = recording.adaptation_run()
        if recording.state is None:
            return {}
        if recording.fields.commanded is VELOCITY:
            return self._sigma_figures(run, results, recording, lived, title)
        if not (len(lived) or lived.changes):
            return {}
        fixed, end = recording.state.parameters, float(run.time[-1])
        changes = changes_of(run, lived, results.metrics.window)
        return {
            "adaptation": lambda: self._adaptation.adapted_parameters_figure(
                lived, fixed, end, title
            ),
            "adaptation_errors": lambda: self._adaptation.adaptation_errors_figure(
                run, lived, changes, title
            ),
        }

    def _sigma_figures(
        self,
        run: DriveRun,
        results: DriveResults,
        recording: DriveRecording,
        lived: AdaptationRun,
        title: str,
    ) -> dict[str, Callable[[], Any]]:
        """Where sigma was identified while driving, or the robot changed."""
        make: dict[str, Callable[[], Any]] = {}
        if recording.state.law == "adaptive" or lived.changes:
            make["sigma"] = lambda: self._sigma.sigma_figure(run, lived, title)
        if lived.changes:
            changes = changes_of(run, lived, results.metrics.window)
            make["adaptation_errors"] = lambda: self._adaptation.adaptation_errors_figure(
                run, lived, changes, title
            )
        return make


# ---
# The end of a driving run: the final table, summary.json, pictures and animation.


class DriveWriter:
    """Shows and saves what a run found.

    Args:
        run: what is run.
        node: name of the controller's node.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures.
    """

    def __init__(
        self,
        run: RunDescription,
        node: str,
        directory: Path,
        console: Console,
        drawing: DriveDrawing,
    ) -> None:
        self._run = run
        self._node = node
        self._directory = directory
        self._console = console
        self._drawing = drawing

    def write(
        self,
        recording: DriveRecording,
        gains: Mapping[str, Any],
        ending: Ending,
        factor: float | None,
        deadline: float,
    ) -> bool:
        """Print the final table, write the files and print their paths; whether all were written.

        Args:
            recording: the run.
            gains: of the law.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        run, missing = recording.run(), recording.missing()
        results = drive_results(run, recording)
        lived = recording.adaptation_run()
        changes = changes_of(run, lived, results.metrics.window)
        keys = drive_keys(results, controller_keys(self._node, recording, gains))
        names = recording.fields.commanded.parameters
        content = run_summary(
            self._run,
            ending,
            recording.elapsed,
            factor,
            {**keys, "adaptation": adaptation_keys(lived, changes, names)},
            _counts(recording),
            missing,
        )
        drawn = len(run) > 1
        title = headline(self._run, recording.elapsed, ending)
        return hand_over(
            self._console,
            results_table(results, recording, title) if len(run) else Text(title),
            content,
            self._directory,
            self._drawing.draw(run, recording, self._run, self._directory, deadline)
            if drawn
            else iter(()),
            lambda: self._drawing.problem if drawn else "nothing was recorded",
            missing,
            lambda: self._drawing.unwritten,
        )


def _told_poses(recording: DriveRecording) -> int:
    """True poses that belong to a sample; a simulator goes on until it is left alone."""
    truth, status = recording.truth, recording.status
    if not len(status):
        return 0
    return int(np.isin(truth.stamps, status.stamps).sum()) * truth.every


def _counts(recording: DriveRecording) -> dict[str, int]:
    """How much the figures rest on."""
    return {
        "samples": recording.status.taken,
        "samples_true": _told_poses(recording),
        "kept_one_in": recording.status.every,
        "refused": recording.state.refused if recording.state else 0,
    }


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
