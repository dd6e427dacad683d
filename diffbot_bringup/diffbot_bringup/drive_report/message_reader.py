"""Stamps and numbers of a topic's messages, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

NANOSECONDS = 1_000_000_000


class MessageReader:
    """Reads chosen fields of messages that have a header.

    Args:
        names: numbers or arrays of numbers of fixed size, for example "set_point.x".
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._fields = [attrgetter(name) for name in names]

    def read(self, messages: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Stamps in ns, shape (n,), and the fields side by side, shape (n, columns); n > 0."""
        stamps = [m.header.stamp.sec * NANOSECONDS + m.header.stamp.nanosec for m in messages]
        rows = [np.hstack([field(m) for field in self._fields]) for m in messages]
        return np.array(stamps, np.int64), np.array(rows, float)
