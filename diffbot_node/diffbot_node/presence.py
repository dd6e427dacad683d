# SPDX-License-Identifier: Apache-2.0
"""Presence of a node's partners in wall time, and how often a warning is repeated."""

from __future__ import annotations

import re
import time

from rclpy.impl.rcutils_logger import RcutilsLogger

# A partner that has been missing for so long has left, s.
PARTING = 1.0
# Wall time between two reminders, s.
WAITING_PERIOD = 3.0


class Presence:
    """Tracks whether the partners of a node are there, have left, or were awaited in vain.

    Args:
        patience: How long to wait for them, s; 0: for ever.
        parting: Partners that have been missing for so long count as gone, s.

    Attributes:
        met: Whether they have been seen at least once.
    """

    def __init__(self, patience: float, parting: float = 0.0) -> None:
        self._patience, self._parting = patience, parting
        self.met = False
        self._since = self._reminded = time.monotonic()
        self._missed: float | None = None  # since when they have been missing, s

    def keep_waiting(self) -> None:
        """Restart the waiting time."""
        self._since = time.monotonic()

    @property
    def waited(self) -> float:
        """Time waited so far, s."""
        return time.monotonic() - self._since

    @property
    def waits_long(self) -> bool:
        return self.waited > WAITING_PERIOD

    @property
    def gave_up(self) -> bool:
        return 0.0 < self._patience < self.waited

    def have_left(self, there: bool) -> bool:
        """Note whether they are there; return whether they have been away for `parting` s."""
        self.met = self.met or there
        now = time.monotonic()
        self._missed = None if there else self._missed or now
        return self._missed is not None and now - self._missed >= self._parting

    def leave(self, there: bool, log: RcutilsLogger, gone: str, absent: str) -> int | None:
        """Return the exit status of a node that ends with its partners; None while it continues.

        It logs `gone` if they have left (status 0), `absent` if they were awaited in vain (1).
        """
        if not self.have_left(there):
            return None
        if self.met:
            log.info(gone)
            return 0
        if self.gave_up:
            log.error(absent)
            return 1
        return None

    def reminds(self) -> bool:
        """Whether a reminder is due; if so, it counts as logged."""
        due = time.monotonic() - self._reminded > WAITING_PERIOD
        if due:
            self._reminded = time.monotonic()
        return due


NUMBERS = re.compile(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?")
PERIOD = 1.0  # s of wall time between two complaints of one kind


class Complaints:
    """Lets each kind of sentence pass once a second; a kind's sentences differ in numbers only."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def due(self, what: str) -> bool:
        """Whether a sentence may be logged now; if so, it counts as logged."""
        now, kind = time.monotonic(), NUMBERS.sub("", what)
        if now - self._logged.get(kind, -PERIOD) < PERIOD:
            return False
        self._logged[kind] = now
        return True
