"""A node that watches another one through a run, and leaves a report of it."""

from __future__ import annotations

import math
import sys
import time
from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Protocol

from rclpy.clock import Clock, ClockType
from rclpy.subscription import Subscription
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from diffbot_description import load_robot
from diffbot_node import Parameter, declare, results_folder
from diffbot_node.running import told_failures
from diffbot_report.ident_recording import DONE, STOPPED, VERIFYING, WAITING
from diffbot_report.polled_node import PolledNode
from diffbot_report.run_end import FAILED, Ending, NodeState, RunEnd
from diffbot_report.summary import RunDescription, parse_arguments

# ---
# Robot time over wall time.

# A shorter run says nothing about its pace, s of wall time.
SHORTEST = 0.05


class Pace:
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
        if passed >= SHORTEST:
            self.factor = (robot - self._first[0]) / passed


# ---
# What a run shows while it goes on: a live view on a terminal, plain lines elsewhere.

PLAIN_WIDTH = 110  # columns of files and pipes
# Wall time between plain lines of a run without an end, s.
OPEN_END_INTERVAL = 10.0


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        label: what is running, for example "ident twil (mujoco)".
        elapsed: robot time since the start, s.
        duration: robot time at the end, s; 0 when there is none.
        factor: robot time over wall time; None before it is known.
        note: what is waited for; shown until robot time runs.
    """

    label: str
    elapsed: float = 0.0
    duration: float = 0.0
    factor: float | None = None
    note: str = ""

    @property
    def fraction(self) -> float | None:
        """Elapsed share of the duration, 0 to 1; None without an end."""
        if not 0.0 < self.duration < math.inf:
            return None
        return min(max(self.elapsed / self.duration, 0.0), 1.0)

    def figures(self) -> str:
        """Times and real-time factor as text."""
        # What follows the asked duration, such as a verification, has no known end.
        asked = self.fraction is not None and self.elapsed <= self.duration + 0.05
        end = f" of {self.duration:.0f}" if asked else ""
        factor = f", {self.factor:.1f}× real time" if self.factor is not None else ""
        return f"{self.elapsed:.1f}{end} s{factor}"


class Display(Protocol):
    """Shows how far a run is."""

    def show(self, progress: Progress, table: RenderableType, now: float) -> None:
        """Show progress and the table of the parameters; now is wall time, s."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class LiveDisplay:
    """Progress bar and table that stay in place; needs a terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, progress: Progress, table: RenderableType, now: float) -> None:
        """Draw the view anew."""
        self._live.update(Group(self._bar(progress), table), refresh=True)

    @staticmethod
    def _bar(progress: Progress) -> RenderableType:
        fraction = progress.fraction
        row = Table.grid(padding=(0, 2))
        if progress.note:
            row.add_row(f"[bold]{progress.label}", f"[dim]{progress.note}")
        elif fraction is None:
            row.add_row(f"[bold]{progress.label}", progress.figures())
        else:
            bar = ProgressBar(total=1.0, completed=fraction, width=30)
            row.add_row(
                f"[bold]{progress.label}", bar, f"{100 * fraction:3.0f} %", progress.figures()
            )
        return row

    def close(self) -> None:
        """Take the view off the terminal."""
        self._live.stop()


class PlainDisplay:
    """One line each 10 % of the run, without control characters; for files and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tenth = 0
        self._note = ""
        self._last = -math.inf

    def show(self, progress: Progress, table: RenderableType, now: float) -> None:
        """Print a line when one is due; the table is left for the end."""
        if progress.note:
            if progress.note != self._note:
                self._line(f"{progress.label}: {progress.note}")
            self._note = progress.note
            return
        fraction = progress.fraction
        if fraction is None:
            if now - self._last >= OPEN_END_INTERVAL:
                self._last = now
                self._line(f"{progress.label}: {progress.figures()}")
            return
        # Rounding below the tenth would hold the line of 30 % back for 0.3 = 0.29999999999999999.
        tenth = math.floor(10.0 * fraction + 1e-9)
        if tenth > self._tenth:
            self._tenth = tenth
            self._line(f"{progress.label}: {100 * fraction:.0f} %, {progress.figures()}")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Nothing to undo."""


def make_console() -> Console:
    """A console on standard output; 110 columns wide where that is no terminal."""
    # An output without UTF-8 shows ? for σ rather than ending the run.
    sys.stdout.reconfigure(errors="replace")
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def make_display(console: Console) -> Display:
    """A live view when the console is a terminal that can move its cursor, else plain lines."""
    capable = console.is_terminal and not console.is_dumb_terminal
    return LiveDisplay(console) if capable else PlainDisplay(console)


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
