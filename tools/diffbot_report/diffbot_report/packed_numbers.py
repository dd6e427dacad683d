# SPDX-License-Identifier: Apache-2.0
"""Reduction of a page's numbers to what a screen can resolve, as 32-bit floats."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_description.dynamics import Array

# What a screen can resolve, with some zoom.
MOST_POINTS, MOST_FRAMES = 6000, 3000
# A page must stay below 6 MB.
ALL_POINTS, LEAST_POINTS = 60_000, 1000


def points_of_each(curves: int) -> int:
    """Return how many points each curve of a page may have."""
    return max(min(MOST_POINTS, ALL_POINTS // max(curves, 1)), LEAST_POINTS)


def peaks_kept(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Return increasing indices of about `most` values, (n,), with both ends and every peak."""
    y = np.asarray(values, float)
    if len(y) <= most:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), most // 2 + 1).astype(int)[:-1]
    size = np.diff(np.append(edges, len(y)))
    part = np.repeat(np.arange(len(edges)), size)
    known = np.where(np.isfinite(y), y, 0.0)
    order = np.lexsort((known, part))
    ends = np.concatenate([order[edges], order[edges + size - 1], [0, len(y) - 1]])
    return np.unique(ends)


def changes_kept(holds: Array, most: int) -> NDArray[np.intp]:
    """Return indices of the rows on both sides of each change, of evenly chosen changes if many."""
    if len(holds) <= most:
        return np.arange(len(holds))
    changes = np.flatnonzero((holds[1:] != holds[:-1]).any(axis=1))
    changes = changes[evenly(len(changes), most // 2)]
    return np.unique(np.concatenate([[0, len(holds) - 1], changes, changes + 1]))


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return evenly spread indices of at most `most` of `count` items, both ends included."""
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
