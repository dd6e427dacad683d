"""The pieces that a path between points is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pose2d_trajectories.path import PathPoint
from pose2d_trajectories.smooth_step import (
    MAX_CURVATURE,
    MAX_SLOPE,
    step,
    step_curvature,
    step_slope,
)

# Gauss-Legendre points for the end of a corner; 20 give 1e-15 of its length up to turns of pi.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS


@dataclass(frozen=True)
class Straight:
    """A straight line; the parameter is the path, m.

    Attributes:
        x: start, m.
        y: start, m.
        heading: rad.
        length: m.
    """

    x: float
    y: float
    heading: float
    length: float

    def at(self, p: float) -> PathPoint:
        """The point p m from the start."""
        x, y = self.x + p * math.cos(self.heading), self.y + p * math.sin(self.heading)
        return PathPoint(x, y, self.heading, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Corner:
    """A turn along a curve; the parameter is the path, m.

    The heading grows over the path by the smooth step, so that the curvature begins and ends with
    0, as do its derivatives. An arc of a circle would ask for a jump of the yaw rate.

    Attributes:
        x: start, m.
        y: start, m.
        heading: at the start, rad.
        turn: rad, |turn| < pi, counter-clockwise positive.
        length: m, > 0.
    """

    x: float
    y: float
    heading: float
    turn: float
    length: float

    @staticmethod
    def length_for(turn: float, rounding: float) -> float:
        """Length of a corner, m.

        Args:
            turn: rad.
            rounding: from the point where the two tangents meet to its beginning and end, m.

        The chord of a corner of length 1 lies along turn / 2, as the smooth step is symmetric.
        """
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
        """The point p m from the start; the position by quadrature, to 1e-15 of the length."""
        u = p / self.length
        angles = self.heading + self.turn * step(u * _NODES)
        return PathPoint(
            self.x + p * float(np.dot(_WEIGHTS, np.cos(angles))),
            self.y + p * float(np.dot(_WEIGHTS, np.sin(angles))),
            self.heading + self.turn * step(u),
            1.0,
            0.0,
            self.turn * step_slope(u) / self.length,
            self.turn * step_curvature(u) / self.length**2,
        )


@dataclass(frozen=True)
class SpotTurn:
    """A turn on the spot; the parameter is the angle turned, rad.

    Attributes:
        x: position, m.
        y: position, m.
        heading: at the start, rad.
        turn: rad, counter-clockwise positive.
    """

    x: float
    y: float
    heading: float
    turn: float

    @property
    def length(self) -> float:
        """Size of the turn, rad."""
        return abs(self.turn)

    def at(self, p: float) -> PathPoint:
        """After p rad."""
        sign = math.copysign(1.0, self.turn)
        return PathPoint(self.x, self.y, self.heading + sign * p, 0.0, 0.0, sign, 0.0)
