"""A closed path of several pieces."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from pose2d_trajectories.path import Path, PathPoint


class Loop:
    """Pieces one after the other, round and round; the parameter is the path, m.

    Args:
        pieces: each begins where the one before ends, the first where the last ends; headings are
            continuous but for the whole turns of a lap. Their parameter is the path, m.
    """

    def __init__(self, pieces: Sequence[Path]) -> None:
        self._pieces = tuple(pieces)
        *self._starts, self._length = accumulate((piece.length for piece in pieces), initial=0.0)
        first, last = self._pieces[0], self._pieces[-1]
        turn = last.at(last.length).theta - first.at(0.0).theta
        self._turn = 2.0 * math.pi * round(turn / (2.0 * math.pi))

    @property
    def length(self) -> float:
        """One lap, m."""
        return self._length

    def at(self, p: float) -> PathPoint:
        """The point p m from the start; any p >= 0."""
        lap, rest = divmod(p, self._length)
        index = bisect_right(self._starts, rest) - 1
        point = self._pieces[index].at(rest - self._starts[index])
        return point._replace(theta=point.theta + lap * self._turn)
