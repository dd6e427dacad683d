# SPDX-License-Identifier: Apache-2.0
"""Poses, velocities and circular arcs in the plane; arcs are those of (35)-(38), Lages (2018)."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from arc_odometry.number_range import Array

N = TypeVar("N", float, Array)

# Below it the first term that the series omits, x^6 / 7!, is under 4e-18.
SINC_SWITCH = 5e-3
# Below it the first term that the series omits is 1e-17 of its value.
DERIVATIVE_SWITCH = 0.5
# sinc'(x) = x * sum_n c_n x^(2 n), c_n = (-1)^(n+1) (2 n + 2) / (2 n + 3)!, highest power first.
_DERIVATIVE = tuple((-1) ** (n + 1) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(7))[
    ::-1
]


def sinc(x: float) -> float:
    """Return sin(x) / x, which is 1 at x = 0; x in rad. Relative error <= 3e-16.

    Example:
        >>> sinc(0.0), round(sinc(math.pi / 2.0), 4)
        (1.0, 0.6366)
    """
    return _sinc_series(x) if abs(x) < SINC_SWITCH else math.sin(x) / x


def sinc_derivative(x: float) -> float:
    """Return the derivative of sin(x) / x, 0 at x = 0, in 1/rad; x in rad.

    The error is <= 2e-15 of min(|x|, 1), the size of the function's terms.

    Example:
        >>> sinc_derivative(math.pi) == -1.0 / math.pi
        True
    """
    if abs(x) < DERIVATIVE_SWITCH:
        return _derivative_series(x)
    return (math.cos(x) - math.sin(x) / x) / x


def _sinc_series(x: N) -> N:
    square = x * x
    return 1.0 - square / 6.0 * (1.0 - square / 20.0)


def _derivative_series(x: N) -> N:
    square = x * x
    total = 0.0 * square
    for coefficient in _DERIVATIVE:
        total = total * square + coefficient
    return x * total


def sincs(x: Array) -> Array:
    """Return sinc of each of many angles."""
    near = np.abs(x) < SINC_SWITCH
    return np.where(near, _sinc_series(x), np.sin(x) / np.where(near, 1.0, x))


def sinc_derivatives(x: Array) -> Array:
    """Return sinc_derivative of each of many angles."""
    near = np.abs(x) < DERIVATIVE_SWITCH
    series = _derivative_series(x)
    if near.all():
        return series
    divisor = np.where(near, 1.0, x)
    return np.where(near, series, (np.cos(x) - np.sin(x) / divisor) / divisor)


class Pose(NamedTuple):
    """Pose of the midpoint of the axle in the odom frame.

    Attributes:
        x: Position, m, as y.
        theta: Heading, rad, counter-clockwise from the x axis; not wrapped, it counts whole turns.
    """

    x: float
    y: float
    theta: float

    def relative_to(self, start: Pose) -> Pose:
        """Return this pose in the frame of another one; its heading is not wrapped.

        >>> Pose(1.0, 2.0, 0.5).relative_to(Pose(1.0, 2.0, 0.5))
        Pose(x=0.0, y=0.0, theta=0.0)
        """
        c, s = math.cos(start.theta), math.sin(start.theta)
        x, y = self.x - start.x, self.y - start.y
        return Pose(c * x + s * y, c * y - s * x, self.theta - start.theta)


class Velocity(NamedTuple):
    """Body velocity u = [v, omega], m/s forward and rad/s counter-clockwise, or its rate."""

    v: float
    omega: float


REST = Velocity(0.0, 0.0)


class Arc(NamedTuple):
    """A circular arc, which may be a straight line (turn = 0) or a turn on the spot (length = 0).

    A wheeled robot drives along an arc while the ratio of its wheel speeds is constant.

    Attributes:
        length: Path of the midpoint of the axle, m, positive forwards; Delta D in (38).
        turn: Change of the heading, rad, counter-clockwise; Delta theta in (38).

    Example:
        >>> end = Arc(math.pi, math.pi).end(Pose(0.0, 0.0, 0.0))  # half a circle of radius 1 m
        >>> round(end.x, 9), round(end.y, 9)
        (0.0, 2.0)
    """

    length: float
    turn: float

    @classmethod
    def between(cls, start: Pose, end: Pose) -> Arc:
        """Return the arc from one pose to the next, of at most half a turn; the inverse of `end`.

        What the robot was moved sideways of its mean heading is left out.

        Example:
            >>> start = Pose(1.0, 2.0, 3.0)
            >>> tuple(round(part, 9) for part in Arc.between(start, Arc(0.5, 0.8).end(start)))
            (0.5, 0.8)
        """
        turn = math.remainder(end.theta - start.theta, math.tau)
        direction = start.theta + 0.5 * turn
        x, y = end.x - start.x, end.y - start.y
        chord = x * math.cos(direction) + y * math.sin(direction)
        return cls(chord / sinc(0.5 * turn), turn)

    def end(self, start: Pose) -> Pose:
        """Return the exact pose at the end of the arc.

        Lages (2018), (35)-(37): the chord has the length D sin(a / 2) / (a / 2) and the direction
        theta + a / 2, with a the turn and theta the heading at the **start** of the interval (the
        paper's index k leaves this open).
        """
        chord = self.length * sinc(0.5 * self.turn)
        direction = start.theta + 0.5 * self.turn
        return Pose(
            start.x + chord * math.cos(direction),
            start.y + chord * math.sin(direction),
            start.theta + self.turn,
        )

    def fraction(self, fraction: float) -> Arc:
        """Return the first part of the arc, `fraction` (0 to 1) of its length."""
        return Arc(fraction * self.length, fraction * self.turn)


def arc_ends(poses: Array, length: Array, turn: Array) -> Array:
    """Return the end poses of the arcs of n robots; start poses, and result, of shape (3, n)."""
    x, y, theta = poses
    half = 0.5 * turn
    chord, direction = length * sincs(half), theta + half
    return np.stack((x + chord * np.cos(direction), y + chord * np.sin(direction), theta + turn))
