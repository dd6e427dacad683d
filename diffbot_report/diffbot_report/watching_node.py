# SPDX-License-Identifier: Apache-2.0
"""A node that watches another one through a run, and leaves a report of it.

It listens to `diagnostics` for what effort_watchdog did not pass: summary.json has it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rich.console import RenderableType

from diffbot_description import load_robot
from diffbot_node import RobotParameters, declare, parameter, results_folder
from diffbot_node.own_run import REPORT, OwnRun
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.running import failures_are_told, told_failures
from diffbot_node.stopping import LONGEST_LAST_ZEROS, last_zero_name
from diffbot_report.display import RunProgress, make_console, make_display
from diffbot_report.drawing import Drawing
from diffbot_report.polled_node import PolledNode
from diffbot_report.run_end import Ending, NodeState, Outcome, RunEnd, RunPhase
from diffbot_report.summary import (
    SHOWN,
    WITHOUT_PICTURES,
    ReportWriter,
    RunDescription,
    RunFindings,
    parse_arguments,
)


@dataclass(frozen=True)
class ReportParameters(RobotParameters):
    """Of all reports."""

    name: str = parameter("", "name of the run, for the summary; empty: the controller's")
    sim: str = parameter("", "simulator, for the summary; empty or none: a real robot")
    seed: int = parameter(-1, "seed of the run, for the summary; -1: unknown", minimum=-1)
    results: str = parameter("", "folder for the report; empty: results/<date>-<name>")
    shown: str = parameter(
        "all",
        "what is left besides summary.json: all, html (report.html alone), png (pictures alone)",
        choices=SHOWN,
    )
    arguments: str = parameter("", "launch arguments, for the summary: JSON or name:=value ...")
    patience: float = parameter(
        20.0, "wall time to wait for the node to watch, s; 0: for ever", minimum=0.0
    )
    refresh_rate: float = parameter(
        4.0, "updates of the view, 1/s of wall time", above=0.0, maximum=5.0
    )


POLL_PERIOD = 0.02  # s of wall time
# Wall time between two looks at who publishes, s.
COUNT_PERIOD = 0.2
# Wall time for pictures after a run's own end and after a signal, s.
DRAWING_TIME, HURRIED_DRAWING_TIME = 30.0, 0.25
# Wall time after a signal for the other node, which may have got it too, to say how it ended, s.
LAST_WORDS_TIME = 0.4
# The same where nothing has come since the signal: the other node's process may be slow, or dead.
SILENCE_TIME = 1.0
# What comes so soon after a signal was sent before it, and does not say that its sender lives, s.
IN_FLIGHT_TIME = 0.2
# A shorter run says nothing about how fast it was, s of wall time.
SHORTEST_RUN = 0.05
# Name of what the watchdog says of commands, and the levels at which it gives a reason for zero.
WATCHDOG = "effort_watchdog: commands"
STOPPING = (DiagnosticStatus.ERROR, DiagnosticStatus.STALE)


class RealTimeFactor:
    """How fast robot time runs, as the mean since the first instant.

    Attributes:
        factor: robot time over wall time; None before it is known.
    """

    def __init__(self) -> None:
        self.factor: float | None = None
        self._first: tuple[float, float] | None = None

    def update(self, robot: float, wall: float) -> None:
        """Take in an instant: robot time and wall time, both s."""
        if self._first is None or robot < self._first[0]:
            self._first = (robot, wall)
        passed = wall - self._first[1]
        if passed >= SHORTEST_RUN:
            self.factor = (robot - self._first[0]) / passed


class WatchdogRecord:
    """What effort_watchdog said of commands that it did not pass.

    Attributes:
        trips: how often it said zero in place of a torque; None: there is no watchdog.
        reasons: for it, as far as they were heard: two within 0.1 s are told as one.
    """

    def __init__(self) -> None:
        self.trips: int | None = None
        self.reasons: list[str] = []

    def take(self, array: DiagnosticArray) -> None:
        """Take in what somebody said of himself; all but the watchdog's is nothing."""
        for status in array.status:
            if status.name == WATCHDOG:
                trips = next((int(each.value) for each in status.values if each.key == "trips"), 0)
                if trips > (self.trips or 0) and status.level in STOPPING:
                    self.reasons.append(status.message)
                self.trips = trips

    def summary(self) -> dict[str, Any]:
        """Keys of summary.json; none without a watchdog."""
        if self.trips is None:
            return {}
        return {"watchdog": {"trips": self.trips, "reasons": self.reasons}}


class RunRecording(Protocol):
    """What a report remembers of its run."""

    @property
    def state(self) -> NodeState | None:
        """What the watched node says about itself; None before it has."""

    @property
    def elapsed(self) -> float:
        """Robot time since the run began, s."""

    def missing(self) -> list[str]:
        """What should have come by now and did not, in sentences."""


R = TypeVar("R", bound=RunRecording)
P = TypeVar("P", bound=ReportParameters)


class WatchingNode(PolledNode, Generic[R, P]):
    """What reports of all kinds of runs share: polling, the view, the end, and signals.

    A subclass calls `watch`, which has it subscribe as soon as the nodes of its own run are there:
    at once, and before the rest is loaded, where runs have no names; the watched node waits for its
    listeners.

    Args:
        name: name of this node.
        parameters: of the node.

    Attributes:
        values: the parameters.
        robot: description of the robot.
        run: what is run.
        folder: for the report.
        console: where the table goes.
        real_time: robot time over wall time.
        received: time.monotonic() when the newest sample came, s.
        recording: what is remembered of the run; there once `watch` is called.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: type[P]) -> None:
        super().__init__(name)
        self._own_run = OwnRun(self, REPORT)
        self.exit_code: int | None = None
        self.values: P = declare(self, parameters)
        self.robot = load_robot(self.values.robot)
        started = datetime.now().astimezone()
        file = Path(self.values.robot)
        self.run = RunDescription(
            name=self.run_name(),
            robot=self.robot.name,
            robot_file=str(file.resolve()) if file.is_file() else self.values.robot,
            sim=self.values.sim,
            seed=self.values.seed if self.values.seed >= 0 else None,
            arguments=parse_arguments(self.values.arguments),
            started=started.isoformat(timespec="seconds"),
        )
        default = f"results/{started:%Y%m%d-%H%M%S}-{self.run.name}"
        self.folder = results_folder(self.values.results or default)
        self.console = make_console()
        self.real_time = RealTimeFactor()
        self.received = time.monotonic()
        self._viewed = self._counted = -1e9
        self._publisher_count = 0
        self._reported = False
        self._ending: tuple[Ending, float] | None = None  # and until when pictures may be drawn
        self._broken: str | None = None

    def watch(self, node: str, recording: R, figures: str) -> None:
        """Begin to poll.

        Args:
            node: name of the node that is watched.
            recording: what is remembered of the run.
            figures: module that draws the pictures, loaded while samples come.
        """
        self._node, self.recording = node, recording
        self._watched: tuple[Subscription[Any], ...] = ()
        self._watchdog = WatchdogRecord()
        self._diagnostics = self.create_polled(DiagnosticArray, "diagnostics", QoSProfile(depth=50))
        self._listens_to_run()
        self._drawing = Drawing(figures)
        self._end = RunEnd(self.values.patience, node)
        self._display = make_display(self.console)
        create_wall_timer(self, POLL_PERIOD, self._poll)

    # What a subclass gives.

    def run_name(self) -> str:
        """Name of the run."""
        return self.values.name

    @abstractmethod
    def subscribe(self) -> tuple[Subscription[Any], ...]:
        """Make the topics, with `create_polled`.

        Returns:
            Those of the watched node; it is gone when all are without publishers.
        """

    @abstractmethod
    def take_all(self, now: float) -> bool:
        """Take in all messages that have come, at wall time `now`, s; whether samples came."""

    @abstractmethod
    def newest(self) -> int | None:
        """Stamp of its newest result, ns; None before the first. See RunEnd."""

    @abstractmethod
    def table(self) -> RenderableType:
        """What is known now, for the live view."""

    @abstractmethod
    def findings(self) -> RunFindings:
        """What the run has found, at its end."""

    # Polling.

    def _poll(self) -> None:
        if self._reported:
            return
        try:
            if self._ending is None:
                self._look(time.monotonic())
            else:
                self._report(*self._ending)
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _listens_to_run(self) -> bool:
        """Whether it listens, as it does from when the nodes of its own run are there."""
        if not self._watched and not self._own_run.missing():
            self._watched = self.subscribe()
        return bool(self._watched)

    def _another_run(self) -> str:
        """That another run is here, or that its own ended before it was heard; else empty."""
        state = self.recording.state
        if state is not None and state.phase.ended:
            return ""
        return self._own_run.met() or ("" if self._watched else self._own_run.left())

    def _look(self, now: float) -> None:
        if why := self._another_run():
            self._leave(Ending(Outcome.FAILED, why), now + HURRIED_DRAWING_TIME)
            return
        self._take(now)
        if now - self._counted >= COUNT_PERIOD:
            self._counted = now
            self._publisher_count = self._count_publishers()
        ending = self._end.update(
            now, self.recording.state, self.newest(), self._publisher_count, self.received
        )
        if ending is not None:
            self._leave(ending, now + DRAWING_TIME)
        elif now - self._viewed >= 1.0 / self.values.refresh_rate:
            self._viewed = now
            self._show(now)

    def _take(self, now: float) -> None:
        for array in self.take(self._diagnostics):
            self._watchdog.take(array)
        if self._listens_to_run() and self.take_all(now):
            self.received = now
            if self.values.shown not in WITHOUT_PICTURES:
                # Not before: until then the other processes start, and want the processors.
                self._drawing.start()

    def _count_publishers(self) -> int:
        return sum(self.count_publishers(topic.topic_name) for topic in self._watched)

    def _show(self, now: float) -> None:
        state = self.recording.state
        progress = RunProgress(self.run.label, note=f"waiting for the {self._node} node")
        if state is not None:
            verifying = "verifying with another motion" if state.phase is RunPhase.VERIFYING else ""
            note = "" if state.phase.ended else state.message or verifying
            factor = self.real_time.factor
            progress = RunProgress(self.run.label, state.elapsed, state.duration, factor, note)
        self._display.show(progress, self.table(), now)

    # The end.

    def _leave(self, ending: Ending, deadline: float) -> None:
        """Report at the next poll: a topic that is destroyed lasts until this callback returns."""
        self.leave()
        self._ending = ending, deadline

    def _report(self, ending: Ending, deadline: float) -> None:
        self._reported = True
        self.leave()
        self._show(time.monotonic())
        self._display.close()
        writer = ReportWriter(self.run, self.folder, self.console, self._drawing, self.values.shown)
        findings, held = self.findings(), self._watchdog.summary()
        findings = replace(findings, more={**findings.more, **held})
        written = writer.write(findings, ending, self.real_time.factor, deadline)
        well = written and ending.outcome is not Outcome.FAILED and not self.recording.missing()
        self.exit_code = 0 if well else 1

    def close(self) -> None:
        """On every way out: leave the terminal in order, and a report of what there is."""
        if self._reported:
            return
        if self._broken is not None:
            self._display.close()
            ending = Ending(Outcome.FAILED, self._broken)
        else:
            ending = self._ending[0] if self._ending else self._ending_by_signal()
        self._report(ending, time.monotonic() + HURRIED_DRAWING_TIME)

    def _ending_by_signal(self) -> Ending:
        """What to make of a signal: the user's, or that of a launch that ends a failed run."""
        # What had come by now was said before the signal.
        self._take(time.monotonic())
        begin = waits_since = time.monotonic()
        while True:
            now = time.monotonic()
            self._take(now)
            state, failures = self.recording.state, told_failures()
            silent = self.received <= begin + IN_FLIGHT_TIME and not failures
            if silent and now - begin < LONGEST_LAST_ZEROS and self._says_last_zeros():
                waits_since = now
            ended = state is not None and state.phase.ended and not self.recording.missing()
            if ended or now - waits_since >= (SILENCE_TIME if silent else LAST_WORDS_TIME):
                publishers = self._count_publishers()
                return self._end.interrupted(
                    now, state, publishers, failures, silent, failures_are_told()
                )
            time.sleep(POLL_PERIOD)

    def _says_last_zeros(self) -> bool:
        """Whether the watched node tells the wheels zero itself, before its own last words."""
        own = last_zero_name(self._node), self.get_namespace()
        return own in self.get_node_names_and_namespaces()
