"""The circle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pose2d_trajectories.path import PathPoint


@dataclass(frozen=True)
class Circle:
    """Around the origin, counter-clockwise, from (0, -radius); the parameter is the heading, rad.

    Attributes:
        radius: m, > 0.
    """

    radius: float

    @property
    def length(self) -> float:
        """One lap, rad."""
        return 2.0 * math.pi

    def at(self, p: float) -> PathPoint:
        """The point at p, rad; any p."""
        r = self.radius
        return PathPoint(r * math.sin(p), -r * math.cos(p), p, r, 0.0, 1.0, 0.0)
