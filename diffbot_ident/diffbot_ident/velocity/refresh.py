"""Readings that a slow sensor repeats until it has a new one (sample and hold)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A reading is stale if it changes by less than this share of the changes around it: rows that are
# resampled change by a little just before the reading does.
SMALL = 0.2
# Samples between two changes that are long enough to be standstill, not a hold.
LONGEST = 40
# Share of the holds that must have the same length, within one sample or this share of it.
REGULAR, SHARE = 0.7, 0.15


def refreshed(series: Sequence[Array]) -> tuple[list[NDArray[np.bool_]], float]:
    """Which readings are new.

    Args:
        series: readings of one sensor in several stretches, shape (n,) each.

    Returns:
        for each of the series, which readings are new, shape (n,), and how many samples a reading
        holds; all and 0 where the sensor is no slower than its rows.
    """
    masks = [_changes(np.asarray(values, float)) for values in series]
    holds = np.concatenate([np.diff(np.flatnonzero(mask)) for mask in masks] or [np.empty(0)])
    holds = holds[holds <= LONGEST]
    if len(holds) >= 3:
        usual = float(np.median(holds))
        # Now and then a reading is lost, or happens to be the same.
        times = np.maximum(np.round(holds / usual), 1.0)
        regular = np.mean(np.abs(holds - usual * times) <= max(1.0, SHARE * usual))
        if usual >= 2.0 and regular >= REGULAR:
            return masks, float(np.mean(holds[times == 1.0]))
    return [np.ones(len(mask), bool) for mask in masks], 0.0


def _changes(values: Array) -> NDArray[np.bool_]:
    """Samples at which the reading changes by much, compared with the changes around."""
    steps = np.abs(np.diff(values, prepend=values[:1]))
    padded = np.pad(steps, 1)
    around = np.maximum(padded[:-2], padded[2:])
    return (steps > 0.0) & (steps >= SMALL * around)


def interpolated(values: Array, fresh: NDArray[np.bool_]) -> Array:
    """Readings between two new ones on the straight line between them, shape (n,)."""
    known = np.flatnonzero(fresh)
    if not len(known):
        return np.asarray(values, float)
    return np.interp(np.arange(len(values)), known, np.asarray(values, float)[known])
