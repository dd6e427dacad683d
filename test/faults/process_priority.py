# SPDX-License-Identifier: Apache-2.0
"""Real-time priority, as recommended for a commanding process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

PRIORITY = 10  # SCHED_FIFO priority


@contextlib.contextmanager
def urgent() -> Iterator[bool]:
    """Run this thread, and the threads and processes that it starts, before all other programs.

    Yields:
        Whether the machine allows it; if not, nothing changes.
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
