"""What the set-up tells the person who waits for it, on standard error."""

import sys
import threading
import time
from types import TracebackType

_BAR = 24
_WIDTH = 100
_TICK = 1.0
"""Seconds after which a terminal shows that a step still runs."""
_PLAIN_FRACTION = 0.25
"""Without a terminal, a line is printed each time this much more of a step is done."""


def say(message: str) -> None:
    """Print one line."""
    print(f"diffbot: {message}", file=sys.stderr, flush=True)


class Step:
    """One step of the set-up: a bar that fills on a terminal, a few plain lines elsewhere."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._terminal = sys.stderr.isatty()
        self._start = time.monotonic()
        self._shown = 0.0
        self._state = ""
        self._ended = threading.Event()

    def __enter__(self) -> "Step":
        if self._terminal:
            threading.Thread(target=self._tick, daemon=True).start()
        else:
            say(f"{self._title} ...")
        return self

    def update(self, done: int, total: int, detail: str = "") -> None:
        """Show that `done` of `total` parts are finished; detail names what is under way."""
        fraction = min(done / total, 1.0) if total > 0 else 0.0
        if self._terminal:
            filled = round(_BAR * fraction)
            self._state = f"[{'#' * filled}{'.' * (_BAR - filled)}] {fraction:4.0%} {detail}"
            self._draw()
        elif fraction - self._shown >= _PLAIN_FRACTION and fraction < 1.0:
            self._shown = fraction
            say(f"{self._title}: {fraction:.0%} ({done} of {total})")

    def _tick(self) -> None:
        self._draw()
        while not self._ended.wait(_TICK):
            self._draw()

    def _draw(self) -> None:
        elapsed = time.monotonic() - self._start
        line = f"diffbot: {self._title} {elapsed:.0f} s {self._state}"
        print(f"\r\033[K{line[:_WIDTH]}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        elapsed = time.monotonic() - self._start
        start = "\r\033[K" if self._terminal else ""
        result = "done" if error is None else "not finished"
        text = f"{start}diffbot: {self._title}: {result} ({elapsed:.1f} s)"
        print(text, file=sys.stderr, flush=True)
