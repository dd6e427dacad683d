"""All samples of a run, in a NumPy buffer that grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

    Attributes:
        taken: rows taken since the start.
        every: one in so many is kept.
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        if width < 1 or capacity < 4:
            raise ValueError(
                f"width = {width}, capacity = {capacity}: must be >= 1 number and >= 4 rows"
            )
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
    def stamps(self) -> NDArray[np.int64]:
        """Stamps in ns, rising, shape (n,)."""
        return self._stamps[: self._size]

    @property
    def rows(self) -> NDArray[np.float64]:
        """Rows, shape (n, width)."""
        return self._rows[: self._size]

    def add(self, stamps: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Append a batch; of rows with the same stamp the first one stays.

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
        self._append(stamps[new], rows[new])

    def _append(self, stamps: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        self.taken += len(stamps)
        if self.every > 1:
            kept = self._kept(stamps)
            stamps, rows = stamps[kept], rows[kept]
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
        while self._size > self._capacity:
            self._thin()

    def _thin(self) -> None:
        if not self._period:
            self._period = max(int(np.median(np.diff(self.stamps))), 1)
        self.every *= 2
        kept = self._kept(self.stamps)
        if kept.all():
            # Stamps off the grid of their own period: any half is as good as the other.
            kept[1::2] = False
        size = int(kept.sum())
        self._stamps[:size] = self.stamps[kept]
        self._rows[:size] = self.rows[kept]
        self._size = size

    def _kept(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these are on the grid that is kept."""
        return (stamps + self._period // 2) // self._period % self.every == 0
