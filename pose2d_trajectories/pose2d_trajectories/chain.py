"""Trajectories one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from pose2d_trajectories.reference import Reference, Trajectory


class Chain:
    """Each part begins when, where and as fast as the one before ends.

    Args:
        parts: at least one; all but the last end.
    """

    def __init__(self, parts: Sequence[Trajectory]) -> None:
        self._parts = tuple(parts)
        *self._starts, self._duration = accumulate((part.duration for part in parts), initial=0.0)

    @property
    def duration(self) -> float:
        """Time until the end of the last part, s."""
        return self._duration

    def at(self, t: float) -> Reference:
        """The reference at time t, s."""
        if t >= self._duration:
            # Asked at its own end, for the sum of the durations may be less by rounding.
            return self._parts[-1].at(self._parts[-1].duration)
        index = max(bisect_right(self._starts, t) - 1, 0)
        return self._parts[index].at(t - self._starts[index])
