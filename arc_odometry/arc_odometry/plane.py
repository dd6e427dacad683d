"""Motion in the plane: poses, velocities, and the arcs of circles that a wheeled robot drives.

Lages (2018), (35)-(37), integrates odometry along arcs. (37) is 0 / 0 where the robot drives
straight; with sinc(x) = sin(x) / x it has no gap. sinc itself is accurate down to the smallest x,
so its series is needed for x = 0 only. The derivative, (x cos x - sin x) / x^2, loses 3 eps / x^2
of its value to cancellation: its series is used up to 0.5, where both agree to 1e-15.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Below this, the first term that the series of sinc leaves out, x^6 / 7!, is under 4e-18.
SINC_SWITCH = 5e-3
# Below this, the first term that the series of the derivative leaves out is 1e-17 of its value.
DERIVATIVE_SWITCH = 0.5
# sinc'(x) = x * sum_n c_n x^(2 n), c_n = (-1)^(n+1) (2 n + 2) / (2 n + 3)!, highest power first.
_DERIVATIVE = tuple((-1) ** (n + 1) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(7))[
    ::-1
]


def sinc(x: float) -> float:
    """sin(x) / x, 1 at x = 0; x in rad. Relative error <= 3e-16."""
    if abs(x) < SINC_SWITCH:
        square = x * x
        return 1.0 - square / 6.0 * (1.0 - square / 20.0)
    return math.sin(x) / x


def sinc_derivative(x: float) -> float:
    """Derivative of sin(x) / x, 0 at x = 0, in 1/rad; x in rad.

    Its error is <= 2e-15 of min(|x|, 1), the size of the function's terms.
    """
    if abs(x) < DERIVATIVE_SWITCH:
        square, total = x * x, 0.0
        for coefficient in _DERIVATIVE:
            total = total * square + coefficient
        return x * total
    return (math.cos(x) - math.sin(x) / x) / x


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


class Velocity(NamedTuple):
    """Body velocity u = [v, omega], or something of its kind; also its rate of change.

    Attributes:
        v: along the robot's own x axis, m/s; of an acceleration m/s^2.
        omega: yaw rate, rad/s, counter-clockwise; of an acceleration rad/s^2.
    """

    v: float
    omega: float


REST = Velocity(0.0, 0.0)


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


def euler_end(arc: Arc, start: Pose) -> Pose:
    """For comparison with Arc.end: straight on, then the turn; error D a / 2 in a step."""
    return _straight(arc, start, start.theta)


def midpoint_end(arc: Arc, start: Pose) -> Pose:
    """For comparison: straight on in the direction of the chord; too long by D a^2 / 24."""
    return _straight(arc, start, start.theta + 0.5 * arc.turn)


def _straight(arc: Arc, start: Pose, direction: float) -> Pose:
    return Pose(
        start.x + arc.length * math.cos(direction),
        start.y + arc.length * math.sin(direction),
        start.theta + arc.turn,
    )
