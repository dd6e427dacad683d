# SPDX-License-Identifier: Apache-2.0
"""The executables of this package, and how those of all packages start."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from importlib import import_module

# The least: before all ordinary processes, after all others in real time.
REAL_TIME_PRIORITY = 1


def executable(module: str, name: str) -> Callable[[], int]:
    """An entry point that runs the node, or calls the function, of this name in a module.

    The module is loaded when the entry point is called, with SIGINT set to end the process: Ctrl-C
    while it still loads leaves no traceback.
    """

    def run() -> int:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        found = getattr(import_module(module), name)
        if not isinstance(found, type):
            return int(found())
        from diffbot_node.running import run_node

        return run_node(found)

    return run


def effort_watchdog() -> int:
    """Run the effort_watchdog node, in real time where that is allowed; returns the exit status.

    It has to be in time just when other programs overload the computer. Threads made later, those
    of DDS too, inherit the priority; an ordinary user needs a limit `rtprio` for it.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    return executable("diffbot_node.effort_watchdog_node", "EffortWatchdogNode")()
