"""Runs the processes of a launch until all have ended, and leaves nothing behind.

Other than with `ros2 launch`, a process that fails ends the others too.

Exit status
    0    every process ended with 0, or well after being asked to stop by ``on_exit="shutdown"``
    1    a process failed or could not be started (it is named on standard error)
    130  stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP: 128 + the signal, as shells have it)
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from diffbot_bringup.xml_launch.process import (
    GRACE,
    Guard,
    LogDirectory,
    Process,
    ProcessDescription,
    end_groups,
)

# Of diffbot_node.running, which the reports read it with; to load ROS for it takes half a second.
FAILURES = "DIFFBOT_LAUNCH_FAILURES"
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GIVE_UP = 2.0  # s after SIGKILL: the kernel does not end a process that waits for a broken device
_STUCK = 0.3  # s for which nobody has read our output, after which it does not delay a stop
# Exit codes of a process that has stopped because it was asked to, by the signal sent.
_STOPPED_WELL = {
    signal.SIGINT: (0, -signal.SIGINT, 128 + signal.SIGINT),
    signal.SIGTERM: (0, -signal.SIGINT, 128 + signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM),
}


class Supervisor:
    """Starts processes, waits for them, and stops them: SIGINT, later SIGTERM, later SIGKILL."""

    def __init__(
        self,
        descriptions: list[ProcessDescription],
        name: str,
        grace: tuple[float, float] = GRACE,
    ) -> None:
        """`name` names the log folder; `grace` is [s] after SIGINT and after SIGTERM."""
        self._descriptions = descriptions
        self._log = LogDirectory(name)
        self._grace = grace
        self._running: list[Process] = []
        self._leftovers: list[int] = []  # groups whose first process has ended but others have not
        self._received: list[int] = []
        self._stopped_by: int | None = None
        self._failed: list[str] = []
        # (signal, when), 0: give up; None: not stopping
        self._ladder: list[tuple[int, float]] | None = None
        self._sent = signal.SIGINT

    def run(self) -> int:
        """Run everything and return the exit status described above."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._selector = selectors.DefaultSelector()
        with (
            self._selector,
            self._signals(),
            tempfile.TemporaryDirectory(prefix="launch_parameters_") as files,
        ):
            self._failures = Path(files) / "failures"
            self._guard = Guard()
            try:
                self._start(Path(files))
                self._obey()
                while self._running:
                    self._turn()
                self._sweep()
            finally:
                self._guard.close()
        if self._failed:
            say("ERROR", f"failed: {', '.join(self._failed)}")
            return 1
        return 0 if self._stopped_by is None else 128 + self._stopped_by

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Turn signals, the end of a child included, into something that wakes the selector."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

        def receive(number: int, _frame: FrameType | None) -> None:
            self._received.append(number)
            _drop_stuck_output()

        old_wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        old = {signal.SIGCHLD: signal.signal(signal.SIGCHLD, lambda *_: None)}
        for number in _STOP_SIGNALS:
            ignored = signal.getsignal(number) is signal.SIG_IGN
            if number == signal.SIGHUP and ignored:
                continue  # nohup: outlive the terminal
            old[number] = signal.signal(number, receive)

        def drain() -> bool:
            with contextlib.suppress(BlockingIOError):
                os.read(reading, 4096)
            return True

        self._selector.register(reading, selectors.EVENT_READ, drain)
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            self._selector.unregister(reading)
            os.close(reading)
            os.close(writing)

    def _start(self, files: Path) -> None:
        for number, description in enumerate(self._descriptions):
            if self._received:
                return
            self._log.note(description)
            description.environment[FAILURES] = str(self._failures)
            try:
                process = Process(description, self._guard, self._log, files / str(number))
            except OSError as error:
                program = description.command[0]
                say("ERROR", f"{description.place}: cannot start {program}: {error}")
                self._fail(description.name)
                self._stop("a process could not be started")
                return
            self._running.append(process)
            for tee in process.tees:
                self._selector.register(tee, selectors.EVENT_READ, tee.pump)

    def _turn(self) -> None:
        """Wait for a signal, output, an end or a deadline, and deal with it."""
        timeout = None
        if self._ladder:
            timeout = max(0.0, self._ladder[0][1] - time.monotonic())
        for key, _ in self._selector.select(timeout):
            more_to_come = key.data()
            if not more_to_come:
                self._selector.unregister(key.fileobj)
        self._obey()
        for process in [process for process in self._running if process.poll()]:
            self._ended(process)
        if self._ladder and time.monotonic() >= self._ladder[0][1]:
            self._climb(self._ladder.pop(0)[0])

    def _sweep(self) -> None:
        """End what ended processes have left running (a shell's background job ignores SIGINT)."""
        end_groups(self._leftovers, ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0)))
        for group in self._leftovers:
            self._guard.remove(group)

    def _obey(self) -> None:
        while self._received:
            self._interrupt(self._received.pop(0))

    def _interrupt(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._stopped_by is not None:
            when = self._ladder[0][1] - time.monotonic() if self._ladder else 0.0
            say("WARNING", f"{name} again: already stopping, by force in {max(when, 0.0):.0f} s")
            return
        self._stopped_by = number
        self._stop("Ctrl-C (SIGINT)" if number == signal.SIGINT else name)

    def _stop(self, reason: str) -> None:
        """Begin to stop everything; a second call changes nothing."""
        if self._ladder is not None:
            return
        if self._running:
            say("INFO", f"stopping: {reason}")
        now = time.monotonic()
        after_term = now + self._grace[0] + self._grace[1]
        self._ladder = [
            (signal.SIGTERM, now + self._grace[0]),
            (signal.SIGKILL, after_term),
            (0, after_term + _GIVE_UP),
        ]
        self._signal_all(signal.SIGINT)

    def _climb(self, number: int) -> None:
        names = ", ".join(process.description.name for process in self._running)
        if not number:
            say("ERROR", f"not even SIGKILL ends {names}; left behind")
            self._failed += [f"{process.description.name} (left)" for process in self._running]
            for process in self._running:
                self._guard.remove(process.pid)
            self._running.clear()
            return
        say("WARNING", f"still running: {names}; sending {signal.Signals(number).name}")
        self._signal_all(number)

    def _signal_all(self, number: int) -> None:
        self._sent = signal.Signals(number)
        for process in self._running:
            process.signal(number)

    def _fail(self, what: str) -> None:
        """Note it, where the others can read it when they are told to end."""
        self._failed.append(what)
        tell_failures(self._failures, self._failed)

    def _ended(self, process: Process) -> None:
        self._running.remove(process)
        for tee in process.tees:
            with contextlib.suppress(KeyError):
                self._selector.unregister(tee)
        process.close()
        if process.group_alive():
            self._leftovers.append(process.pid)
        code = process.code
        well = (0,) if self._ladder is None else _STOPPED_WELL.get(self._sent, (0,))
        if code not in well:
            description = process.description
            self._fail(f"{description.name} (exit code {code})")
            say(
                "ERROR",
                f"process has died [pid {process.pid}, exit code {code}]; its command line is in "
                f"{self._log.commands}",
                description.name,
            )
            if lines := process.last_lines():
                print(lines, file=sys.stderr, flush=True)
            # What is left of a graph that moves a robot has no business going on.
            self._stop(f"{description.name} has failed")
        elif process.description.shutdown_on_exit:
            self._stop(f"{process.description.name} has ended")


def tell_failures(path: Path, failed: Sequence[str]) -> None:
    """Write the file at one stroke. A disk that is full costs the explanation, not the launch."""
    partial = path.with_name(path.name + ".partial")
    with contextlib.suppress(OSError):
        partial.write_text("".join(f"{name}\n" for name in failed), encoding="utf-8")
        partial.replace(path)


def _drop_stuck_output() -> None:
    """Let a write that blocks, to a stopped terminal or an unread pipe, go on to nowhere.

    Called in a signal handler: afterwards Python repeats the write that the signal has interrupted.
    """
    for descriptor in (1, 2):
        with contextlib.suppress(OSError, ValueError):
            if not select.select((), (descriptor,), (), _STUCK)[1]:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, descriptor)
                os.close(null)


def say(level: str, text: str, source: str = "launch") -> None:
    """Tell the person who waits, as `ros2 launch` does."""
    print(f"[{level}] [{source}]: {text}", file=sys.stderr, flush=True)
