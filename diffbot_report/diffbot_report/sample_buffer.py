# SPDX-License-Identifier: Apache-2.0
"""Time series of a run in bounded memory, and which of a topic's numbered messages have come.

All stamps are whole nanoseconds of robot time: those of two topics can be compared, and stay exact
on a real robot, where seconds as a float are exact to 0.2 µs only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Stamps = NDArray[np.int64]
Rows = NDArray[np.float64]

NANOSECONDS = 1_000_000_000
# Times in s that became stamps may be off by so much, ns.
STAMP_TOLERANCE = 1000
# 200,000 rows are 33 min at 100 Hz, and at most 40 MB.
CAPACITY = 200_000


class SampleBuffer:
    """Rows of numbers with stamps in ns, oldest first.

    A step back of the stamps (robot time was reset) starts the buffer anew. When it is full, every
    second row goes, by its place on the grid of the control period, so that two buffers of the same
    run keep the same stamps.

    Args:
        width: numbers in a row, >= 1.
        capacity: rows kept at most, >= 4.
        interval: shortest time between two rows that `wants` lets in, s, >= 0.

    Attributes:
        interval: as above; may be set later.
        taken: rows taken since the start.
        every: one in so many is kept.

    Raises:
        ValueError: width or capacity too small, or the interval negative or not finite.
    """

    def __init__(self, width: int, capacity: int = CAPACITY, interval: float = 0.0) -> None:
        if width < 1 or capacity < 4:
            raise ValueError(
                f"width = {width}, capacity = {capacity}: must be >= 1 number and >= 4 rows"
            )
        if not 0.0 <= interval < math.inf:
            raise ValueError(f"interval = {interval} s: must be finite and >= 0")
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
        """Stamps in ns, rising, shape (n,)."""
        return self._stamps[: self._size]

    @property
    def rows(self) -> Rows:
        """Rows, shape (n, width)."""
        return self._rows[: self._size]

    @property
    def last(self) -> int | None:
        """Stamp of the last row, ns; None without one."""
        return int(self._stamps[self._size - 1]) if self._size else None

    def since(self, start: int | None) -> tuple[NDArray[np.float64], Rows]:
        """Times (n,), s since a start (ns), and the rows (n, width) from there on; None: none."""
        if start is None:
            return np.empty(0), self.rows[:0]
        first = int(np.searchsorted(self.stamps, start - STAMP_TOLERANCE))
        return (self.stamps[first:] - start) / NANOSECONDS, self.rows[first:]

    def wants(self, stamp: int) -> bool:
        """Whether a row with this stamp (ns) is worth reading; cheap, so ask before unpacking."""
        last = self.last
        if last is None or stamp < last:
            return True
        if stamp - last < max(round(self.interval * NANOSECONDS) - STAMP_TOLERANCE, 1):
            return False
        return self.every == 1 or bool(self._on_grid(stamp))

    def take(self, stamp: int, row: ArrayLike) -> None:
        """Append one row where `wants` wants it."""
        if self.wants(stamp):
            self.add(np.array([stamp]), np.array(row, float)[None])

    def add(self, stamps: Stamps, rows: Rows) -> None:
        """Append a batch, whatever the interval; of rows with the same stamp the first one stays.

        Args:
            stamps: ns, shape (n,).
            rows: shape (n, width).
        """
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
        self._append(stamps, rows)
        while self._size > self._capacity:
            self._thin()

    def finish(self, stamp: int, row: ArrayLike) -> None:
        """The last row of a run, wanted or not; a row with its stamp, or a later one, goes."""
        self._size = int(np.searchsorted(self.stamps, stamp))
        if self._size == self._capacity:
            self._thin()
        self._append(np.array([stamp]), np.array(row, float)[None])

    def _append(self, stamps: Stamps, rows: Rows) -> None:
        end = self._size + len(stamps)
        if end > len(self._stamps):
            size = max(end, 2 * len(self._stamps))
            self._stamps = np.resize(self._stamps, size)
            self._rows = np.concatenate(
                [self.rows, np.empty((size - self._size, self._rows.shape[1]))]
            )
        self._stamps[self._size : end] = stamps
        self._rows[self._size : end] = rows
        self._size = end

    def _thin(self) -> None:
        if not self._period:
            self._period = max(int(np.median(np.diff(self.stamps))), 1)
        self.every *= 2
        kept = self._on_grid(self.stamps)
        if kept.all():
            # Stamps off the grid of their own period: any half is as good as the other.
            kept[1::2] = False
        size = int(kept.sum())
        self._stamps[:size] = self.stamps[kept]
        self._rows[:size] = self.rows[kept]
        self._size = size

    def _on_grid(self, stamps: Stamps | int) -> NDArray[np.bool_]:
        """Which of these are on the grid that is kept."""
        place = (np.asarray(stamps) + self._period // 2) // self._period
        return np.asarray(place % self.every == 0)


class TrueParameters:
    """Sets of four parameters that a simulator says are true, by the stamp from which they hold.

    A step back of the stamps (robot time was reset) starts anew.
    """

    def __init__(self) -> None:
        self._sets: dict[int, tuple[float, ...]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, stamp: int, values: Sequence[float]) -> None:
        """Take in a set that holds from a stamp (ns) on, such as one with a payload."""
        if self._sets and stamp < max(self._sets):
            self._sets.clear()
        self._sets[stamp] = tuple(values)

    def since(self, start: int) -> tuple[NDArray[np.float64], Rows]:
        """Times from which on they hold (k,), s since a start (ns), and the sets (k, 4)."""
        stamps = np.array(list(self._sets), np.int64)
        return (stamps - start) / NANOSECONDS, np.array(list(self._sets.values())).reshape(-1, 4)

    @property
    def last(self) -> tuple[float, ...] | None:
        """The newest set; None where nobody told."""
        return next(reversed(self._sets.values()), None)


class Arrivals:
    """Follows the field `count` of messages that a KeptTopic publishes.

    A count that does not rise is that of a writer that was started anew: all begins anew. A count
    of 0 is of a writer that does not count; nothing is known to be missing then.

    Attributes:
        newest: count of the newest message.
        lost: messages before it that have not come.
        gaps: [stamp before, stamp after], s, of each interval in which messages are missing; the
            first may begin at minus infinity.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.newest = self.lost = 0
        self.gaps: list[tuple[float, float]] = []
        self._stamp = -math.inf

    def add(self, counts: Sequence[int], stamps: Stamps) -> None:
        """Take in a batch: counts, and stamps in ns, both of n messages."""
        for count, stamp in zip(counts, (1e-9 * stamps).tolist(), strict=True):
            if count == 0:
                continue
            if count <= self.newest:
                self._clear()
            if count > self.newest + 1:
                self.lost += count - self.newest - 1
                self.gaps.append((self._stamp, stamp))
            self.newest, self._stamp = count, stamp

    def missing(self, told: int) -> int:
        """Messages that have not come, where the writer says that it has published so many."""
        return self.lost + max(told - self.newest, 0)

    def gaps_until(self, told: int) -> NDArray[np.float64]:
        """As `gaps`, s, shape (n, 2), with what is missing at the end: up to infinity."""
        gaps = [*self.gaps, (self._stamp, math.inf)] if told > self.newest else self.gaps
        return np.array(gaps, float).reshape(-1, 2)
