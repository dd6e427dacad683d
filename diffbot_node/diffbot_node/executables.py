# SPDX-License-Identifier: Apache-2.0
"""The executables of this package, and the way all packages' executables start."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from diffbot_node.peers import PEERS, join_launch
from diffbot_node.same_names import same_names

# The lowest real-time priority: above all ordinary processes, below all other real-time ones.
REAL_TIME_PRIORITY = 1


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process without a word, as before it can do better.

    Also one that came while Python itself was starting: `./diffbot` blocks it until here, because
    Python would print where it was.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))


def executable(module: str, name: str) -> Callable[[], int]:
    """Return an entry point that runs the node, or calls the function, of this name in a module.

    The module is imported when the entry point is called, and Ctrl-C during the import leaves no
    traceback.
    """

    def run() -> int:
        end_on_interrupt()
        join_launch()
        status = 1
        try:
            found = getattr(import_module(module), name)
            if isinstance(found, type):
                from diffbot_node.running import run_node

                status = run_node(found)
            else:
                status = int(found())
            return status
        except ImportError:
            hiding = [o for o in same_names(os.environ.get("AMENT_PREFIX_PATH", "")) if o.used]
            if not hiding:
                raise
            print(*hiding, sep="\n", file=sys.stderr)
            return status
        finally:
            PEERS.leave(status)
            # At its exit Python looks for garbage among all objects, which takes longer than
            # everything else at the exit, although their memory is freed anyway.
            gc.freeze()

    return run


def effort_watchdog() -> int:
    """Run the effort_watchdog node and return its exit status.

    It runs with real-time priority if permitted, as it must be in time precisely when other
    programs overload the computer. Threads created later, also those of DDS, inherit the priority;
    an ordinary user needs a limit `rtprio` for it.
    """
    end_on_interrupt()
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    return executable("diffbot_node.effort_watchdog_node", "EffortWatchdogNode")()
