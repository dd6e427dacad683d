"""Where a robot stands still, told by small values of some channels for long enough."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffbot_ident.recording.stream import Array


def moving_parts(
    times: Array, channels: Mapping[str, Array], still: Mapping[str, float], rest: float
) -> list[tuple[int, int]]:
    """Index ranges [first, last) between standstills.

    Args:
        times: instants, shape (n,), s.
        channels: values, shape (n,) each.
        still: largest size that counts as none, by channel; empty: nothing is standstill.
        rest: standstill up to this long is kept; of a longer one half of it at either end, s.
    """
    count = len(times)
    if not still:
        return [(0, count)]
    moving = np.zeros(count, bool)
    for name, least in still.items():
        if name in channels:
            moving |= np.abs(channels[name]) > least
    indices = np.flatnonzero(moving)
    if not len(indices):
        return []
    breaks = np.flatnonzero(np.diff(times[indices]) > rest)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    begins = np.searchsorted(times, times[firsts] - 0.5 * rest)
    ends = np.searchsorted(times, times[lasts] + 0.5 * rest, side="right")
    return [(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]
