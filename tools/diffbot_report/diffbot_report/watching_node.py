# SPDX-License-Identifier: Apache-2.0
"""A node that watches another one during a run, and writes a report of the run."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSProfile
from rich.console import RenderableType

from diffbot_description import load_robot
from diffbot_description.run_folder import dated_folder
from diffbot_node import COUNTED, Node, RobotParameters, declare, parameter, results_folder
from diffbot_node.launch_supervision import failures_are_reported, reported_failures
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.stop_inputs import LONGEST_LAST_ZEROS, last_zero_name
from diffbot_report.display import RunProgress, make_console, make_display
from diffbot_report.drawing import Drawing
from diffbot_report.inbox import Inbox
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
    """Parameters common to all reports."""

    name: str = parameter("", "name of the run, for the summary; empty: the controller's")
    sim: str = parameter("", "simulator, for the summary; empty or none: a real robot")
    seed: int = parameter(-1, "seed of the run, for the summary; -1: unknown", minimum=-1)
    results: str = parameter("", "folder for the report; empty: results/<date>-<name>")
    shown: str = parameter(
        "all",
        "files besides summary.json: all, html (only report.html), png (only pictures)",
        choices=SHOWN,
    )
    arguments: str = parameter("", "launch arguments, for the summary: name:=value ...")
    patience: float = parameter(
        20.0, "wall time to wait for the node to watch, s; 0: for ever", minimum=0.0
    )


POLL_PERIOD = 0.02  # period of the polls, s of wall time
# Wall time between counts of the publishers, and between updates of the view, s.
COUNT_PERIOD, VIEW_PERIOD = 0.2, 0.25
# Wall time for pictures after a regular end, and a signal, s: launches then wait 5 s.
DRAWING_TIME, HURRIED_DRAWING_TIME = 30.0, 4.0
# Wall time for a node's report of its end after a signal, s,
LAST_WORDS_TIME = 0.4
# and if nothing has arrived since.
SILENCE_TIME = 1.0
# Age of messages that were sent before a signal, s.
IN_FLIGHT_TIME = 0.2
# A shorter run has no meaningful real-time factor, s.
SHORTEST_RUN = 0.05
# The watchdog's status of commands, and levels with a reason for zero.
WATCHDOG = "effort_watchdog: commands"
STOPPING = (DiagnosticStatus.ERROR, DiagnosticStatus.STALE)


def progress_of(label: str, state: NodeState, factor: float | None, waits: str) -> RunProgress:
    """Return what the display shows of a state; `waits`: what the run waits for, or empty."""
    note = "" if state.phase.ended else state.message or waits
    # A run that has ended has nothing left, however long it might have taken.
    ends = {RunPhase.DONE: min(state.elapsed, state.duration), RunPhase.STOPPED: 0.0}
    return RunProgress(label, state.elapsed, ends.get(state.phase, state.duration), factor, note)


class RealTimeFactor:
    """Robot time over wall time, the mean since the first instant; None before it is known."""

    def __init__(self) -> None:
        self.factor: float | None = None
        self._first: tuple[float, float] | None = None

    def update(self, robot: float, wall: float) -> None:
        """Add an instant: robot time and wall time, both s."""
        if self._first is None or robot < self._first[0]:
            self._first = (robot, wall)
        passed = wall - self._first[1]
        if passed >= SHORTEST_RUN:
            self.factor = (robot - self._first[0]) / passed


class WatchdogRecord:
    """Torques that effort_watchdog replaced (None: there is none), and the reasons received."""

    def __init__(self) -> None:
        self.trips: int | None = None
        self.reasons: list[str] = []

    def take(self, array: DiagnosticArray) -> None:
        """Process a diagnostics message; ignores everything but the watchdog's status."""
        for status in array.status:
            if status.name == WATCHDOG:
                trips = next((int(each.value) for each in status.values if each.key == "trips"), 0)
                if trips > (self.trips or 0) and status.level in STOPPING:
                    self.reasons.append(status.message)
                self.trips = trips

    def summary(self) -> dict[str, Any]:
        """Return the keys of summary.json; none without a watchdog."""
        if self.trips is None:
            return {}
        return {"watchdog": {"trips": self.trips, "reasons": self.reasons}}


class RunRecording(Protocol):
    """Data that a report keeps of its run."""

    @property
    def state(self) -> NodeState | None:
        """Latest state of the watched node; None before the first."""

    @property
    def elapsed(self) -> float:
        """Robot time since the run began, s."""

    def missing(self) -> list[str]:
        """Return sentences on data that should have been received by now."""


R = TypeVar("R", bound=RunRecording)
P = TypeVar("P", bound=ReportParameters)


class WatchingNode(Node, Generic[R, P]):
    """Base class of all reports: polling, the table, the end, and signals.

    A subclass calls `watch` first, which subscribes: the watched node may wait for its listeners.

    Attributes:
        real_time: Robot time over wall time.
        received: time.monotonic() of the latest sample, s.
        recording: Data of the run; set by `watch`.
    """

    # What the watched node does in the phase VERIFYING.
    VERIFYING = "verifying with another motion"

    def __init__(self, name: str, parameters: type[P]) -> None:
        super().__init__(name)
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
        self.folder = results_folder(self.values.results or str(dated_folder(self.run.name)))
        self.console = make_console()
        self.real_time = RealTimeFactor()
        self.received = time.monotonic()
        self._viewed = self._counted = -1e9
        self._publisher_count = 0
        self._reported = False
        self._ending: Ending | None = None
        self._broken: str | None = None

    def watch(self, node: str, recording: R, figures: str) -> None:
        """Begin to poll; `figures` is the module that draws the pictures."""
        self._node, self.recording = node, recording
        self._watchdog = WatchdogRecord()
        self._inboxes: list[Inbox] = []
        self._diagnostics = self.inbox(DiagnosticArray, "diagnostics", QoSProfile(depth=50))
        self._watched = self.subscribe()
        self._drawing = Drawing(figures)
        self._end = RunEnd(self.values.patience, node)
        self._display = make_display(self.console)
        create_wall_timer(self, POLL_PERIOD, self._poll)

    def run_name(self) -> str:
        return self.values.name

    def inbox(self, message_type: type, topic: str, qos: QoSProfile = COUNTED) -> Inbox:
        inbox = Inbox(self, message_type, topic, qos)
        self._inboxes.append(inbox)
        return inbox

    @abstractmethod
    def subscribe(self) -> tuple[Inbox, ...]:
        """Subscribe with `inbox`; return those whose publisher is the watched node."""

    @abstractmethod
    def take_all(self, now: float) -> bool:
        """Take all messages by wall time `now`, s; return whether there were samples."""

    @abstractmethod
    def newest(self) -> int | None:
        """Return the stamp of the latest result, ns; None before the first. See RunEnd."""

    @abstractmethod
    def table(self) -> RenderableType:
        """Return the current results, for the live view."""

    @abstractmethod
    def findings(self) -> RunFindings:
        """Return the findings of the run at its end."""

    def _poll(self) -> None:
        if self._reported:
            return
        try:
            if self._ending is None:
                self._look(time.monotonic())
            else:
                self._report(self._ending, DRAWING_TIME)
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _look(self, now: float) -> None:
        self._take(now)
        if now - self._counted >= COUNT_PERIOD:
            self._counted = now
            self._publisher_count = self._count_publishers()
        ending = self._end.update(
            now, self.recording.state, self.newest(), self._publisher_count, self.received
        )
        if ending is not None:
            self._leave(self._end.explained(ending, reported_failures()))
        elif now - self._viewed >= VIEW_PERIOD:
            self._viewed = now
            self._show(now)

    def _take(self, now: float) -> None:
        for array in self._diagnostics.take():
            self._watchdog.take(array)
        if self.take_all(now):
            self.received = now
            if self.values.shown not in WITHOUT_PICTURES:
                # The other processes need the processors as they start.
                self._drawing.start()

    def _fetch(self, now: float) -> None:
        for inbox in self._inboxes:
            inbox.fetch()
        self._take(now)

    def _count_publishers(self) -> int:
        return sum(self.count_publishers(inbox.topic) for inbox in self._watched)

    def _show(self, now: float) -> None:
        state = self.recording.state
        progress = RunProgress(self.run.label, note=f"waiting for the {self._node} node")
        if state is not None:
            verifying = self.VERIFYING if state.phase is RunPhase.VERIFYING else ""
            progress = progress_of(self.run.label, state, self.real_time.factor, verifying)
        self._display.show(progress, self.table(), now)

    def _leave(self, ending: Ending) -> None:
        """Report at the next poll: a destroyed subscription lasts until this callback returns."""
        while self._inboxes:
            self._inboxes.pop().close()
        self._ending = ending

    def _report(self, ending: Ending, drawing_time: float) -> None:
        self._reported = True
        self._show(time.monotonic())
        self._display.close()
        writer = ReportWriter(self.run, self.folder, self.console, self._drawing, self.values.shown)
        findings, kept = self.findings(), self._watchdog.summary()
        findings = replace(findings, more={**findings.more, **kept})
        deadline = time.monotonic() + drawing_time
        written = writer.write(findings, ending, self.real_time.factor, deadline)
        well = written and ending.outcome is not Outcome.FAILED and not self.recording.missing()
        self.exit_code = 0 if well else 1

    def close(self) -> None:
        """Restore the terminal and report what there is; called on every exit."""
        if self._reported:
            return
        began = time.monotonic()
        if self._broken is not None:
            self._display.close()
            ending = Ending(Outcome.FAILED, self._broken)
        else:
            ending = self._ending or self._ending_by_signal()
        self._report(ending, HURRIED_DRAWING_TIME - (time.monotonic() - began))

    def _ending_by_signal(self) -> Ending:
        """Find what a signal means."""
        self._fetch(time.monotonic())
        begin = waits_since = time.monotonic()
        while True:
            now = time.monotonic()
            self._fetch(now)
            state, failures = self.recording.state, reported_failures()
            silent = self.received <= begin + IN_FLIGHT_TIME and not failures
            if silent and now - begin < LONGEST_LAST_ZEROS and self._commands_last_zeros():
                waits_since = now
            ended = state is not None and state.phase.ended and not self.recording.missing()
            if ended or now - waits_since >= (SILENCE_TIME if silent else LAST_WORDS_TIME):
                publishers = self._count_publishers()
                return self._end.interrupted(
                    now, state, publishers, failures, silent, failures_are_reported()
                )
            time.sleep(POLL_PERIOD)

    def _commands_last_zeros(self) -> bool:
        own = last_zero_name(self._node), self.get_namespace()
        return own in self.get_node_names_and_namespaces()
