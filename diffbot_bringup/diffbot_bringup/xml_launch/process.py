"""One running process of a launch: its start, its output, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TextIO

from diffbot_bringup.xml_launch.node import ProcessDescription

# ---
# Ends the processes of a launch when the launch itself is killed and can no longer do so.
#
# The guard is a fork of the runner in a session of its own. It knows the process groups from a
# pipe; the end of the pipe without a word of farewell means that the runner is gone. It then does
# what the runner would have done: SIGINT first, so that a node can still command zero torque.

# Seconds that a process has after SIGINT, and after SIGTERM, before the next signal.
GRACE = (5.0, 5.0)


def signal_group(group: int, number: int) -> bool:
    """Send a signal (0: only ask) to a process group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_groups(groups: Iterable[int], ladder: Iterable[tuple[int, float]]) -> None:
    """Signal groups step by step: (signal, seconds to wait) until none is left."""
    left = list(groups)
    for number, patience in ladder:
        left = [group for group in left if signal_group(group, number)]
        deadline = time.monotonic() + patience
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = [group for group in left if signal_group(group, 0)]


class Guard:
    """The runner's end of the pipe. Start it before the first process and close it last."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()  # both close on exec, so only fork and runner have them
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._writing)
            _watch(reading)
        os.close(reading)

    def add_myself(self) -> None:
        """Announce the calling process as a group; called in a child before it runs its program."""
        os.write(self._writing, b"+%d\n" % os.getpid())

    def remove(self, group: int) -> None:
        """Forget a group that has ended."""
        with contextlib.suppress(BrokenPipeError):  # somebody has killed the guard
            os.write(self._writing, b"-%d\n" % group)

    def close(self) -> None:
        """End the guard; groups that it still knows are ended by it."""
        os.close(self._writing)
        os.waitpid(self._pid, 0)


def _watch(pipe: int) -> None:
    """Body of the guard; never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # do not keep the launch's terminal or pipes open
            os.dup2(null, descriptor)
        groups: set[int] = set()
        with os.fdopen(pipe, "rb") as lines:
            for line in lines:
                (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
        end_groups(
            groups,
            ((signal.SIGINT, GRACE[0]), (signal.SIGTERM, GRACE[1]), (signal.SIGKILL, 1.0)),
        )
    finally:
        os._exit(0)


# ---
# Copies the output of a process to the terminal, line by line, and to its log file.

_READS = 16  # at a time: who writes without end must not keep the runner from all else


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
        """The descriptor to wait on."""
        return self._source.fileno()

    def pump(self) -> bool:
        """Copy what is there, of much only a part; False at the end of the output."""
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
        with contextlib.suppress(BrokenPipeError):  # the reader of our output has gone
            self._screen.write(text)
            self._screen.flush()

    def close(self) -> None:
        """Copy the last piece, an unfinished line too, and close."""
        if self._source.closed:
            return
        self.pump()
        self._show([self._rest] if self._rest else [])
        self._source.close()


# ---
# Where the output of processes with ``output="log"`` or ``"both"`` goes.


def root() -> Path:
    """Return ROS's log folder: ROS_LOG_DIR, else ``$ROS_HOME/log``, else ``~/.ros/log``.

    A checkout that has a ``.diffbot`` folder in the current directory logs there.
    """
    if directory := os.environ.get("ROS_LOG_DIR"):
        return Path(directory).expanduser()
    if Path(".diffbot").is_dir():
        return Path(".diffbot", "log").absolute()
    return Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser() / "log"


class LogDirectory:
    """A folder for one launch, made when the first process needs it."""

    def __init__(self, name: str) -> None:
        self._path = root() / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-{name}-{os.getpid()}"

    def file(self, process: str) -> Path:
        """Return the path of the log file of a process; its folder exists afterwards."""
        self._path.mkdir(parents=True, exist_ok=True)
        return self._path / f"{process}.log"


LAST_LINES = 20  # of the log file, shown when a process fails


class Process:
    """A child in a session of its own, so that the terminal's Ctrl-C reaches it through us only.

    With output "screen" it inherits the terminal: a node may draw and redraw a table there.
    """

    def __init__(
        self, description: ProcessDescription, guard: Guard, log: LogDirectory, files: Path
    ) -> None:
        """Start the process. Raises OSError when the program cannot be run.

        `files` is a folder for the parameter files of this process.
        """
        self.description = description
        self.log_file = None if description.output == "screen" else log.file(description.name)
        self.tees: list[Tee] = []
        self.code: int | None = None
        self._guard = guard
        files.mkdir()
        sink: IO[bytes] | None = open(self.log_file, "ab", 0) if self.log_file else None  # noqa: SIM115
        try:
            self._popen = subprocess.Popen(
                description.arguments(files),
                env=description.environment,
                cwd=description.directory or None,
                stdin=subprocess.DEVNULL,
                stdout={"screen": None, "log": sink, "both": subprocess.PIPE}[description.output],
                stderr=None if sink is None else subprocess.PIPE,
                start_new_session=True,
                preexec_fn=guard.add_myself,
            )
        except BaseException:
            if sink:
                sink.close()
            raise
        self.pid = self._popen.pid
        if sink:
            self._copy(sink)

    def _copy(self, sink: IO[bytes]) -> None:
        """Standard error (and standard output for "both") go to the terminal and to the file."""
        for stream, screen in ((self._popen.stdout, sys.stdout), (self._popen.stderr, sys.stderr)):
            if stream:
                self.tees.append(Tee(stream, screen, self.description.name, sink))
        self._sink = sink

    def poll(self) -> bool:
        """True once the process has ended; `code` is then its exit code (negative: the signal)."""
        self.code = self._popen.poll()
        if self.code is None:
            return False
        if not self.group_alive():
            self._guard.remove(self.pid)
        return True

    def close(self) -> None:
        """Read what is left of the output and close the log file; call it after the end."""
        for tee in self.tees:
            tee.close()
        if self.log_file:
            self._sink.close()

    def signal(self, number: int) -> None:
        """Send a signal to the process and to what it has started."""
        signal_group(self.pid, number)

    def group_alive(self) -> bool:
        """True while the process or something it has started is there."""
        return signal_group(self.pid, 0)

    def last_lines(self) -> str:
        """Return the end of the log file, to explain a failure."""
        if self.log_file is None or not os.path.exists(self.log_file):
            return ""
        lines = self.log_file.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join([f"last lines of {self.log_file}:", *(f"    {line}" for line in lines)])
