# SPDX-License-Identifier: Apache-2.0
"""Covariance of a pose by odometry, from random errors of the wheels' paths.

The variance of a wheel's path grows by k |ds| over a piece ds, k in m^2/m, independently of the
other wheel's; systematic errors are not part of this. Derivation: docs/theory/odometry.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from arc_odometry.arcs import Arc, Pose
from arc_odometry.number_range import Array

# Gauss-Legendre quadrature on [0, 1], whose positive weights keep the sum positive semidefinite.
# Three nodes per piece of 0.05 rad have a relative error of 3e-13; beyond 3.2 rad it grows, to 5e-7
# at five turns.
_PIECE = 0.05
_MOST_PIECES = 64
_OFF = 0.5 * math.sqrt(0.6)
_NODES, _WEIGHTS = (0.5 - _OFF, 0.5, 0.5 + _OFF), (5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0)


class Spread(NamedTuple):
    """The six distinct entries of a covariance of [x, y, theta], m and rad, in the odom frame.

    Plain floats, as NumPy takes three times as long for 3 x 3 matrices.
    """

    xx: float
    xy: float
    xt: float
    yy: float
    yt: float
    tt: float

    @classmethod
    def of(cls, matrix: Array) -> Spread:
        """Return the entries of a symmetric matrix (3, 3)."""
        (xx, xy, xt), (_, yy, yt), (_, _, tt) = matrix.tolist()
        return cls(xx, xy, xt, yy, yt, tt)

    @property
    def trace(self) -> float:
        """Sum of the variances; an upper bound of all entries."""
        return self.xx + self.yy + self.tt

    def matrix(self) -> Array:
        """Return the covariance as an array (3, 3)."""
        xx, xy, xt, yy, yt, tt = self
        return np.array([[xx, xy, xt], [xy, yy, yt], [xt, yt, tt]])


KNOWN = Spread(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Covariance of an exactly known pose."""


def propagate(
    spread: Spread,
    start: Pose,
    arc: Arc,
    variances: tuple[float, float],
    separation: float,
) -> Spread:
    """Return the covariance of the pose at the end of an arc; positive semidefinite.

    `variances` are those of the wheels' paths over the arc [left, right], m^2; `separation`: 2 b,
    m.
    """
    if spread == KNOWN and variances == (0.0, 0.0):
        return spread
    end = arc.end(start)
    xx, xy, xt, yy, yt, tt = spread
    # The end point moves by (p, q) per rad of heading error at the start.
    p, q = start.y - end.y, end.x - start.x
    xx, xy, yy = (
        xx + p * (2.0 * xt + p * tt),
        xy + p * yt + q * (xt + p * tt),
        yy + q * (2.0 * yt + q * tt),
    )
    xt, yt = xt + p * tt, yt + q * tt
    if variances == (0.0, 0.0):
        return Spread(xx, xy, xt, yy, yt, tt)
    pieces = int(min(1.0 + abs(arc.turn) / _PIECE, _MOST_PIECES))
    left, right = variances[0] / pieces, variances[1] / pieces
    turn = 1.0 / separation
    for piece in range(pieces):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            done = (piece + node) / pieces
            theta = start.theta + done * arc.turn
            rest = arc.fraction(1.0 - done).end(Pose(0.0, 0.0, theta))
            cosine, sine = 0.5 * math.cos(theta), 0.5 * math.sin(theta)
            for x, y, t, variance in (
                (cosine + turn * rest.y, sine - turn * rest.x, -turn, weight * left),
                (cosine - turn * rest.y, sine + turn * rest.x, turn, weight * right),
            ):
                xx += variance * x * x
                xy += variance * x * y
                xt += variance * x * t
                yy += variance * y * y
                yt += variance * y * t
                tt += variance * t * t
    return Spread(xx, xy, xt, yy, yt, tt)


def checked_covariance(covariance: object) -> Array:
    """Check a given covariance and return it as a symmetric array (3, 3).

    Raises:
        ValueError: It has the wrong shape or is not finite, or it is not symmetric or not positive
            semidefinite by more than rounding.
    """
    matrix: Array = np.array(covariance, dtype=float)
    if matrix.shape != (3, 3):
        raise ValueError(f"covariance of shape {matrix.shape}: must be (3, 3), of [x, y, theta]")
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"covariance = {matrix.tolist()}: must be finite")
    rounding = 1e-9 * float(np.max(np.abs(matrix)))
    if np.max(np.abs(matrix - matrix.T)) > rounding:
        raise ValueError(f"covariance = {matrix.tolist()}: must be symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -rounding:
        raise ValueError(
            f"covariance = {matrix.tolist()}: must be positive semidefinite and has the "
            f"eigenvalue {smallest:.3g}"
        )
    return matrix
