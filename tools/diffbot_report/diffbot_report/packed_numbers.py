# SPDX-License-Identifier: Apache-2.0
"""Reduction of numbers for a page: as many as a screen can resolve, without losing peaks.

They are stored as 32-bit floats. A long curve keeps the minimum and the maximum of each interval;
states keep their changes, and poses are spaced evenly.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_description.dynamics import Array

# Points of a curve, and frames of a scene, that a screen can resolve, including some zoom.
MOST_POINTS, MOST_FRAMES = 6000, 3000
# Points of all curves of a page, which must stay below 6 MB; and minimum points per curve.
ALL_POINTS, LEAST_POINTS = 60_000, 1000


def points_of_each(curves: int) -> int:
    """Return the number of points that each of `curves` curves of a page may have."""
    return max(min(MOST_POINTS, ALL_POINTS // max(curves, 1)), LEAST_POINTS)


def peaks_kept(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Return increasing indices of about `most` values at most, including every peak.

    Args:
        values: Values, shape (n,); NaN is never a peak.
        most: Number of points. If there are more values, keep the minimum and the maximum of equal
            parts, and both ends.
    """
    y = np.asarray(values, float)
    if len(y) <= most:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), most // 2 + 1).astype(int)[:-1]
    size = np.diff(np.append(edges, len(y)))
    part = np.repeat(np.arange(len(edges)), size)
    known = np.where(np.isfinite(y), y, 0.0)
    # Sorted by value within each part: its first and last are the minimum and the maximum.
    order = np.lexsort((known, part))
    ends = np.concatenate([order[edges], order[edges + size - 1], [0, len(y) - 1]])
    return np.unique(ends)


def changes_kept(holds: Array, most: int) -> NDArray[np.intp]:
    """Return increasing indices of the rows on both sides of each change of a column.

    Of more than `most` / 2 changes, an evenly spread selection is kept.
    """
    if len(holds) <= most:
        return np.arange(len(holds))
    changes = np.flatnonzero((holds[1:] != holds[:-1]).any(axis=1))
    changes = changes[evenly(len(changes), most // 2)]
    return np.unique(np.concatenate([[0, len(holds) - 1], changes, changes + 1]))


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return evenly spread indices of at most `most` of `count` items, including both ends."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def packed(values: ArrayLike) -> dict[str, str]:
    """Encode numbers for Plotly: little-endian 32-bit floats in base 64."""
    raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(raw).decode("ascii")}


def unpacked(results: Mapping[str, str]) -> Array:
    """Decode numbers of a page, shape (n,)."""
    return np.frombuffer(base64.b64decode(results["bdata"]), "<f4").astype(float)
