"""Which of a topic's numbered messages have come, and between which stamps some are missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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

    def add(self, counts: Sequence[int], stamps: NDArray[np.int64]) -> None:
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
