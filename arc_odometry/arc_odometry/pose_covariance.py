"""Growth of the pose's covariance from the noise of the wheels' paths.

Model: along its way each wheel's path is measured (or rolled) with white noise, independent of the
other wheel's, so that over a piece ds of its path the variance grows by k |ds|, k in m^2/m. The
standard deviation over 1 m is sqrt(k) m. Not in it: errors that stay, as of radii and separation.

Noise dl, dr at a point of the arc moves the pose at its end, to first order, by

    d theta = (dr - dl) / (2 b)
    d p     = h (dl + dr) / 2 + d theta J (p_end - p),   h the heading's direction, J = 90 degrees

and the integral of its square along the arc is the covariance that the arc adds. Integrating,
instead of putting all noise on the arc's end, makes it independent of how finely the arc is cut.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from arc_odometry.arc import Arc, Pose

# Gauss-Legendre on [0, 1]: positive weights, so that what is added is positive semidefinite. Three
# nodes per piece of 0.05 rad leave 3e-13 of the integral, and one piece is enough for a control
# period. A step of more than 3.2 rad gets no more pieces, and 5e-7 at five turns.
_PIECE = 0.05
_MOST_PIECES = 64
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_NODES, _WEIGHTS = (0.5 * (_NODES + 1.0)).tolist(), (0.5 * _WEIGHTS).tolist()


def propagate(
    covariance: NDArray[np.float64],
    start: Pose,
    arc: Arc,
    variances: tuple[float, float],
    separation: float,
) -> NDArray[np.float64]:
    """Covariance (3, 3) of the pose at the end of an arc; symmetric positive semidefinite.

    Args:
        covariance: at the start, (3, 3), of [x, y, theta] in m and rad in the odom frame.
        start: pose at the start.
        arc: what was driven.
        variances: of the wheels' paths over the arc [left, right], m^2.
        separation: of the wheels, 2 b, m.
    """
    end = arc.end(start)
    shear = np.eye(3)
    shear[0, 2], shear[1, 2] = start.y - end.y, end.x - start.x
    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks at the result
        grown = shear @ covariance @ shear.T
        if variances != (0.0, 0.0):
            root = _noise_root(start, arc, variances, separation)
            grown += root @ root.T
        return 0.5 * (grown + grown.T)


def _noise_root(
    start: Pose, arc: Arc, variances: tuple[float, float], separation: float
) -> NDArray[np.float64]:
    """A root R of the covariance Q = R R' that the arc's noise adds, (3, nodes)."""
    pieces = int(min(1.0 + abs(arc.turn) / _PIECE, _MOST_PIECES))
    columns = []
    for piece in range(pieces):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            done = (piece + node) / pieces
            theta = start.theta + done * arc.turn
            x, y, _ = arc.share(1.0 - done).end(Pose(0.0, 0.0, theta))
            for side, variance in zip((-1.0, 1.0), variances, strict=True):
                scale = math.sqrt(weight / pieces * variance)
                turn = side * scale / separation
                columns.append(
                    (
                        0.5 * scale * math.cos(theta) - turn * y,
                        0.5 * scale * math.sin(theta) + turn * x,
                        turn,
                    )
                )
    return np.array(columns).T


def checked(covariance: object) -> NDArray[np.float64]:
    """A covariance from outside as a symmetric array (3, 3).

    Raises:
        ValueError: wrong shape, not finite, not symmetric or not positive semidefinite, beyond
            what rounding explains.
    """
    matrix = np.array(covariance, dtype=float)
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
