# SPDX-License-Identifier: Apache-2.0
"""Numbers on their way into a page: as many as a screen can tell apart, and no peak lost.

They travel as 32-bit floats. A long curve keeps the least and the largest value of each interval;
states keep their changes, poses come evenly.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Points of a curve, and frames of a scene, that a screen can tell apart with room to zoom.
MOST_POINTS, MOST_FRAMES = 6000, 3000
# Points of all curves of a page, which is to stay below 6 MB; and of each, however many there are.
ALL_POINTS, LEAST_POINTS = 60_000, 1000


def points_of_each(curves: int) -> int:
    """Points that each of so many curves of a page may have."""
    return max(min(MOST_POINTS, ALL_POINTS // max(curves, 1)), LEAST_POINTS)


def peaks_kept(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Indices, rising, of at most about so many values that hold every peak.

    Args:
        values: shape (n,); NaN is never a peak.
        most: points; from n of them on, the least and the largest value of equal parts are kept,
            and both ends.
    """
    y = np.asarray(values, float)
    if len(y) <= most:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), most // 2 + 1).astype(int)[:-1]
    size = np.diff(np.append(edges, len(y)))
    part = np.repeat(np.arange(len(edges)), size)
    known = np.where(np.isfinite(y), y, 0.0)
    # Within each part by value: its first and its last are the least and the largest.
    order = np.lexsort((known, part))
    ends = np.concatenate([order[edges], order[edges + size - 1], [0, len(y) - 1]])
    return np.unique(ends)


def changes_kept(holds: Array, most: int) -> NDArray[np.intp]:
    """Indices, rising, of rows that tell when each column changes: both sides of a change.

    Of more changes than `most` / 2 those that are evenly spread are kept.
    """
    if len(holds) <= most:
        return np.arange(len(holds))
    changes = np.flatnonzero((holds[1:] != holds[:-1]).any(axis=1))
    changes = changes[evenly(len(changes), most // 2)]
    return np.unique(np.concatenate([[0, len(holds) - 1], changes, changes + 1]))


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Indices of at most so many of `count` items, evenly, with both ends."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def packed(values: ArrayLike) -> dict[str, str]:
    """Numbers as Plotly reads them: little-endian 32-bit floats in base 64."""
    raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(raw).decode("ascii")}


def unpacked(found: Mapping[str, str]) -> Array:
    """Numbers that a page holds, shape (n,)."""
    return np.frombuffer(base64.b64decode(found["bdata"]), "<f4").astype(float)
