"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import contextlib
import os
import signal

# The least: before all ordinary processes, after all others in real time.
REAL_TIME_PRIORITY = 1


def effort_watchdog() -> int:
    """Run the effort_watchdog node, in real time where that is allowed; returns the exit status.

    It has to be in time just when other programs overload the computer. Threads made later, those
    of DDS too, inherit the priority; an ordinary user needs a limit `rtprio` for it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    from diffbot_node.effort_watchdog_node import EffortWatchdogNode
    from diffbot_node.running import run_node

    return run_node(EffortWatchdogNode)
