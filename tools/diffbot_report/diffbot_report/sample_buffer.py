# SPDX-License-Identifier: Apache-2.0
"""Time series of a run in bounded memory, and detection of missing numbered messages.

Stamps are whole nanoseconds of robot time, so that those of two topics can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arc_odometry.joints import LONGEST_PROGRESS

Stamps = NDArray[np.int64]
Rows = NDArray[np.float64]

NANOSECONDS = 1_000_000_000
# Rounding error of times converted to stamps, ns.
STAMP_TOLERANCE = 1000
# 33 min at 100 Hz, at most 40 MB.
CAPACITY = 200_000


class RunClock:
    """Converts stamps to times since driving began, without pauses and jumps."""

    def __init__(self) -> None:
        self.start: int | None = None
        self._stamp = 0  # of the last state, ns
        # Stamps with other beginnings, and these, ns.
        self._jumps: list[tuple[int, int]] = []

    def add(self, stamp: int, elapsed: float) -> None:
        """Process that so much time, s, had elapsed at this stamp, ns."""
        begin = stamp - round(elapsed * NANOSECONDS)
        last = self._jumps[-1][1] if self._jumps else self.start
        ahead = 0.0 if last is None else (begin - last) / NANOSECONDS
        if ahead > LONGEST_PROGRESS:
            self._jumps.append(((self._stamp + stamp) // 2, begin))
        elif self._jumps and ahead >= -LONGEST_PROGRESS:
            self._jumps[-1] = self._jumps[-1][0], begin
        else:
            self.start, self._jumps = begin, []  # also when time was reset
        self._stamp = stamp

    def times(self, stamps: Stamps | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times of stamps, ns, in s since driving began."""
        start = self.start or 0
        befores = np.array([before for before, _ in self._jumps], np.int64)
        starts = np.array([start, *(begin for _, begin in self._jumps)], np.int64)
        result: NDArray[np.float64] = (
            stamps - starts[np.searchsorted(befores, stamps)]
        ) / NANOSECONDS
        return result


class SampleBuffer:
    """Rows of numbers with stamps in ns, oldest first.

    If stamps step back, the buffer starts again. If it is full, it drops every second row by its
    place on the grid of the control period, so that two buffers keep the same stamps.

    Attributes:
        interval: Minimum time between two rows that `wants` accepts, s, >= 0.
        taken: Number of rows added since the start; one of `every` is kept.
    """

    def __init__(self, width: int, capacity: int = CAPACITY, interval: float = 0.0) -> None:
        self.interval = interval
        self._capacity = capacity
        self._stamps = np.empty(min(1024, capacity), np.int64)
        self._rows = np.empty((len(self._stamps), width))
        self._clear()

    def _clear(self) -> None:
        self._size = self.taken = 0
        self.every = 1
        self._period = 0

    def __len__(self) -> int:
        return self._size

    @property
    def stamps(self) -> Stamps:
        """Stamps in ns, increasing, shape (n,)."""
        return self._stamps[: self._size]

    @property
    def rows(self) -> Rows:
        """Rows, shape (n, width)."""
        return self._rows[: self._size]

    @property
    def last(self) -> int | None:
        """Stamp of the last row, ns; None without one."""
        return int(self._stamps[self._size - 1]) if self._size else None

    def since(self, clock: RunClock) -> tuple[NDArray[np.float64], Rows]:
        """Return times since driving began (n,), s, and rows (n, width)."""
        if clock.start is None:
            return np.empty(0), self.rows[:0]
        first = int(np.searchsorted(self.stamps, clock.start - STAMP_TOLERANCE))
        return clock.times(self.stamps[first:]), self.rows[first:]

    def wants(self, stamp: int) -> bool:
        """Whether a row with this stamp, ns, is needed; check it before deserialising."""
        last = self.last
        if last is None or stamp < last:
            return True
        if stamp - last < max(round(self.interval * NANOSECONDS) - STAMP_TOLERANCE, 1):
            return False
        return self.every == 1 or bool(self._on_grid(stamp))

    def take(self, stamp: int, row: ArrayLike) -> None:
        """Append one row if `wants` accepts it."""
        if not self.wants(stamp):
            return
        if self._size and stamp < self._stamps[self._size - 1]:
            self._clear()
        self.taken += 1
        self._append(stamp, row)

    def add(self, stamps: Stamps, rows: Rows) -> None:
        """Append stamps, ns, (n,), and rows, (n, width); the first of equal stamps is kept."""
        back = np.flatnonzero(np.diff(stamps) < 0)
        if len(back):
            first = back[-1] + 1
            self._clear()
            stamps, rows = stamps[first:], rows[first:]
        elif len(stamps) and self._size and stamps[0] < self._stamps[self._size - 1]:
            self._clear()
        if self._size:
            new = stamps > self._stamps[self._size - 1]
            stamps, rows = stamps[new], rows[new]
        new = np.diff(stamps, prepend=-1) > 0
        stamps, rows = stamps[new], rows[new]
        self.taken += len(stamps)
        if self.every > 1:
            kept = self._on_grid(stamps)
            stamps, rows = stamps[kept], rows[kept]
        self._append(stamps, rows, len(stamps))

    def finish(self, stamp: int, row: ArrayLike) -> None:
        """Append the last row of a run, wanted or not; it replaces rows from its stamp on."""
        self._size = int(np.searchsorted(self.stamps, stamp))
        if self._size == self._capacity:
            self._thin()
        self._append(stamp, row)

    def _append(self, stamps: Stamps | int, rows: ArrayLike, count: int = 1) -> None:
        end = self._size + count
        if end > len(self._stamps):
            size = max(end, 2 * len(self._stamps))
            self._stamps = np.resize(self._stamps, size)
            self._rows = np.concatenate(
                [self.rows, np.empty((size - self._size, self._rows.shape[1]))]
            )
        self._stamps[self._size : end] = stamps
        self._rows[self._size : end] = rows
        self._size = end
        while self._size > self._capacity:
            self._thin()

    def _thin(self) -> None:
        if not self._period:
            self._period = max(int(np.median(np.diff(self.stamps))), 1)
        self.every *= 2
        kept = self._on_grid(self.stamps)
        if kept.all():
            # All stamps are off the grid.
            kept[1::2] = False
        size = int(kept.sum())
        self._stamps[:size] = self.stamps[kept]
        self._rows[:size] = self.rows[kept]
        self._size = size

    def _on_grid(self, stamps: Stamps | int) -> NDArray[np.bool_]:
        place = (np.asarray(stamps) + self._period // 2) // self._period
        return np.asarray(place % self.every == 0)


class TrueParameters:
    """Sets of four true parameters, by the stamp from which they are valid; time may be reset."""

    def __init__(self) -> None:
        self._sets: dict[int, tuple[float, ...]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, stamp: int, values: Sequence[float]) -> None:
        """Add a set that is valid from a stamp, ns."""
        if self._sets and stamp < max(self._sets):
            self._sets.clear()
        self._sets[stamp] = tuple(values)

    def since(self, clock: RunClock) -> tuple[NDArray[np.float64], Rows]:
        """Return times (k,), s since driving began, and the sets (k, 4)."""
        stamps = np.array(list(self._sets), np.int64)
        return clock.times(stamps), np.array(list(self._sets.values())).reshape(-1, 4)

    @property
    def last(self) -> tuple[float, ...] | None:
        """The latest set; None if there is none."""
        return next(reversed(self._sets.values()), None)


class Arrivals:
    """Tracks the field `count` of messages of a CountedTopic; not increasing: it was restarted.

    Attributes:
        newest: Count of the latest message; 0: it does not count.
        lost: Number of earlier messages that were not received.
        gaps: [stamp before, stamp after], s, of missing messages.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.newest = self.lost = 0
        self.gaps: list[tuple[float, float]] = []
        self._stamp = -math.inf

    def add(self, counts: Sequence[int], stamps: Stamps) -> None:
        """Add a batch: counts, and stamps in ns, both of n messages."""
        for count, stamp in zip(counts, (1e-9 * stamps).tolist(), strict=True):
            if count == 0:
                continue
            if count <= self.newest:
                self._clear()
            if count > self.newest + 1:
                self.lost += count - self.newest - 1
                self.gaps.append((self._stamp, stamp))
            self.newest, self._stamp = count, stamp

    def missing(self, sent: int) -> int:
        """Return how many of `sent` messages are missing."""
        return self.lost + max(sent - self.newest, 0)

    def gaps_until(self, sent: int) -> NDArray[np.float64]:
        """Return `gaps`, s, shape (n, 2), including one at the end, which lasts to infinity."""
        gaps = [*self.gaps, (self._stamp, math.inf)] if sent > self.newest else self.gaps
        return np.array(gaps, float).reshape(-1, 2)
