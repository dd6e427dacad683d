"""The end of a run: the table, summary.json and the pictures, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from diffbot_bringup.report.run_end import Ending
from diffbot_bringup.report.summary import RunDescription, write_summary


def headline(run: RunDescription, duration: float, ending: Ending) -> str:
    """Title of the final table: what was run, for how long (s of robot time), how it ended."""
    reason = f": {ending.reason}" if ending.reason else ""
    return f"{run.label}, {duration:.1f} s, {ending.outcome}{reason}"


def hand_over(
    console: Console,
    table: RenderableType,
    content: Mapping[str, Any],
    directory: Path,
    pictures: Iterator[Path],
    problem: Callable[[], str],
    missing: Sequence[str] = (),
    unwritten: Callable[[], Sequence[str]] = tuple,
) -> bool:
    """Print the table, write the files and print their paths; whether all could be written.

    Args:
        console: where the table goes.
        table: of the results.
        content: of summary.json.
        directory: where the files go; exists.
        pictures: draws one with each step, and gives its path.
        problem: why pictures are missing, asked at the end; empty when none is.
        missing: what should have come and did not, in sentences.
        unwritten: sentences on pictures that could not be written, asked at the end.
    """

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    console.print()
    console.print(table, markup=False, highlight=False)
    if missing:
        say(f"  not complete: {'; '.join(missing)}. Figures that need it are left out")
    # The numbers come first: a second Ctrl-C may cost pictures, never results.
    failures: list[str] = []
    try:
        say(str(write_summary(content, directory)))
    except OSError as error:
        failures.append(str(error))
    for path in pictures:
        say(str(path))
    if problem():
        say(f"pictures left out: {problem()}")
    failures += unwritten()
    for failure in failures:
        say(failure)
    return not failures
