# SPDX-License-Identifier: Apache-2.0
"""A second process says in the terminal if the live view dies: its stop button dies with it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

NOTICE = (
    "\n*** THE LIVE VIEW HAS DIED: ITS STOP BUTTON DOES NOTHING ANY MORE. ***\n"
    "*** The robot's nodes go on. Stop them with Ctrl-C where they run, or press the robot's own "
    "emergency stop. ***\n"
    "*** A new view: ./diffbot view, or ros2 run diffbot_view live_view ***\n\n"
)
_ENDED_WELL = b"."


def with_notice(run: Callable[[], int]) -> int:
    """Call a function, and return its status; if the process dies in it, NOTICE is printed.

    A status of 128 and a signal is an end that was asked for, as by the end of a launch.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(writing)
        _wait(reading)
    os.close(reading)
    status = run()
    if status == 0 or status > 128:
        os.write(writing, _ENDED_WELL)
    os.close(writing)
    return status


def _wait(pipe: int) -> None:
    try:
        os.setsid()  # Ctrl-C and the launcher's signals are for the other one
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if os.read(pipe, 1) != _ENDED_WELL:
            sys.stderr.write(NOTICE)
            sys.stderr.flush()
    finally:
        os._exit(0)
