"""A node that watches another one through a run, and leaves a report of it."""

from __future__ import annotations

import time
from abc import abstractmethod
from datetime import datetime
from types import SimpleNamespace

from rclpy.clock import Clock, ClockType
from rclpy.subscription import Subscription
from rich.console import RenderableType

from diffbot_bringup.report.arguments import parse_arguments
from diffbot_bringup.report.pace import Pace
from diffbot_bringup.report.polled_node import PolledNode
from diffbot_bringup.report.progress import Progress, make_console, make_display
from diffbot_bringup.report.run_end import FAILED, Ending, NodeState, RunEnd
from diffbot_bringup.report.samples import DONE, STOPPED, VERIFYING, WAITING
from diffbot_bringup.report.summary import RunDescription
from diffbot_bringup.xml_launch.failures import told_failures
from diffbot_description import load_robot
from diffbot_node import Parameter, declare, results_folder

REPORT_PARAMETERS = (
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter("sim", "", "simulator, for the summary; empty or none: a real robot"),
    Parameter("seed", -1, "seed of the run, for the summary; -1: unknown", minimum=-1),
    Parameter("results", "", "folder for the report; empty: results/<date>-<name>"),
    Parameter("arguments", "", "launch arguments, for the summary: JSON or name:=value ..."),
    Parameter(
        "patience", 20.0, "wall time to wait for the node to watch, s; 0: for ever", minimum=0.0
    ),
    Parameter("refresh_rate", 4.0, "updates of the view, 1/s of wall time", above=0.0, maximum=5.0),
)

POLL_PERIOD = 0.02  # s of wall time
# Wall time for pictures after a run's own end and after a signal, s.
DRAWING_TIME, HURRIED_DRAWING_TIME = 30.0, 0.25
# Wall time after a signal for the other node, which may have got it too, to say how it ended, s.
LAST_WORDS_TIME = 0.4
# The same where nothing has come since the signal: the other node's process may be slow, or dead.
SILENCE_TIME = 1.0


class WatchingNode(PolledNode):
    """What reports of all kinds of runs share: polling, the view, the end, and signals.

    A subclass makes its topics with `create_polled`, then calls `watch`. Subscribe first and load
    the rest afterwards: the watched node waits for its listeners.

    Args:
        name: name of this node.
        parameters: the subclass's own, `name` (of the run) among them; REPORT_PARAMETERS are added.

    Attributes:
        values: the parameters.
        robot: description of the robot.
        run: what is run.
        folder: for the report.
        console: where the table goes.
        pace: robot time over wall time.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.values: SimpleNamespace = declare(self, (*parameters, *REPORT_PARAMETERS))
        self.robot = load_robot(self.values.robot)
        started = datetime.now().astimezone()
        self.run = RunDescription(
            name=self.run_name(),
            robot=self.robot.name,
            sim=self.values.sim,
            seed=self.values.seed if self.values.seed >= 0 else None,
            arguments=parse_arguments(self.values.arguments),
            started=started.isoformat(timespec="seconds"),
        )
        default = f"results/{started:%Y%m%d-%H%M%S}-{self.run.name}"
        self.folder = results_folder(self.values.results or default)
        self.console = make_console()
        self.pace = Pace()
        self._viewed = self._counted = -1e9
        self._senders = 0
        self._reported = False
        self._broken = ""

    def watch(self, node: str, topics: tuple[Subscription, ...]) -> None:
        """Begin to poll.

        Args:
            node: name of the node that is watched.
            topics: that it publishes; it is gone when all are without publishers.
        """
        self._node, self._watched = node, topics
        self._end = RunEnd(self.values.patience, node)
        self._display = make_display(self.console)
        self.create_timer(POLL_PERIOD, self._poll, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # What a subclass gives.

    def run_name(self) -> str:
        """Name of the run."""
        return self.values.name

    @abstractmethod
    def take_all(self, now: float) -> None:
        """Take in all messages that have come; now is wall time, s, for the pace."""

    @abstractmethod
    def state(self) -> NodeState | None:
        """What the watched node says about itself; None before it has."""

    @abstractmethod
    def newest(self) -> float | None:
        """Stamp of its newest result, s; None before the first. See RunEnd."""

    @abstractmethod
    def missing(self) -> list[str]:
        """What should have come by now and did not, in sentences."""

    @abstractmethod
    def received(self) -> float:
        """time.monotonic() when the newest message came, s."""

    @abstractmethod
    def table(self) -> RenderableType:
        """What is known now, for the live view."""

    @abstractmethod
    def write(self, ending: Ending, deadline: float) -> bool:
        """Print and write the report; whether all files could be written.

        Args:
            ending: how the run ended.
            deadline: time.monotonic() after which no further picture is begun, s.
        """

    # Polling.

    def _poll(self) -> None:
        if self._reported:
            return
        try:
            self._look(time.monotonic())
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _look(self, now: float) -> None:
        self.take_all(now)
        if now - self._counted >= 0.2:
            self._counted = now
            self._senders = self._count_senders()
        ending = self._end.update(
            now, self.state(), self.newest(), self._senders, received=self.received()
        )
        if ending is not None:
            self._report(ending, now + DRAWING_TIME)
        elif now - self._viewed >= 1.0 / self.values.refresh_rate:
            self._viewed = now
            self._show(now)

    def _count_senders(self) -> int:
        return sum(self.count_publishers(topic.topic_name) for topic in self._watched)

    def _show(self, now: float) -> None:
        state = self.state()
        note = f"waiting for the {self._node} node"
        if state is not None:
            notes = {WAITING: state.message, VERIFYING: "verifying with another motion"}
            note = notes.get(state.phase, "")
        elapsed, duration = (state.elapsed, state.duration) if state else (0.0, 0.0)
        progress = Progress(self.run.label, elapsed, duration, self.pace.factor, note)
        self._display.show(progress, self.table(), now)

    # The end.

    def _report(self, ending: Ending, deadline: float) -> None:
        self._reported = True
        self.leave()
        self._show(time.monotonic())
        self._display.close()
        written = self.write(ending, deadline)
        well = written and ending.outcome != FAILED and not self.missing()
        self.exit_code = 0 if well else 1

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
        begin = time.monotonic()
        while True:
            now = time.monotonic()
            self.take_all(now)
            state, failures = self.state(), told_failures()
            silent = self.received() <= begin and not failures
            ended = state is not None and state.phase in (DONE, STOPPED)
            patience = SILENCE_TIME if silent else LAST_WORDS_TIME
            if (ended and not self.missing()) or now - begin >= patience:
                senders = self._count_senders()
                return self._end.update(
                    now, state, self.newest(), senders,
                    interrupted=True, failures=failures, silent=silent,
                )  # fmt: skip
            time.sleep(POLL_PERIOD)
