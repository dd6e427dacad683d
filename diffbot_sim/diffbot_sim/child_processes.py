# SPDX-License-Identifier: Apache-2.0
"""Programs that a node starts, monitors and stops: one, or those of a run (`Launch`)."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Times to end after SIGINT, and then after SIGTERM, s.
GRACE = (3.0, 1.5)
# Wall time after which a failed step is tried again, s.
RETRY = 2.0
PR_SET_PDEATHSIG = 1
# Not to be loaded between fork and exec of a process with threads.
_LIBC = ctypes.CDLL(None)


class ChildProcess:
    """One program; OSError if it cannot be started.

    Args:
        name: Name for messages.
        command: Command line.
        environment: Variables in addition to this process's own; None removes one.
        output: File for its output; None: the terminal.
        inherited: File descriptors that it inherits.
        death_signal: Signal that it receives when this process is killed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str | None] | None = None,
        output: Path | None = None,
        inherited: Sequence[int] = (),
        death_signal: int = signal.SIGTERM,
    ) -> None:
        self.name = name
        variables = {**os.environ, **(environment or {})}
        with contextlib.ExitStack() as files:
            log = None if output is None else files.enter_context(output.open("a"))
            self._process = subprocess.Popen(
                list(command),
                env={key: value for key, value in variables.items() if value is not None},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=None if log is None else subprocess.STDOUT,
                pass_fds=inherited,
                # Ctrl-C must reach only the node, which then stops its children.
                start_new_session=True,
                preexec_fn=lambda: _die_with_parent(death_signal),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs."""
        return self._process.poll()

    def wait(self, patience: float) -> int | None:
        """Return the exit status; None if it still runs after `patience`, s."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: int) -> bool:
        """Send a signal to it and all that it has started; return False if none of them is left."""
        self._process.poll()  # otherwise it would remain a zombie and count as running
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True


def _die_with_parent(number: int) -> None:
    """Make the kernel send this signal when the parent is killed; called in the new process."""
    # Processes in a shell's background ignore SIGINT, and so would their children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _LIBC.prctl(PR_SET_PDEATHSIG, number)


def stop_all(processes: Sequence[ChildProcess], grace: tuple[float, float] = GRACE) -> None:
    """End the processes and what they have started: SIGINT, later SIGTERM, later SIGKILL."""
    running = list(processes)
    for number, patience in zip(
        (signal.SIGINT, signal.SIGTERM, signal.SIGKILL), (*grace, 1.0), strict=True
    ):
        running = [process for process in running if process.signal(number)]
        end = time.monotonic() + patience
        while (running := [p for p in running if p.signal(0)]) and time.monotonic() < end:
            time.sleep(0.02)
        if not running:
            return


@dataclass(frozen=True)
class ProgramStep:
    """A program to run until it ends with status 0, or once if it `may_fail`."""

    name: str
    command: Sequence[str]
    may_fail: bool = False


@dataclass
class _Attempt:
    """An attempt of a step: start of its first one, and when its failure was noticed, s."""

    step: ProgramStep
    process: ChildProcess
    since: float
    failed: float | None = None


class Launch:
    """Programs that run as long as a run, and steps that end one after the other before it.

    Args:
        environment: Variables for all programs, in addition to this process's own.
        patience: Wall time that each step may take, s.
    """

    def __init__(
        self, environment: Mapping[str, str | None] | None = None, patience: float = math.inf
    ) -> None:
        self.environment = environment or {}
        self.retries = True
        self._patience = patience
        self._needed: list[ChildProcess] = []
        self._optional: list[ChildProcess] = []
        self._steps: Iterator[ProgramStep] = iter(())
        self._attempt: _Attempt | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def file(self, name: str, text: str) -> Path:
        """Write a file that exists as long as the run; return its path."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gazebo_")
        path = Path(self._folder.name) / name
        path.write_text(text)
        return path

    def start(self, name: str, command: Sequence[str], optional: bool = False) -> None:
        """Start a program that must run as long as the run; an optional one may end earlier."""
        process = ChildProcess(name, command, self.environment)
        (self._optional if optional else self._needed).append(process)

    def begin(self, steps: Iterable[ProgramStep]) -> None:
        """Start the first of the steps; `fault` proceeds with the others."""
        self._steps = iter(steps)
        self._next_step()

    @property
    def is_ready(self) -> bool:
        return self._attempt is None

    def fault(self) -> str | None:
        """Return what has gone wrong, if anything, and proceed with the steps; call it often."""
        for process in self._needed:
            if process.status is not None:
                return f"{process.name} has ended with status {process.status}"
        return None if self._attempt is None else self._check_attempt(self._attempt)

    def _check_attempt(self, attempt: _Attempt) -> str | None:
        step, status, now = attempt.step, attempt.process.status, time.monotonic()
        is_late = now - attempt.since > self._patience
        if status is None:
            return f"{step.name} has not ended in {self._patience:g} s" if is_late else None
        if status == 0 or step.may_fail:
            self._next_step()
        elif is_late:
            return f"{step.name} failed with status {status}"
        elif attempt.failed is None:
            attempt.failed = now
        elif self.retries and now - attempt.failed > RETRY:
            self._try(step, attempt.since)
        return None

    def _next_step(self) -> None:
        self._attempt = None
        if (step := next(self._steps, None)) is not None:
            self._try(step, time.monotonic())

    def _try(self, step: ProgramStep, since: float) -> None:
        process = ChildProcess(step.name, step.command, self.environment)
        self._attempt = _Attempt(step, process, since)

    def stop(self) -> None:
        steps = [] if self._attempt is None else [self._attempt.process]
        stop_all([*self._needed, *self._optional, *steps])
        self._needed.clear()
        if self._folder is not None:
            self._folder.cleanup()
