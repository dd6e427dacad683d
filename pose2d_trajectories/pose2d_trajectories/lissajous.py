"""The figure of 8 of two sines."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pose2d_trajectories.path import PathPoint


@dataclass(frozen=True)
class Lissajous:
    """x = width sin 2p, y = height cos p; the parameter p is an angle in rad.

    With p = 2 pi t / period and height < 0 it is the figure-8 of Lages (2018), section 6.2, in its
    smooth form; with height > 0 it is (8) of Siwek et al. (2023).

    y' vanishes at p = 0 and pi only, and there x' > 0. The speed is therefore never 0, and the
    direction never crosses +-pi: atan2 is continuous as it stands.

    Attributes:
        width: largest x, m, > 0.
        height: y at p = 0, m, not 0; its sign says on which side the curve begins.
    """

    width: float
    height: float

    @property
    def length(self) -> float:
        """One lap, rad."""
        return 2.0 * math.pi

    def at(self, p: float) -> PathPoint:
        """The point at p, rad; any p."""
        sin, cos, sin2, cos2 = math.sin(p), math.cos(p), math.sin(2.0 * p), math.cos(2.0 * p)
        x, dx = self.width * sin2, 2.0 * self.width * cos2
        ddx, dddx = -4.0 * x, -4.0 * dx
        y, dy = self.height * cos, -self.height * sin
        ddy, dddy = -y, -dy
        ds2 = dx * dx + dy * dy
        ds = math.sqrt(ds2)
        dds = (dx * ddx + dy * ddy) / ds
        dtheta = (dx * ddy - dy * ddx) / ds2
        ddtheta = (dx * dddy - dy * dddx) / ds2 - 2.0 * dtheta * dds / ds
        return PathPoint(x, y, math.atan2(dy, dx), ds, dds, dtheta, ddtheta)
