"""Poses in the plane and the arcs of circles between them."""

from __future__ import annotations

import math
from typing import NamedTuple

from arc_odometry.series import sinc


class Pose(NamedTuple):
    """Where the middle of the axle is, in the odom frame.

    Attributes:
        x: position, m.
        y: position, m.
        theta: heading, rad, counter-clockwise from the x axis; it counts whole turns.
    """

    x: float
    y: float
    theta: float


class Arc(NamedTuple):
    """A piece of a circle, or of a straight line (turn = 0), or a turn on the spot (length = 0).

    A wheeled robot drives along one while the ratio of its wheels' speeds is constant.

    Attributes:
        length: path of the middle of the axle, m, positive forwards; Delta D in (38).
        turn: change of the heading, rad, counter-clockwise; Delta theta in (38).
    """

    length: float
    turn: float

    def end(self, start: Pose) -> Pose:
        """The pose at the end of the arc; exact.

        Lages (2018), (35)-(37): the chord has the length D sin(a / 2) / (a / 2) and the direction
        theta + a / 2, with a the turn and theta the heading at the **start** of the interval
        (the paper's index k does not say so). sinc has no gap at a = 0, where (37) is 0 / 0.
        """
        chord = self.length * sinc(0.5 * self.turn)
        direction = start.theta + 0.5 * self.turn
        return Pose(
            start.x + chord * math.cos(direction),
            start.y + chord * math.sin(direction),
            start.theta + self.turn,
        )

    def share(self, share: float) -> Arc:
        """The part of the arc that `share` (0 to 1) of its length makes."""
        return Arc(share * self.length, share * self.turn)
