"""Kinematics and forces of four omni-wheels at right angles.

    (12)  v1 =  Vn + b W     (4)  F_v  = f4 - f2              (11)  dx/dt = V cos th - Vn sin th
          v2 = -V  + b W     (5)  F_vn = f1 - f3                    dy/dt = V sin th + Vn cos th
          v3 = -Vn + b W     (6)  Gamma = (f1 + f2 + f3 + f4) b     dth/dt = W
          v4 =  V  + b W

(4)-(6) is the transpose of (12): the wheels' power is the body's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def columns(values: ArrayLike) -> tuple[Array, ...]:
    """The last dimension taken apart, as into v, vn and w; (...,) each."""
    values = np.asarray(values, dtype=float)
    return tuple(values[..., i] for i in range(values.shape[-1]))


def wheel_matrix(wheel_distance: float) -> Array:
    """The matrix of (12), 4 rows of 3: wheel speeds, m/s, from [V, Vn, W].

    Args:
        wheel_distance: b, from the centre of the chassis to each wheel, m, > 0.
    """
    b = wheel_distance
    return np.array([[0.0, 1.0, b], [-1.0, 0.0, b], [0.0, -1.0, b], [1.0, 0.0, b]])


def wheel_velocities(body: ArrayLike, wheel_distance: float) -> Array:
    """(12): rim speeds of the wheels, (..., 4) m/s, from [V, Vn, W], (..., 3) m/s, m/s, rad/s."""
    return np.asarray(body, dtype=float) @ wheel_matrix(wheel_distance).T


def body_velocities(wheels: ArrayLike, wheel_distance: float) -> Array:
    """The inverse of (12) by least squares: [V, Vn, W], (..., 3), from rim speeds, (..., 4) m/s.

    V = (v4 - v2) / 2, Vn = (v1 - v3) / 2, W = (v1 + v2 + v3 + v4) / (4 b).
    """
    v1, v2, v3, v4 = columns(wheels)
    total = v1 + v2 + v3 + v4
    return np.stack(((v4 - v2) / 2.0, (v1 - v3) / 2.0, total / (4.0 * wheel_distance)), axis=-1)


def wheel_conflict(wheels: ArrayLike) -> Array:
    """What of the rim speeds (..., 4) no motion of the body explains, m/s: slip or a bad sensor.

    Four wheels measure three velocities. (v1 + v3 - v2 - v4) / 4 is 0 where (12) holds; it is the
    distance of every wheel from what `body_velocities` makes of them.
    """
    v1, v2, v3, v4 = columns(wheels)
    return (v1 + v3 - v2 - v4) / 4.0


def body_forces(wheel_forces: ArrayLike, wheel_distance: float) -> Array:
    """(4)-(6): [F_v, F_vn, Gamma], (..., 3) N, N, N m, from wheel forces f, (..., 4) N."""
    return np.asarray(wheel_forces, dtype=float) @ wheel_matrix(wheel_distance)


def advance_pose(pose: ArrayLike, body: ArrayLike, duration: float) -> Array:
    """(11) over a time in which [V, Vn, W] are constant; exact.

    Args:
        pose: [x in m, y in m, theta in rad] in the world, (..., 3).
        body: [V, Vn, W], (..., 3).
        duration: s.
    """
    x, y, theta = columns(pose)
    v, vn, w = columns(body)
    turn = w * duration
    # The chord of the arc: its direction is that of half the turn. np.sinc(x) is sin(pi x)/(pi x).
    chord = duration * np.sinc(0.5 * turn / np.pi)
    cos, sin = np.cos(theta + 0.5 * turn), np.sin(theta + 0.5 * turn)
    moved = (x + chord * (v * cos - vn * sin), y + chord * (v * sin + vn * cos), theta + turn)
    return np.stack(np.broadcast_arrays(*moved), axis=-1)
