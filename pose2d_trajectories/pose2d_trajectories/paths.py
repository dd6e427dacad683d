# SPDX-License-Identifier: Apache-2.0
"""Curves in the plane, without time: closed curves, and polylines with rounded corners.

The smooth step S(u) = 6 u^5 - 15 u^4 + 10 u^3 rises from 0 to 1 for u from 0 to 1; its first and
second derivatives vanish at both ends, and S(1 - u) = 1 - S(u). Headings that follow it over the
path have a continuous curvature, and speeds that follow it (see timing) a continuous acceleration,
so that the torque does not have to jump.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Arc, Pose
from pose2d_trajectories.reference import finite


class PathPoint(NamedTuple):
    """Position, m, of a curve at the parameter p; primes are derivatives with respect to p.

    Attributes:
        theta: Direction of the tangent, rad; continuous in p.
        ds: s', path length per parameter, m; negative: driven backwards.
        dds: s'', m.
        dtheta: theta', rad.
        ddtheta: theta'', rad.
    """

    x: float
    y: float
    theta: float
    ds: float
    dds: float
    dtheta: float
    ddtheta: float


class Path(Protocol):
    """A curve with a continuous curvature."""

    @property
    def length(self) -> float:
        """Parameter at the end; for closed curves, after one lap."""

    def at(self, p: float) -> PathPoint:
        """Return the point at parameter p, 0 <= p <= length; closed curves accept any p >= 0."""


Number = TypeVar("Number", float, NDArray[np.float64])

# Largest S', at u = 1/2.
MAX_SLOPE = 1.875
# Largest |S''|, at u = (1 -+ 1 / sqrt 3) / 2.
MAX_CURVATURE = 10.0 / math.sqrt(3.0)


def step(u: Number) -> Number:
    """Return S(u), 0 <= u <= 1."""
    return u * u * u * (10.0 - u * (15.0 - 6.0 * u))


def step_slope(u: Number) -> Number:
    """Return S'(u)."""
    return 30.0 * u * u * (1.0 - u) * (1.0 - u)


def step_curvature(u: Number) -> Number:
    """Return S''(u)."""
    return 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)


def step_integral(u: Number) -> Number:
    """Return the integral of S from 0 to u; 1/2 at u = 1."""
    return u * u * u * u * (2.5 - u * (3.0 - u))


@dataclass(frozen=True)
class ArcPath:
    """A circular arc, which may be a straight line, a turn on the spot or a whole circle.

    Its parameter is mostly the path, m; of a turn on the spot and of a circle the angle, rad.

    Attributes:
        ds: Path per parameter, m; negative: driven backwards; 0: a turn on the spot.
        dtheta: Turn per parameter, rad, counter-clockwise positive; 0: a straight line.
        length: Parameter at the end, > 0; a circle may be driven on, at any p.
    """

    start: Pose
    ds: float
    dtheta: float
    length: float

    def at(self, p: float) -> PathPoint:
        x, y, theta = Arc(self.ds * p, self.dtheta * p).end(self.start)
        return PathPoint(x, y, theta, self.ds, 0.0, self.dtheta, 0.0)


@dataclass(frozen=True)
class Lissajous:
    """x = width sin 2p, y = height cos p, m; the parameter p is an angle in rad.

    With p = 2 pi t / period and height < 0 it is the figure-8 of Lages (2018), section 6.2, in its
    smooth form; with height > 0 it is (8) of Siwek et al. (2023). y' vanishes only at p = 0 and pi,
    and there x' > 0: the speed is never 0, and atan2 is continuous without unwrapping.
    """

    width: float
    height: float

    @property
    def length(self) -> float:
        """Parameter of one lap, rad."""
        return 2.0 * math.pi

    def at(self, p: float) -> PathPoint:
        """Return the point at p, rad; any p."""
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


class Loop:
    """A closed curve of pieces, driven any number of laps; the parameter is the path, m.

    Each piece begins where the previous one ends, and the first where the last ends. Headings are
    continuous except for whole turns of a lap.
    """

    def __init__(self, pieces: Sequence[Path]) -> None:
        self._pieces = tuple(pieces)
        *self._starts, self._length = accumulate((piece.length for piece in pieces), initial=0.0)
        first, last = self._pieces[0], self._pieces[-1]
        turn = last.at(last.length).theta - first.at(0.0).theta
        self._turn = 2.0 * math.pi * round(turn / (2.0 * math.pi))

    @property
    def length(self) -> float:
        """Length of one lap, m."""
        return self._length

    def at(self, p: float) -> PathPoint:
        """Return the point p m from the start; any p >= 0."""
        lap, rest = divmod(p, self._length)
        index = bisect_right(self._starts, rest) - 1
        point = self._pieces[index].at(rest - self._starts[index])
        return point._replace(theta=point.theta + lap * self._turn)


# Gauss-Legendre quadrature on [0, 1]; the error is 1e-15 of a corner's length for turns up to pi.
_GAUSS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = 0.5 * (_GAUSS[0] + 1.0), 0.5 * _GAUSS[1]


@dataclass(frozen=True)
class Corner:
    """A rounded corner; the parameter is the path, m.

    The heading follows the smooth step, so that curvature and its derivative are 0 at both ends: a
    circular arc would need a jump of the yaw rate. |turn| < pi, rad; length > 0, m.
    """

    start: Pose
    turn: float
    length: float

    @staticmethod
    def length_for(turn: float, rounding: float) -> float:
        """Return the length, m, of a corner that begins and ends `rounding` m from its point."""
        chord = float(np.dot(_WEIGHTS, np.cos(turn * (step(_NODES) - 0.5))))
        return 2.0 * rounding * math.cos(0.5 * turn) / chord

    @property
    def max_curvature(self) -> float:
        """Largest |d theta / d s|, 1/m."""
        return MAX_SLOPE * abs(self.turn) / self.length

    @property
    def max_sharpness(self) -> float:
        """Largest |d^2 theta / d s^2|, 1/m^2."""
        return MAX_CURVATURE * abs(self.turn) / self.length**2

    def at(self, p: float) -> PathPoint:
        """Return the point p m from the start; its error by quadrature is 1e-15 of the length."""
        u = p / self.length
        x, y, heading = self.start
        angles = heading + self.turn * step(u * _NODES)
        return PathPoint(
            x + p * float(np.dot(_WEIGHTS, np.cos(angles))),
            y + p * float(np.dot(_WEIGHTS, np.sin(angles))),
            heading + self.turn * step(u),
            1.0,
            0.0,
            self.turn * step_slope(u) / self.length,
            self.turn * step_curvature(u) / self.length**2,
        )


# Largest turn that can be rounded, rad.
SHARPEST = math.radians(160.0)
# Turns up to this, rad, are rounding errors of points on one line.
STRAIGHT_ON = 1e-9


def legs(points: Sequence[Sequence[float]]) -> list[ArcPath]:
    """Return the lines between points (x, y) in m, with continuous headings.

    Raises:
        ValueError: There are fewer than two points, a point is not two finite numbers, or two
            consecutive points coincide.
    """
    checked = [_point(index, point) for index, point in enumerate(points)]
    if len(checked) < 2:
        raise ValueError(f"points = {checked}: must be at least 2 points (x, y) in m")
    arc_paths: list[ArcPath] = []
    for index, ((x, y), (x2, y2)) in enumerate(zip(checked, checked[1:], strict=False)):
        length = math.hypot(x2 - x, y2 - y)
        if length < 1e-6:
            raise ValueError(
                f"points {index} and {index + 1} = {(x, y)} m: must be at least 1e-6 m apart; "
                "remove one"
            )
        heading = math.atan2(y2 - y, x2 - x)
        if arc_paths:
            before = arc_paths[-1].start.theta
            heading = before + math.remainder(heading - before, 2.0 * math.pi)
        arc_paths.append(ArcPath(Pose(x, y, heading), 1.0, 0.0, length))
    return arc_paths


def _point(index: int, point: Sequence[float]) -> tuple[float, float]:
    try:
        x, y = point
    except (TypeError, ValueError):
        raise ValueError(f"point {index} = {point!r}: must be (x, y) in m") from None
    return finite(f"x of point {index}", x, "m"), finite(f"y of point {index}", y, "m")


def rounded(lines: Sequence[ArcPath], roundings: Sequence[float]) -> list[ArcPath | Corner]:
    """Return straights and smooth corners along n legs.

    `roundings`: for each of the n - 1 corners, how far from its point it begins and ends, m.

    Raises:
        ValueError: A turn is too sharp to be rounded.
    """
    pieces: list[ArcPath | Corner] = []
    begun = 0.0  # distance along the leg at which its straight begins, m
    for index, leg in enumerate(lines):
        last = index + 1 == len(lines)
        turn = 0.0 if last else lines[index + 1].start.theta - leg.start.theta
        if abs(turn) > SHARPEST:
            raise ValueError(
                f"turn of {math.degrees(turn):.0f} deg at point {index + 1}: must be <= "
                f"{math.degrees(SHARPEST):.0f} deg to be driven through smoothly; stop there "
                "(corners = 'stop') or add a point"
            )
        rounding = roundings[index] if abs(turn) > STRAIGHT_ON else 0.0
        length = leg.length - begun - rounding
        if length > 1e-12 * leg.length:
            pieces.append(replace(leg, start=Arc(begun, 0.0).end(leg.start), length=length))
        if rounding > 0.0:
            begin = Arc(leg.length - rounding, 0.0).end(leg.start)
            pieces.append(Corner(begin, turn, Corner.length_for(turn, rounding)))
        begun = rounding
    return pieces
