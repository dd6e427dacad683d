# SPDX-License-Identifier: Apache-2.0
"""Runner for the processes of a launch: waits until all have ended and leaves none behind.

A process that fails ends the others, but for observers: nodes whose names begin with an underscore.

Exit status
    0    every process ended with 0, or stopped cleanly when asked to
    1    a process failed or could not be started
    128 + the signal that stopped it: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP; 148 Ctrl-Z and SIGSTOP,
    as a stopped runner could not stop the robot (SIGTTIN 149, SIGTTOU 150)
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

from diffbot_bringup import leftovers
from diffbot_bringup.xml_launch.guard import GRACE, Guard, end_group, end_groups, signal_group
from diffbot_description.named_paths import expanded
from diffbot_node.launch_supervision import VARIABLE as FAILURES

# Packages whose executables let Ctrl-C through once Python has started (executables.py of
# diffbot_node), and have only temporary files in the folder of those.
_OUR_PACKAGES = (
    "diffbot_calibration",
    "diffbot_check",
    "diffbot_controllers",
    "diffbot_ident",
    "diffbot_learning",
    "diffbot_node",
    "diffbot_recordings",
    "diffbot_report",
    "diffbot_sim",
    "diffbot_view",
    "pose2d_trajectories",
)
OUTPUTS = ("screen", "log", "both")
LAST_LINES = 20  # lines of the log file that are shown when a process fails
_READS = 16  # reads per turn: a process with endless output must not block the runner


@dataclass(frozen=True)
class ParameterText:
    """Text of a parameter file that is written just before the process starts, and what it says."""

    text: str
    content: Any = field(compare=False)


@dataclass(frozen=True)
class ProcessDescription:
    """What to run, with which environment and output, and what its end means for the launch.

    `name` labels the process in messages (``ident-2``). `output`: "screen" (straight to the
    terminal), "log" (to a file, standard error also to the terminal), "both".
    """

    name: str
    command: tuple[str | ParameterText, ...]
    environment: dict[str, str]
    directory: str | None = None
    output: str = "log"
    shutdown_on_exit: bool = False
    looks_on: bool = False  # a hidden node: the others continue without it, and it ends with them
    place: str = ""  # file:line of the element, for messages

    @property
    def is_ours(self) -> bool:
        """Whether it is a node of the suite: it has only temporary files, and unblocks SIGINT."""
        return Path(str(self.command[0])).parent.name in _OUR_PACKAGES

    @property
    def is_composed(self) -> bool:
        return Path(str(self.command[0])).name == "composed"

    def arguments(self, folder: Path) -> list[str]:
        """Return the command line; parameter texts are written to files in `folder`."""
        words = []
        for number, word in enumerate(self.command):
            if isinstance(word, ParameterText):
                path = folder / f"parameters_{number}.yaml"
                path.write_text(word.text, encoding="utf-8")
                word = str(path)
            words.append(word)
        return words

    def __str__(self) -> str:
        """Return the command in shell syntax, with the parameter texts inserted."""
        return " ".join(
            f"<{' '.join(word.text.split())}>"
            if isinstance(word, ParameterText)
            else shlex.quote(word)
            for word in self.command
        )


class LogDirectory:
    """The log folder of one launch, in ROS's log folder; created when something is logged.

    That is ROS_LOG_DIR, or ``$ROS_HOME/log``, or ``~/.ros/log``.
    """

    def __init__(self, launch: str) -> None:
        if directory := os.environ.get("ROS_LOG_DIR"):
            root = expanded(directory)
        else:
            root = expanded(os.environ.get("ROS_HOME", "~/.ros")) / "log"
        self._root = root
        self._path = root / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-{launch}-{os.getpid()}"
        self.commands = self._path / "launch.log"

    def prune(self) -> None:
        """Remove the oldest logs of earlier launches; see leftovers.prune_logs."""
        leftovers.prune_logs(self._root)

    def file(self, name: str) -> Path:
        """Return the path of a log file; creates its folder."""
        self._path.mkdir(parents=True, exist_ok=True)
        return self._path / f"{name}.log"

    def note(self, description: ProcessDescription) -> None:
        """Log a command line. A full disk costs the log entry, not the launch."""
        with contextlib.suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
            with self.commands.open("a", encoding="utf-8") as file:
                file.write(f"[{description.name}] {description.place}: {description}\n")


class Tee:
    """The runner's end of a process's output pipe; reading never blocks."""

    def __init__(self, source: IO[bytes], screen: TextIO, name: str, sink: IO[bytes]) -> None:
        self._source = source
        self._screen = screen
        self._prefix = f"[{name}] "
        self._sink = sink
        self._rest = b""
        os.set_blocking(source.fileno(), False)

    def fileno(self) -> int:
        return self._source.fileno()

    def pump(self) -> bool:
        """Copy the available output, at most _READS pieces; return False at its end."""
        for _ in range(_READS):
            try:
                data = os.read(self.fileno(), 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._sink.write(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._show(lines)
        return True

    def _show(self, lines: list[bytes]) -> None:
        if not lines:
            return
        text = "".join(f"{self._prefix}{line.decode(errors='replace')}\n" for line in lines)
        self._screen.write(text)
        self._screen.flush()

    def close(self) -> None:
        """Copy the remaining output, including an unfinished line, and close."""
        if self._source.closed:
            return
        self.pump()
        self._show([self._rest] if self._rest else [])
        self._source.close()


class Process:
    """A child in a session of its own, so that Ctrl-C reaches it only through the runner."""

    def __init__(
        self, description: ProcessDescription, guard: Guard, log: LogDirectory, files: Path
    ) -> None:
        """Start the process, with a folder for its parameter files; OSError if it cannot be run."""
        self.description = description
        self.log_file = None if description.output == "screen" else log.file(description.name)
        self.tees: list[Tee] = []
        self.code: int | None = None
        self._guard = guard
        files.mkdir()
        self._sink = sink = open(self.log_file, "ab", 0) if self.log_file else None  # noqa: SIM115
        try:
            self._popen = subprocess.Popen(
                description.arguments(files),
                env=description.environment,
                cwd=description.directory or None,
                stdin=subprocess.DEVNULL,
                stdout={"screen": None, "log": sink, "both": subprocess.PIPE}[description.output],
                stderr=None if sink is None else subprocess.PIPE,
                start_new_session=True,
                preexec_fn=self._before_program,
            )
        except BaseException:
            if sink:
                sink.close()
            raise
        self.pid = self._popen.pid
        if sink:
            for pipe, screen in (
                (self._popen.stdout, sys.stdout),
                (self._popen.stderr, sys.stderr),
            ):
                if pipe:
                    self.tees.append(Tee(pipe, screen, description.name, sink))

    def _before_program(self) -> None:
        self._guard.add_myself()
        if self.description.is_ours:
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))

    def poll(self) -> bool:
        """Return whether it has ended; `code` is then its exit code (negative: the signal)."""
        self.code = self._popen.poll()
        if self.code is None:
            return False
        if not self.group_alive():
            self._guard.remove(self.pid)
        return True

    def close(self) -> None:
        """Read the remaining output and close the log file; call it after the process has ended."""
        for tee in self.tees:
            tee.close()
        if self._sink:
            self._sink.close()

    def signal(self, number: int) -> None:
        """Send an ending signal to the process and its descendants in the same group."""
        end_group(self.pid, number)

    def stopped_by(self) -> str:
        """Return the signal that has stopped the process since the last call; empty if none has."""
        with contextlib.suppress(ChildProcessError):
            if result := os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG):
                return signal.Signals(result.si_status).name
        return ""

    def group_alive(self) -> bool:
        """Return whether the process or one it has started still runs."""
        return signal_group(self.pid, 0)

    def last_lines(self) -> str:
        """Return the last lines of the log file, to explain a failure."""
        if self.log_file is None or not os.path.exists(self.log_file):
            return ""
        lines = self.log_file.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join([f"last lines of {self.log_file}:", *(f"    {line}" for line in lines)])


_SUSPENDING = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *_SUSPENDING)
_GIVE_UP = 2.0  # s after SIGKILL: the kernel does not end a process that waits for a broken device
_STUCK = 0.3  # s without anybody reading our output; after that, output no longer delays a stop
# Exit codes of a process that stopped as requested, by the signal that was sent.
_STOPPED_WELL = {
    signal.SIGINT: (0, -signal.SIGINT, 128 + signal.SIGINT),
    signal.SIGTERM: (0, -signal.SIGINT, 128 + signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM),
}


class Supervisor:
    """Starts processes, waits for them and stops them: SIGINT, then SIGTERM, then SIGKILL."""

    def __init__(
        self,
        descriptions: list[ProcessDescription],
        name: str,
        grace: tuple[float, float] = GRACE,
    ) -> None:
        """`name` names the log folder; `grace`: times [s] after SIGINT and after SIGTERM."""
        self._descriptions = descriptions
        self._log = LogDirectory(name)
        self._grace = grace
        self._running: list[Process] = []
        self._leftovers: list[int] = []  # groups whose first process has ended while others run
        self._received: list[int] = []
        self._stopped_by: int | None = None
        self._failed: dict[str, str] = {}  # what failed -> the reason it gave
        # (signal, time at which to send it), signal 0: give up; None: not stopping
        self._ladder: list[tuple[int, float]] | None = None
        self._sent = signal.SIGINT

    def run(self) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        self._selector = selectors.DefaultSelector()
        with (
            self._selector,
            self._signals(),
            leftovers.temporary_folder() as files,
        ):
            leftovers.sweep()
            self._log.prune()
            self._failures = files / "failures"
            self._guard = Guard(files)
            try:
                self._start(files)
                self._handle_signals()
                while self._running:
                    self._process_events()
                self._sweep()
            finally:
                self._guard.close()
        if self._failed:
            say("ERROR", f"failed: {', '.join(self._failed)}")
            return 1
        return 0 if self._stopped_by is None else 128 + self._stopped_by

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Make signals, including the end of a child, wake the selector."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

        def receive(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGTTOU:  # each write to the terminal would bring it again
                signal.signal(number, signal.SIG_IGN)
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
            if description.is_ours:
                description.environment["TMPDIR"] = str(files)
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

    def _process_events(self) -> None:
        timeout = None
        if self._ladder:
            timeout = max(0.0, self._ladder[0][1] - time.monotonic())
        for key, _ in self._selector.select(timeout):
            more_to_come = key.data()
            if not more_to_come:
                self._selector.unregister(key.fileobj)
        self._handle_signals()
        for process in [process for process in self._running if process.poll()]:
            self._ended(process)
        self._look_for_stopped()
        if self._ladder and time.monotonic() >= self._ladder[0][1]:
            self._escalate(self._ladder.pop(0)[0])

    def _look_for_stopped(self) -> None:
        """End the run if the guard, or one of several processes, was stopped or killed."""
        groups = [*(process.pid for process in self._running), *self._leftovers]
        if why := self._guard.trouble(groups):
            if self._ladder is None:
                self._fail(why)
            self._stop(why)
        for process in self._running:
            if not (name := process.stopped_by()):
                continue
            description = process.description
            if self._ladder is not None:
                signal_group(process.pid, signal.SIGCONT)  # or it would not hear how to end
            elif not (description.looks_on or description.is_composed):
                self._fail(f"{description.name} (stopped by {name})")
                self._stop(f"{description.name} was stopped by {name}")

    def _sweep(self) -> None:
        end_groups(self._leftovers, ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0)))
        for group in self._leftovers:
            self._guard.remove(group)

    def _handle_signals(self) -> None:
        while self._received:
            self._interrupt(self._received.pop(0))

    def _interrupt(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._stopped_by is not None:
            when = self._ladder[0][1] - time.monotonic() if self._ladder else 0.0
            say("WARNING", f"{name} again: already stopping, next signal in {max(when, 0.0):.0f} s")
            return
        self._stopped_by = number
        if number in _SUSPENDING:
            name = f"the launch was stopped ({name}), and could not have stopped the robot"
        self._stop({signal.SIGINT: "Ctrl-C (SIGINT)"}.get(signal.Signals(number), name))

    def _stop(self, reason: str) -> None:
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

    def _escalate(self, number: int) -> None:
        names = ", ".join(process.description.name for process in self._running)
        if not number:
            say("ERROR", f"still running after SIGKILL: {names}; not waiting any longer")
            left = (f"{process.description.name} (left)" for process in self._running)
            self._failed |= dict.fromkeys(left, "")
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

    def failed(self) -> list[str]:
        """Return what has failed so far, each with the reason it gave."""
        return [f"{what}: {why}" if why else what for what, why in self._failed.items()]

    def _fail(self, what: str, number: int | None = None) -> None:
        """Record a failure, with the reason that process `number` gave, for the other processes."""
        self._failed[what] = "" if number is None else last_words(self._failures, number)
        tell_failures(self._failures, self.failed())

    def _ended(self, process: Process) -> None:
        self._running.remove(process)
        for tee in process.tees:
            with contextlib.suppress(KeyError):
                self._selector.unregister(tee)
        process.close()
        if process.group_alive():
            self._leftovers.append(process.pid)
        code, description = process.code, process.description
        well = (0,) if self._ladder is None else _STOPPED_WELL.get(self._sent, (0,))
        if code not in well and description.looks_on:
            say("WARNING", f"has died (exit code {code}); the others continue", description.name)
        elif code not in well:
            self._fail(f"{description.name} (exit code {code})", process.pid)
            say(
                "ERROR",
                f"process has died [pid {process.pid}, exit code {code}]; its command line is in "
                f"{self._log.commands}",
                description.name,
            )
            if lines := process.last_lines():
                print(lines, file=sys.stderr, flush=True)
            # The rest of a graph that moves a robot must not continue.
            self._stop(f"{description.name} has failed")
        elif description.shutdown_on_exit:
            self._stop(f"{description.name} has ended")
        if self._running and all(each.description.looks_on for each in self._running):
            self._stop("the run has ended")


def tell_failures(path: Path, failed: Sequence[str]) -> None:
    """Write the file atomically. A full disk costs the explanation, not the launch."""
    partial = path.with_name(path.name + ".partial")
    with contextlib.suppress(OSError):
        partial.write_text("".join(f"{name}\n" for name in failed), encoding="utf-8")
        partial.replace(path)


def last_words(failures: Path, number: int) -> str:
    """Return the reason, in one line, that a process wrote next to `failures`; empty if none."""
    with contextlib.suppress(OSError):
        return Path(f"{failures}.{number}").read_text(encoding="utf-8", errors="replace")
    return ""


def _drop_stuck_output() -> None:
    """Redirect output to /dev/null if a write blocks (stopped terminal or unread pipe)."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError, ValueError):
            if not select.select((), (descriptor,), (), _STUCK)[1]:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, descriptor)
                os.close(null)


def say(level: str, text: str, source: str = "launch") -> None:
    """Print a message to standard error, formatted as by `ros2 launch`."""
    print(f"[{level}] [{source}]: {text}", file=sys.stderr, flush=True)
