"""Ends the processes of a launch when the launch itself is killed and can no longer do so.

The guard is a fork of the runner in a session of its own. It knows the process groups from a
pipe; the end of the pipe without a word of farewell means that the runner is gone. It then does
what the runner would have done: SIGINT first, so that a node can still command zero torque.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable

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
