# SPDX-License-Identifier: Apache-2.0
"""Quantities in a summary.json: entries with a value and its 95 % interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def quantities(group: Any, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield names, joined by dots, and entries of all quantities."""
    if not isinstance(group, Mapping):
        return
    for name, entry in group.items():
        full = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(entry, Mapping) and "value" in entry:
            yield full, entry
        else:
            yield from quantities(entry, full)


def half_width(entry: Mapping[str, Any]) -> float | None:
    """Return half the width of the 95 % interval."""
    low, high = interval_of(entry)
    if isinstance(low, int | float) and isinstance(high, int | float):
        return 0.5 * (high - low)
    return None


def interval_of(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return both ends of the 95 % interval, as in summary.json."""
    if isinstance(entry.get("interval95"), Sequence) and len(entry["interval95"]) == 2:
        low, high = entry["interval95"]
        return low, high
    return entry.get("lower"), entry.get("upper")
