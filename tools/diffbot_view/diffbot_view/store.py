# SPDX-License-Identifier: Apache-2.0
"""Content of a live view: the newest state, and series over time that stay small.

A browser receives the difference to what it has; nothing is queued for it.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from diffbot_description.files import strict

# Rows of a series, beyond which every second one is dropped.
MOST_ROWS = 4000
# Time that goes back by more than this has been set back, s; by less, a message was late.
LATE = 0.5
DIGITS = 5  # significant digits of a number sent to the browser


class Series:
    """Rows [time in s, values ...], thinned out evenly, at least `spacing` apart, s.

    `generation` changes when rows sent earlier are removed.
    """

    def __init__(self, spacing: float) -> None:
        self._first_spacing = self._spacing = spacing
        self.rows: list[list[float | None]] = []
        self.generation = 0
        self._newest = -math.inf

    def add(self, time: float, values: Iterable[float]) -> None:
        """Append a row unless it is too close to the last one; non-finite numbers become gaps."""
        if self._newest - LATE <= time < self._newest + 0.999 * self._spacing:
            return
        if time < self._newest:
            self.clear()
        self._newest = time
        self.rows.append([round(time, 4), *map(_short, values)])
        if len(self.rows) > MOST_ROWS:
            self.rows = self.rows[::2]
            self._spacing *= 2.0
            self.generation += 1

    def clear(self) -> None:
        """Remove all rows."""
        self.rows, self._spacing = [], self._first_spacing
        self._newest = -math.inf
        self.generation += 1


Cursor = dict[str, tuple[int, int]]
"""What a browser has: generation and number of rows of each series; "" is for the state."""


class Store:
    """State and series, filled by one thread and sent to browsers by another."""

    def __init__(self, spacing: Mapping[str, float]) -> None:
        self._lock = threading.Lock()
        self._series = {name: Series(least) for name, least in spacing.items()}
        self._state: dict[str, Any] = {}
        self._changes = 0

    def set(self, **parts: Any) -> None:
        """Replace parts of the state by values that JSON can represent."""
        with self._lock:
            if any(self._state.get(name, self) != part for name, part in parts.items()):
                self._state.update(parts)
                self._changes += 1

    def get(self, name: str) -> Any:
        """Return a part of the state; None if it was never set."""
        with self._lock:
            return self._state.get(name)

    def has(self, name: str) -> bool:
        """Whether a series has a row."""
        return bool(self._series[name].rows)

    def add(self, name: str, time: float, values: Iterable[float]) -> None:
        """Append a row to a series at its time, s."""
        with self._lock:
            self._series[name].add(time, values)

    def since(self, cursor: Cursor) -> tuple[str | None, Cursor]:
        """Return the update for a browser with this cursor, empty at first, and its new cursor.

        JSON with `state`, if it has changed, and for each changed series its new `rows`, which
        replace all rows from the index `from` on; None if nothing is new.
        """
        with self._lock:
            reported: dict[str, Any] = {}
            now: Cursor = {"": (0, self._changes)}
            if cursor.get("") != now[""]:
                reported["state"] = self._state
            series = {}
            for name, each in self._series.items():
                now[name] = (each.generation, len(each.rows))
                generation, count = cursor.get(name, (-1, 0))
                begin = count if generation == each.generation else 0
                if begin < len(each.rows) or now[name] != cursor.get(name, (0, 0)):
                    series[name] = {"from": begin, "rows": each.rows[begin:]}
            if series:
                reported["series"] = series
            return (to_json(reported) if reported else None), now


def to_json(reported: Any) -> str:
    """Return JSON without blanks, and with null for non-finite numbers."""
    try:
        return json.dumps(reported, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(strict(reported), separators=(",", ":"), allow_nan=False)


def _short(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
