"""The report that a run leaves: the table, summary.json and the pictures, in this order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from diffbot_report.display import say
from diffbot_report.drawing import Drawing, Picture
from diffbot_report.run_end import Ending
from diffbot_report.summary import RunDescription, run_summary, write_summary


@dataclass(frozen=True)
class Findings:
    """What a run found.

    Attributes:
        duration: robot time, s.
        table: of the results, under a title.
        results: keys of summary.json of this kind of run.
        more: further keys; they never replace others.
        missing: what should have come and did not, in sentences; figures that need it are None.
        pictures: gives what to draw, once matplotlib is loaded; None: nothing was recorded.
    """

    duration: float
    table: Callable[[str], RenderableType]
    results: Mapping[str, Any]
    more: Mapping[str, Any]
    missing: Sequence[str]
    pictures: Callable[[], Sequence[Picture]] | None


@dataclass(frozen=True)
class ReportWriter:
    """Shows and saves what a run found.

    Attributes:
        run: what was run.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures; started.
    """

    run: RunDescription
    directory: Path
    console: Console
    drawing: Drawing

    def write(
        self, findings: Findings, ending: Ending, factor: float | None, deadline: float
    ) -> bool:
        """Print the table, write the files and print their paths; whether all could be written.

        Args:
            findings: of the run.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        console, drawing, missing = self.console, self.drawing, findings.missing
        reason = f": {ending.reason}" if ending.reason else ""
        ended = f"{findings.duration:.1f} s, {ending.outcome.value}{reason}"
        console.print()
        table = findings.table(f"{self.run.label}, {ended}")
        console.print(table, markup=False, highlight=False)
        if missing:
            say(
                console,
                f"  not complete: {'; '.join(missing)}. Figures that need it are left out",
            )
        # The numbers come first: a second Ctrl-C may cost pictures, never results.
        failures: list[str] = []
        content = run_summary(
            self.run, ending, findings.duration, factor, findings.results, findings.more, missing
        )
        try:
            say(console, str(write_summary(content, self.directory)))
        except OSError as error:
            failures.append(str(error))
        problem: str | None = "nothing was recorded"
        if findings.pictures is not None:
            for path in drawing.draw(findings.pictures, self.directory, deadline):
                say(console, str(path))
            problem = drawing.problem
        if problem:
            say(console, f"pictures left out: {problem}")
        failures += drawing.unwritten
        for failure in failures:
            say(console, failure)
        return not failures
