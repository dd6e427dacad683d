"""Paths as chains of short lines, for engines that can draw on their floor."""

from __future__ import annotations

import math
from collections.abc import Callable

Point = tuple[float, float]

# A line is drawn when its end is this far from its beginning, m.
LENGTH = 0.04
# A point further away than this begins a new path: nothing has driven there, m.
JUMP = 0.5


class Trail:
    """One path.

    Args:
        draw: draws a line from one point (x, y in m) to another.
    """

    def __init__(self, draw: Callable[[Point, Point], None]) -> None:
        self._draw = draw
        self._end: Point | None = None

    def extend(self, point: Point) -> None:
        """Go on to a point; a line is drawn once it is long enough."""
        if self._end is None:
            self._end = point
            return
        distance = math.dist(self._end, point)
        if LENGTH <= distance <= JUMP:
            self._draw(self._end, point)
        if distance >= LENGTH:
            self._end = point
