# SPDX-License-Identifier: Apache-2.0
"""Display of a run: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from diffbot_description.terminal_text import visible_lines
from diffbot_report import page
from diffbot_report.progress import duration_text
from diffbot_report.quantity import MEANING, MISSING

PLAIN_WIDTH = 110  # columns of output to files and pipes
# Wall time between plain lines, s.
INTERVAL = 5.0


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run.

    Attributes:
        label: What is running, for example "ident twil (mujoco)".
        elapsed, duration: Robot time since the start, and at the end, s; 0: there is none.
        factor: Robot time over wall time; None before it is known.
        note: What the run waits for, or why the robot stands; replaces the progress.
    """

    label: str
    elapsed: float = 0.0
    duration: float = 0.0
    factor: float | None = None
    note: str = ""

    @property
    def fraction(self) -> float | None:
        """Elapsed fraction of the duration, 0 to 1; None without an end."""
        if not 0.0 < self.duration < math.inf:
            return None
        return min(max(self.elapsed / self.duration, 0.0), 1.0)

    def figures(self) -> str:
        """Return times and real-time factor as text."""
        # Phases after the requested duration have no known end.
        asked = self.fraction is not None and self.elapsed <= self.duration + 0.05
        end = f" of {self.duration:.0f}" if asked else ""
        factor = f", {self.factor:.1f}× real time" if self.factor is not None else ""
        left = ""
        if asked and self.factor and self.elapsed < self.duration:
            left = f", about {duration_text((self.duration - self.elapsed) / self.factor)} left"
        return f"{self.elapsed:.1f}{end} s{factor}{left}"


class LiveDisplay:
    """Progress bar and table that stay in place; needs a terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, progress: RunProgress, table: RenderableType, now: float) -> None:
        """Show progress and the table of results; `now` is wall time, s."""
        row = Table.grid(padding=(0, 2))
        label, fraction = f"[bold]{progress.label}", progress.fraction
        if progress.note:
            row.add_row(label, f"[dim]{progress.note}")
        elif fraction is None:
            row.add_row(label, progress.figures())
        else:
            bar = ProgressBar(total=1.0, completed=fraction, width=30)
            row.add_row(label, bar, f"{100 * fraction:3.0f} %", progress.figures())
        self._live.update(Group(row, table), refresh=True)

    def close(self) -> None:
        """Remove the view from the terminal."""
        self._live.stop()


class PlainDisplay:
    """Prints lines without control characters: every 10 % or few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tenth = 0
        self._note = ""
        self._last = -math.inf

    def show(self, progress: RunProgress, table: RenderableType, now: float) -> None:
        """Print a line when one is due by wall time `now`, s; never the table."""
        if progress.note:
            if progress.note != self._note:
                say(self._console, f"{progress.label}: {progress.note}")
            self._note = progress.note
            return
        fraction = progress.fraction
        if fraction is None:
            if now - self._last >= INTERVAL:
                self._last = now
                say(self._console, f"{progress.label}: {progress.figures()}")
            return
        # 0.3 = 0.29999999999999999.
        tenth = math.floor(10.0 * fraction + 1e-9)
        if self._last == -math.inf:
            self._last = now
        due = now - self._last >= INTERVAL and fraction < 1.0
        if tenth > self._tenth or due:
            self._tenth, self._last = tenth, now
            say(self._console, f"{progress.label}: {100 * fraction:.0f} %, {progress.figures()}")

    def close(self) -> None:
        """Do nothing."""


def make_console() -> Console:
    """Return a console on standard output; 110 columns wide if that is no terminal."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Show ? for σ where there is no UTF-8.
        sys.stdout.reconfigure(errors="replace")
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def make_display(console: Console) -> LiveDisplay | PlainDisplay:
    """Return a live view for a terminal with cursor control, otherwise plain lines."""
    capable = console.is_terminal and not console.is_dumb_terminal
    return LiveDisplay(console) if capable else PlainDisplay(console)


def new_table(title: str) -> Table:
    """Return an empty table in the style of the suite."""
    return Table(
        title=Text(title) if title else None, box=SIMPLE_HEAD, title_justify="left",
        title_style="bold", pad_edge=False, collapse_padding=True,
    )  # fmt: skip


def say(console: Console, text: str) -> None:
    """Print a text whole, whatever its length."""
    console.print(visible_lines(text), markup=False, highlight=False, soft_wrap=True)


# Columns of text; all others are numbers.
_TEXTS = ("", "unit", "step", MEANING)


def printed(
    shown: page.Table, title: str = "", styles: Sequence[str] = (), rule: int = -1
) -> Table:
    """Return a page's table for a terminal; its third column has the results.

    `styles` are of each row's result (empty: coloured); a line follows `rule` rows.
    """
    table = new_table(title)
    for name in shown.head:
        justify: JustifyMethod = "left" if name in _TEXTS else "right"
        style = {"": "bold", "step": "bold", "unit": "dim"}.get(name, "")
        table.add_column(name, style=style, justify=justify, no_wrap=True)
    for number, row in enumerate(shown.rows, 1):
        cells = [Text(cell, "red" if cell == "never" else "") for cell in row]
        if not cells[2].style and row[2] != MISSING:
            cells[2].style = styles[number - 1] if styles else "cyan"
        table.add_row(*cells, end_section=number == rule)
    return table
