# SPDX-License-Identifier: Apache-2.0
"""Commands as they were sent, each held until the next one: what a driver's dead band acts on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry.number_range import Array

SAME_LEVEL = 1e-6


@dataclass(frozen=True)
class SentCommands:
    """Commands of one axis in one segment.

        >>> SentCommands(np.array([0.0, 0.5]), np.array([1.0, 3.0])).means(1.0, 2).tolist()
        [2.0, 3.0]

    Attributes:
        times: Times from which on each holds, after the segment's first sample, s, increasing,
            (m,).
        values: Commands, m/s, rad/s or the axis's own unit, shape (m,).
    """

    times: Array
    values: Array

    def changed(self, function: Callable[[Array], Array]) -> SentCommands:
        """Return the commands that `function` makes of these."""
        return replace(self, values=function(self.values))

    def means(self, period: float, count: int) -> Array:
        """Return the means over periods (s) from the first sample on, shape (count,)."""
        knots = np.float64(period) * np.arange(count + 1)
        if len(self.times) == 1:
            return np.full(count, float(self.values[0]))
        first = min(float(self.times[0]), 0.0)
        last = max(float(self.times[-1]), float(knots[-1])) + 1.0
        times = np.concatenate(([first - 1.0], self.times[1:], [last]))
        passed = np.concatenate(([0.0], np.cumsum(self.values * np.diff(times))))
        means: Array = np.diff(np.interp(knots, times, passed)) / period
        return means

    def between(self, begin: float, end: float) -> SentCommands:
        """Return those that hold between two times, s; times then count from `begin`."""
        first, last = np.searchsorted(self.times, (begin, end), side="right")
        first = max(int(first) - 1, 0)
        piece = slice(first, max(int(last), first + 1))
        return SentCommands(self.times[piece] - begin, self.values[piece].copy())

    def changes_between(self, period: float, fraction: float) -> bool:
        """Whether one of them begins between two samples, and changes by more than rounding.

        Args:
            period: Time between two samples, s.
            fraction: Commands closer to a sample than this share of the period begin there.
        """
        late = np.remainder(self.times[1:], period)
        inside = np.minimum(late, period - late) > fraction * period
        least = SAME_LEVEL * float(np.abs(self.values).max(initial=0.0))
        return bool(np.any(inside & (np.abs(np.diff(self.values)) > least)))


def levels_of(values: Array) -> Array:
    """Return the sizes of commands, increasing, without those that differ by rounding, (k,)."""
    sizes = np.unique(np.abs(values))
    least = SAME_LEVEL * float(sizes[-1]) if len(sizes) else 0.0
    return sizes[np.concatenate(([True], np.diff(sizes) > least))] if len(sizes) else sizes
