# SPDX-License-Identifier: Apache-2.0
"""Real-time priority, as who commands a robot should have it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

PRIORITY = 10  # of SCHED_FIFO


@contextlib.contextmanager
def urgent() -> Iterator[bool]:
    """Run this thread, and those and the processes that it starts, before all other programs.

    Yields:
        Whether the machine allows it; where not, everything goes on as it is.
    """
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if policy == os.SCHED_FIFO:
        yield True
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, policy, parameters)
