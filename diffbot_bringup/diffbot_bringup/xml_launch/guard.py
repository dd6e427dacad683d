# SPDX-License-Identifier: Apache-2.0
"""The guard of a launch: a second process that acts when the runner cannot.

It is a fork of the runner in a session of its own, gets the process groups that run through a
socket, and looks at the runner's state in /proc every LOOK_PERIOD.

- When the socket closes while groups are listed, the runner is gone: the guard ends them, SIGINT
  first, so that a node can still command zero torque. Nobody is left then who would continue it,
  so it does this as two processes, each of which continues the other.
- When the runner is stopped (Ctrl-Z, SIGSTOP, SIGTTOU), the guard continues it with SIGTSTP
  pending: the runner then ends the run.
- When the run has ended, the guard stays until the runner has, and continues it if it is stopped.
- It removes the temporary files of a runner that is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from diffbot_node.launch_supervision import is_stopped

# Times after SIGINT and after SIGTERM, and between two looks at the runner's state, s.
GRACE, LOOK_PERIOD = (5.0, 5.0), 0.02
# Longest times for a guard to end groups, and to stay beside a runner whose run has ended, s.
_LEAVING_TIME, _LAST_TIME = sum(GRACE) + 2.0, 5.0
_PR_SET_PDEATHSIG = 1  # prctl(2)


def signal_group(group: int, number: int) -> bool:
    """Send a signal (0: only test) to a process group; return False when the group is empty."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_group(group: int, number: int) -> bool:
    """Send a group a signal that must arrive also if it is stopped; return False if it is empty."""
    return signal_group(group, number) and signal_group(group, signal.SIGCONT)


def end_groups(groups: Iterable[int], ladder: Iterable[tuple[int, float]]) -> None:
    """Send groups a sequence of signals: (signal, seconds to wait) until none is left."""
    left = list(groups)
    for number, patience in ladder:
        left = [group for group in left if end_group(group, number)]
        deadline = time.monotonic() + patience
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = [group for group in left if signal_group(group, 0)]


class Guard:
    """The runner's end of the socket. Start it before the first process and close it last."""

    def __init__(self, files: Path) -> None:
        """`files`: the folder of the launch's temporary files."""
        self._files = files
        self._start()

    def _start(self) -> None:
        self._socket, other = socket.socketpair()
        runner = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            self._socket.close()
            _watch(other, runner, self._files)
        other.close()

    def add_myself(self) -> None:
        """Register the calling process as a group; called in a child before its program."""
        with contextlib.suppress(BrokenPipeError):  # the guard was killed, see `trouble`
            self._socket.send(b"+%d\n" % os.getpid())

    def remove(self, group: int) -> None:
        """Forget a group that has ended."""
        with contextlib.suppress(BrokenPipeError):
            self._socket.send(b"-%d\n" % group)

    def trouble(self, groups: Iterable[int]) -> str:
        """Return what has kept the guard from acting, or ""; call it after each SIGCHLD.

        A stopped guard is continued, and a killed one replaced; `groups` are those that run.
        """
        try:
            result = os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            return ""
        if result is None:
            return ""
        if result.si_code == os.CLD_STOPPED:
            os.kill(self._pid, signal.SIGCONT)
            return "the launch's guard was stopped"
        self._socket.close()
        self._start()
        for group in groups:
            self._socket.send(b"+%d\n" % group)
        return "the launch's guard has been killed"

    def close(self) -> None:
        """Have the guard end the groups that are still registered, and wait until it has."""
        self._socket.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _LEAVING_TIME
        while not select.select((self._socket,), (), (), 0.002)[0]:  # until its end closes
            late = time.monotonic() > deadline
            os.kill(self._pid, signal.SIGKILL if late else signal.SIGCONT)
        self._socket.close()


def _watch(run: socket.socket, runner: int, files: Path) -> None:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            signal.signal(number, signal.SIG_DFL)  # instead of the runner's handlers
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # do not keep the launch's terminal or pipes open
            os.dup2(null, descriptor)
        if left := _left_by(run, runner):
            _end_together(left)
        if os.getppid() != runner:
            shutil.rmtree(files, ignore_errors=True)
        # From here on the guard ends with the runner.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        run.close()
        deadline = time.monotonic() + _LAST_TIME
        while os.getppid() == runner and time.monotonic() < deadline:
            if is_stopped(runner):
                os.kill(runner, signal.SIGCONT)
            time.sleep(LOOK_PERIOD)
    finally:
        os._exit(0)


def _end_together(groups: set[int]) -> None:
    """End groups as two processes; if the other one is killed, this one ends what is left."""
    ladder = ((signal.SIGINT, GRACE[0]), (signal.SIGTERM, GRACE[1]), (signal.SIGKILL, 1.0))
    guard = os.getpid()
    other = os.fork()
    if other == 0:
        try:
            end_groups(groups, ladder)
            if is_stopped(guard):
                os.kill(guard, signal.SIGCONT)
        finally:
            os._exit(0)
    while os.waitid(os.P_PID, other, os.WEXITED | os.WNOHANG) is None:
        if is_stopped(other):
            os.kill(other, signal.SIGCONT)
        time.sleep(LOOK_PERIOD)
    end_groups(groups, ladder)


def _left_by(run: socket.socket, runner: int) -> set[int]:
    """Return the groups that still run once the runner is gone; until then keep it from a stop."""
    groups: set[int] = set()
    rest = b""
    while True:
        if not select.select((run,), (), (), LOOK_PERIOD)[0]:
            if is_stopped(runner):
                # SIGCONT first: it removes a SIGTSTP that is pending.
                for number in (signal.SIGCONT, signal.SIGTSTP):
                    os.kill(runner, number)
            continue
        data = run.recv(4096)
        if not data:
            return groups
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            (groups.add if line.startswith(b"+") else groups.discard)(int(line[1:]))
