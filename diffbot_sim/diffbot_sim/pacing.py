"""Real-time pacing: when robot time may go on, and how far it lags behind."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Pacer:
    """Ties robot time to a wall clock; it never sleeps itself.

    Args:
        speed: robot seconds per wall second, >= 0; 1 is real time, 0 is as fast as possible.
        largest_lag: robot time that is further behind the wall clock than this (s of wall time)
            is not made up for: the schedule starts anew, so that no burst follows a stall.
        clock: monotonic wall clock, s.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self,
        speed: float,
        largest_lag: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (math.isfinite(speed) and speed >= 0.0):
            raise ValueError(
                f"speed = {speed}: must be finite and >= 0; 1.0 is real time, 0 as fast as possible"
            )
        if not largest_lag >= 0.0:
            raise ValueError(f"largest_lag = {largest_lag} s: must be >= 0")
        self._speed = float(speed)
        self._largest_lag = float(largest_lag)
        self._clock = clock
        self.restart(0.0)

    def restart(self, robot_time: float) -> None:
        """Begin at this robot time (s) now; clears the report."""
        self._begin = (self._clock(), robot_time)
        self._anchor = self._begin
        self._last = robot_time
        self.largest_lag = 0.0
        self.stalls = 0

    def delay(self, robot_time: float) -> float:
        """Wall time (s, >= 0) to wait before robot_time (s) may come; 0 means now.

        Also keeps the report: `largest_lag` (s of wall time) and `stalls` (schedules given up).
        """
        self._last = robot_time
        if self._speed == 0.0:
            return 0.0
        wall, start = self._anchor
        now = self._clock()
        ahead = wall + (robot_time - start) / self._speed - now
        if ahead >= 0.0:
            return ahead
        self.largest_lag = max(self.largest_lag, -ahead)
        if -ahead > self._largest_lag:
            self.stalls += 1
            self._anchor = (now, robot_time)
        return 0.0

    def real_time_factor(self) -> float:
        """Robot time per wall time since the restart; nan before any time has passed."""
        wall, start = self._begin
        passed = self._clock() - wall
        return (self._last - start) / passed if passed > 0.0 else math.nan
