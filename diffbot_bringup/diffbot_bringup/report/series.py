"""A time series of bounded length for runs of unknown length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Stamps are double seconds, up to 2e9 s on a real robot, and so exact to 2e-7 s only.
STAMP_TOLERANCE = 1e-6


class Series:
    """Rows of numbers over time, thinned by a power of two when they exceed the capacity.

    Args:
        width: numbers in a row, >= 1.
        capacity: rows kept at most, >= 4; an odd one counts as one less.
        interval: shortest time between rows that `accepts` lets in, s, >= 0.

    Raises:
        ValueError: width or capacity too small, or the interval negative or not finite.
    """

    def __init__(self, width: int, capacity: int = 2048, interval: float = 0.0) -> None:
        if width < 1:
            raise ValueError(f"width = {width}: must be 1 or more numbers")
        if capacity < 4:
            raise ValueError(f"capacity = {capacity}: must be 4 or more rows")
        if not 0.0 <= interval < np.inf:
            raise ValueError(f"interval = {interval} s: must be finite and >= 0")
        self.interval = interval
        self._width = width
        # Thinning an even number leaves the next row one doubled interval away.
        self._capacity = capacity - capacity % 2
        self._times: list[float] = []
        self._rows: list[tuple[float, ...]] = []

    @property
    def last(self) -> float:
        """Time of the last row, s; minus infinity without one."""
        return self._times[-1] if self._times else -np.inf

    def __len__(self) -> int:
        return len(self._times)

    def accepts(self, time: float) -> bool:
        """Whether a row at this time (s) is wanted; cheap, so ask before unpacking a message."""
        if not self._times:
            return True
        step = time - self._times[-1]
        # A step back means that robot time was reset: the row starts the series anew.
        return step < 0.0 or step >= max(self.interval - STAMP_TOLERANCE, STAMP_TOLERANCE)

    def add(self, time: float, row: tuple[float, ...]) -> None:
        """Append a row at this time (s), whether or not `accepts` wants it.

        A row at the time of the last one replaces it; a row before it restarts the series.

        Raises:
            ValueError: the row has the wrong length.
        """
        if len(row) != self._width:
            raise ValueError(f"row of {len(row)} numbers: must have {self._width}")
        if self._times and time < self._times[-1]:
            self._times.clear()
            self._rows.clear()
        if self._times and time == self._times[-1]:
            self._rows[-1] = row
            return
        if len(self._times) >= self._capacity:
            self._thin()
        self._times.append(time)
        self._rows.append(row)

    def _thin(self) -> None:
        spacing = (self._times[-1] - self._times[0]) / (len(self._times) - 1)
        self.interval = 2.0 * max(self.interval, spacing)
        del self._times[1::2]
        del self._rows[1::2]

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times, shape (n,), s, and rows, shape (n, width), oldest first."""
        return np.array(self._times), np.array(self._rows).reshape(-1, self._width)
