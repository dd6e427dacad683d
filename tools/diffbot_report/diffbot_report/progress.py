# SPDX-License-Identifier: Apache-2.0
"""Progress of a command: a bar on a terminal, otherwise lines on standard error.

with Progress("reproduce", total=5, console=console) as progress:
    progress.show("2017: simulating")      # what is done now
    progress.advance()                     # one of five is done
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

# Wall time before the first line, and between lines, s.
PATIENCE, INTERVAL = 2.0, 5.0


def duration_text(seconds: float) -> str:
    """Return a duration as text: "8 s", "3 min 20 s", "1 h 5 min"."""
    whole = round(max(seconds, 0.0))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Progress:
    """Shows what a command is doing, how much is done, and how long the rest will take.

    `total` is that of what `advance` and `update` count; None: not known yet.
    """

    def __init__(self, title: str, total: float | None, console: Console) -> None:
        self._title, self._total, self._done = title, total, 0.0
        self._text = ""
        self._began = time.monotonic()
        self._updated = 0.0  # time from then to the last `update`, s
        self._ended = threading.Event()
        self._bar: Bar | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                _Times(self),
            )
            self._bar = Bar(*columns, console=console, transient=True)
            self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        else:
            threading.Thread(target=self._lines, name="progress", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()

    def show(self, text: str) -> None:
        self._text = text
        self._redraw()

    def advance(self, amount: float = 1.0) -> None:
        self.update(self._done + amount, self._total)

    def update(self, done: float, total: float | None) -> None:
        """Set the amount that is done, and the total; None: not known."""
        self._done, self._total = done, total
        self._updated = time.monotonic() - self._began
        self._redraw()

    def times(self) -> str:
        """Return the share done, the time passed and, if possible, the remaining time."""
        passed = time.monotonic() - self._began
        said = [duration_text(passed)]
        if self._total:
            fraction = min(self._done / self._total, 1.0)
            said.insert(0, f"{100 * fraction:.0f} %")
            left = self._updated / fraction - passed if fraction > 0.0 else 0.0
            if left > 0.0:
                said.append(f"about {duration_text(left)} left")
        return ", ".join(said)

    def _redraw(self) -> None:
        if self._bar is not None:
            self._bar.update(
                self._task, description=self._text, completed=self._done, total=self._total
            )

    def _lines(self) -> None:
        wait = PATIENCE
        while not self._ended.wait(wait):
            wait = INTERVAL
            text = f": {self._text}" if self._text else ""
            print(f"{self._title}{text} ({self.times()})", file=sys.stderr, flush=True)


class _Times(ProgressColumn):
    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        return Text(self._progress.times())
