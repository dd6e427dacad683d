# SPDX-License-Identifier: Apache-2.0
"""Runs a tool of the set-up, with its output in a log file, and shows its progress."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_TAIL = 25
"""Number of the last output lines of a tool that are kept."""
_PATIENCE = 5.0
"""Time that an interrupted tool has to end before it is killed, s."""
_BAR = 24
_WIDTH = 100
_TICK = 1.0
"""Update period on a terminal, to show that a step still runs, s."""
_PLAIN_TICK = 5.0
"""Period of the progress lines without a terminal, s."""


class SetupError(Exception):
    """The set-up cannot continue; the message is one line with the remedy (exit status 1)."""


class ChildError(Exception):
    """A tool ended with a status other than zero."""

    def __init__(self, status: int, tail: Sequence[str], log: Path) -> None:
        super().__init__(f"exit status {status}")
        self.status = status
        self.tail = list(tail)
        self.log = log


def say(message: str) -> None:
    """Print one line."""
    print(f"diffbot: {message}", file=sys.stderr, flush=True)


class SetupStep:
    """One step of the set-up: a bar that fills on a terminal, a line every 5 s elsewhere."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._terminal = sys.stderr.isatty()
        self._start = time.monotonic()
        self._fraction = 0.0
        self._state = ""
        self._ended = threading.Event()

    def __enter__(self) -> SetupStep:
        if not self._terminal:
            say(f"{self._title} ...")
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def update(self, done: int, total: int, detail: str = "") -> None:
        """Show that `done` of `total` parts are finished; detail names what is under way."""
        self._fraction = min(done / total, 1.0) if total > 0 else 0.0
        self._state = detail
        if self._terminal:
            self._draw()

    def _tick(self) -> None:
        if self._terminal:
            self._draw()
        while not self._ended.wait(_TICK if self._terminal else _PLAIN_TICK):
            self._draw()

    def _draw(self) -> None:
        elapsed = time.monotonic() - self._start
        said = f"{self._title} {elapsed:.0f} s"
        if self._fraction > 0.0:
            filled = round(_BAR * self._fraction)
            bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] " if self._terminal else ""
            said += f" {bar}{self._fraction:4.0%} {self._state}"
        if self._terminal:
            print(f"\r\033[K{f'diffbot: {said}'[:_WIDTH]}", end="", file=sys.stderr, flush=True)
        else:
            say(said.rstrip())

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._ended.set()
        elapsed = time.monotonic() - self._start
        start = "\r\033[K" if self._terminal else ""
        result = "done" if error is None else "not finished"
        text = f"{start}diffbot: {self._title}: {result} ({elapsed:.1f} s)"
        print(text, file=sys.stderr, flush=True)


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    log: Path,
    lock: int,
    watch: Callable[[str], None] = lambda line: None,
    folder: Path | None = None,
) -> None:
    """Run command to its end, append its output to log and call watch for each of its lines.

    The tool inherits the lock's descriptor and works in folder, or the current one. ChildError: It
    fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=_TAIL)
    with log.open("a") as file:
        file.write(f"$ {' '.join(map(str, command))}\n")
        child = subprocess.Popen(
            [str(word) for word in command],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(lock,) if lock >= 0 else (),
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                file.write(line)
                file.flush()
                tail.append(line.rstrip())
                watch(line.rstrip())
            status = child.wait()
        except BaseException:
            _end(child)
            raise
    if status != 0:
        raise ChildError(status, tail, log)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
