"""The two common approximations of an arc by a straight line, to compare the exact arc with.

Nothing in the suite drives with them.
"""

from __future__ import annotations

import math

from arc_odometry.arc import Arc, Pose


def euler_end(arc: Arc, start: Pose) -> Pose:
    """Straight on in the direction at the start, then the turn; error D a / 2 in a step."""
    return _straight(arc, start, start.theta)


def midpoint_end(arc: Arc, start: Pose) -> Pose:
    """Straight on in the direction of the chord; too long by D a^2 / 24 in a step."""
    return _straight(arc, start, start.theta + 0.5 * arc.turn)


def _straight(arc: Arc, start: Pose, direction: float) -> Pose:
    return Pose(
        start.x + arc.length * math.cos(direction),
        start.y + arc.length * math.sin(direction),
        start.theta + arc.turn,
    )
