# SPDX-License-Identifier: Apache-2.0
"""Nodes as separate processes with a fast start.

A server process loads the nodes' modules once and forks a process for each node (the standard
library's forkserver): a start takes only the node's own time, without loading modules. The process
runs the executable's own function, with its own signals, context and DDS participant.

All of them end at any end of this process: each ends with the server, and the server with this
process.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path

from diffbot_sim.child_processes import PR_SET_PDEATHSIG

PRELOADED = (
    "faults.process_server",
    "faults.process_failing_law",
    "diffbot_node.effort_watchdog_node",
    "diffbot_ident.ident_node",
    "diffbot_ident.estimator_node",
    "diffbot_sim.simulator_node",
    "pose2d_trajectories.trajectory_node",
    "xacro",
    "mujoco",
)


def run_executable(
    module: str, executable: str, words: Sequence[str], variables: Mapping[str, str], log: str
) -> None:
    """Body of a node's process; ends it with the executable's exit status.

    Args:
        module: Module with the executable's function.
        executable: Name of that function.
        words: Words of the command line.
        variables: Environment variables.
        log: File for the node's output.
    """
    os.setsid()  # Ctrl-C at a terminal only reaches the command, which then ends its nodes
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The server ends when no process holds this pipe any more: a node must not keep it open.
    os.close(forkserver._forkserver._forkserver_alive_fd)
    with open(log, "ab", 0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.update(variables)
    sys.argv = [executable, *words]
    sys.exit(getattr(importlib.import_module(module), executable)())


class NodeProcess:
    """One node in a process.

    Args:
        module: Module with the executable's function.
        executable: Name of that function.
        words: Words of the command line.
        variables: Environment variables in addition to those of this process.
        log: File for its output.
    """

    def __init__(
        self,
        module: str,
        executable: str,
        words: Sequence[str],
        variables: Mapping[str, str],
        log: Path,
    ) -> None:
        self._log = log
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        self._process = context.Process(
            target=run_executable,
            args=(module, executable, tuple(words), dict(variables), str(log)),
            daemon=True,
        )
        self._process.start()

    @property
    def number(self) -> int:
        """Process id."""
        number = self._process.pid
        assert number is not None
        return number

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.is_alive()

    @property
    def status(self) -> int | None:
        """Exit status, negative for the signal that ended it; None while it runs."""
        return self._process.exitcode

    @property
    def has_priority(self) -> bool:
        """Whether it runs at real-time priority."""
        return self.running and os.sched_getscheduler(self.number) == os.SCHED_FIFO

    def signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, number)

    def wait(self, patience: float) -> bool:
        """Wait for its end; return whether it has ended within `patience` s."""
        self._process.join(patience)
        return not self.running

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self.signal(signal.SIGKILL)
        self._process.join()

    def said(self, since: int = 0) -> str:
        """Return its log from byte `since` on."""
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace")
        return ""

    @property
    def place(self) -> int:
        """Return the length of its log, bytes."""
        with contextlib.suppress(FileNotFoundError):
            return self._log.stat().st_size
        return 0
