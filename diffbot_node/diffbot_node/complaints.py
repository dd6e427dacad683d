# SPDX-License-Identifier: Apache-2.0
"""Limits the rate of similar warnings in the log."""

from __future__ import annotations

import re
import time

NUMBERS = re.compile(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?")
PERIOD = 1.0  # s of wall time between two complaints of one kind


class Complaints:
    """Lets each kind of sentence pass once a second; a kind's sentences differ in numbers only."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def due(self, what: str) -> bool:
        """Return whether a sentence may be logged now; if so, it counts as logged."""
        now, kind = time.monotonic(), NUMBERS.sub("", what)
        if now - self._logged.get(kind, -PERIOD) < PERIOD:
            return False
        self._logged[kind] = now
        return True
