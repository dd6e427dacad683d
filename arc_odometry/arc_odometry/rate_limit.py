"""Thins out what is published, by the stamps."""

from __future__ import annotations

import math


class RateLimit:
    """Lets stamps through at a mean rate that does not exceed a limit.

    Args:
        rate: largest rate, Hz, >= 0; 0 lets everything through.
    """

    # Rounding of stamps, s, must not turn every 2nd sample into every 3rd.
    ROUNDING = 1e-6

    def __init__(self, rate: float) -> None:
        if not (math.isfinite(rate) and rate >= 0.0):
            raise ValueError(f"rate = {rate} Hz: must be finite and >= 0; 0 means no limit")
        self._period = 1.0 / rate if rate > 0.0 else 0.0
        self._due = -math.inf

    def due(self, stamp: float) -> bool:
        """Whether what has this stamp, s, may go out; then it counts as gone."""
        if self._period == 0.0:
            return True
        wait = self._due - stamp
        if self.ROUNDING < wait <= self._period + self.ROUNDING:
            return False
        # Kept in step where stamps come regularly; begun anew after gaps and resets of time.
        self._due = (self._due if -self._period < wait <= self.ROUNDING else stamp) + self._period
        return True
