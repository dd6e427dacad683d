# SPDX-License-Identifier: Apache-2.0
"""Files and terminal output of a simulated run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Protocol

from rich.console import RenderableType

from arc_odometry.number_range import Array
from diffbot_description import Robot
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import output_folder
from diffbot_recordings.samples import write_table
from diffbot_report.display import RunProgress, make_console, make_display, say
from diffbot_report.drawing import Drawing
from diffbot_report.run_end import Ending, Outcome
from diffbot_report.summary import ReportWriter, RunDescription, RunFindings
from diffbot_study.run_arguments import RunArguments, given_arguments

# Wall time for the pictures, and between two updates of the display, s.
DRAWING_TIME, SHOWN_EVERY = 60.0, 0.25
EXIT = {Outcome.COMPLETED: 0, Outcome.FAILED: 1, Outcome.STOPPED: 130}


class SimulatedRun(Protocol):
    """A run that `execute` simulates to its end, unless `stop` ends it early."""

    def execute(self, progress: Callable[[Any], None]) -> None:
        """Run to the end; `progress` is called with the recording as it grows."""

    def stop(self, problem: str) -> None:
        """End the run early, after a KeyboardInterrupt in `execute`."""


class RunReport:
    """Shows a run while it lasts, and writes what it leaves; ValueError for an unusable folder.

    As a context it holds the folder, which a run that wrote nothing there leaves as it was.

    Args:
        name: Name of the run, such as "ident".
        figures: Module that draws the pictures.

    Attributes:
        record: Storage of the recording, or none.
    """

    def __init__(self, name: str, arguments: RunArguments, robot: Robot, figures: str) -> None:
        self._shown, self.record = arguments.report, arguments.record
        file = expanded(arguments.robot)
        self.run = RunDescription(
            name=name,
            robot=robot.name,
            sim=arguments.sim,
            seed=arguments.seed,
            arguments=given_arguments(arguments, "robot", "sim", "seed", "results", "report"),
            started=datetime.now().astimezone().isoformat(timespec="seconds"),
            robot_file=str(file.resolve()) if file.is_file() else arguments.robot,
            command="simulate",
        )
        self._owned = ExitStack()
        folder = output_folder(arguments.results, f"simulate {name}", "results:=")
        self.folder = self._owned.enter_context(folder)
        self.console = make_console()
        self._drawing = Drawing(figures)
        self._display = make_display(self.console)
        self._begin = time.monotonic()
        self._seen = self._begin - SHOWN_EVERY

    def __enter__(self) -> RunReport:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
        self._owned.close()

    def show(self, elapsed: float, duration: float, table: Callable[[], RenderableType]) -> None:
        """Show progress, robot times in s, and a table, if it is time for it."""
        now = time.monotonic()
        if now - self._seen >= SHOWN_EVERY:
            self._seen = now
            self._display.show(RunProgress(self.run.label, elapsed, duration), table(), now)

    def save_table(self, name: str, columns: Sequence[str], rows: Array) -> None:
        """Write a table for `diffbot identify`."""
        say(self.console, str(write_table(self.folder / name, columns, rows)))

    def follow(self, run: SimulatedRun, show: Callable[[Any], None]) -> Ending:
        """Execute a run, which Ctrl-C stops; return how it ended, and restore the terminal."""
        try:
            run.execute(show)
        except KeyboardInterrupt:
            ending = Ending(Outcome.STOPPED, "interrupted")
            run.stop(ending.reason)
            return ending
        finally:
            self.close()
        return Ending(Outcome.COMPLETED)

    def close(self) -> None:
        self._display.close()

    def write(self, findings: RunFindings, ending: Ending) -> int:
        """Write the report; return the exit status of the run."""
        self.close()
        wall = time.monotonic() - self._begin
        writer = ReportWriter(self.run, self.folder, self.console, self._drawing, self._shown)
        deadline = time.monotonic() + DRAWING_TIME
        written = writer.write(findings, ending, findings.duration / wall, deadline)
        return EXIT[ending.outcome] if written else 1
