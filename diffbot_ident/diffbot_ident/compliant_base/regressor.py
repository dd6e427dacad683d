"""The equations (4) as A x = F, linear in all 22 parameters.

    m (d(R'g) - r'') - b_r r' - k_r r                              = dF12
    -I theta'' - theta' x I theta' - c x dF12 - b_t theta' - k_t theta = dN12

All vectors are in the axes of the base, and d is the change since the arm and base were at rest.
No product of parameters occurs: c (r2) meets the measured force, not the mass. So the arm's mass
and inertia are not needed here, only the sensor at its base.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.compliant_base import parameters as order
from diffbot_ident.compliant_base import sensors as channel
from diffbot_ident.compliant_base.arm import GRAVITY, cross, cross_matrix

Array = NDArray[np.float64]

_DIAGONAL = np.arange(3)


def rows(measured: Array) -> tuple[Array, Array]:
    """Regressors and outputs.

    Args:
        measured: channels of `sensors.QUANTITIES`, shape (..., 8, 3).

    Returns:
        A, shape (..., 6, 22), and F, shape (..., 6): forces [x y z] in N and moments in N m.
    """
    a = small_motion_rows(measured)
    angle, rate = measured[..., channel.ANGLE, :], measured[..., channel.RATE, :]
    a[..., :3, order.MASS] += gravity_change(angle) - cross(GRAVITY, angle)
    a[..., 3:, order.INERTIA] -= cross_matrix(rate) @ inertia_matrix(rate)
    f = np.concatenate((measured[..., channel.FORCE, :], measured[..., channel.MOMENT, :]), axis=-1)
    return a, f


def small_motion_rows(measured: Array) -> Array:
    """A without what is of second order in angles and rates, shape (..., 6, 22)."""
    a = np.zeros((*measured.shape[:-2], 6, order.SIZE))
    tilt = cross(GRAVITY, measured[..., channel.ANGLE, :])
    a[..., :3, order.MASS] = tilt - measured[..., channel.ACCELERATION, :]
    a[..., 3:, order.INERTIA] = -inertia_matrix(measured[..., channel.ANGULAR_ACCELERATION, :])
    a[..., 3:, order.ARM_BASE] = cross_matrix(measured[..., channel.FORCE, :])
    for first, damping, stiffness in (
        (0, channel.VELOCITY, channel.POSITION),
        (3, channel.RATE, channel.ANGLE),
    ):
        _set_diagonals(a, -measured[..., damping, :], -measured[..., stiffness, :], first)
    return a


def regressor_variance(deviation: Array) -> Array:
    """Variance of the noise in each entry of A, shape (..., 6, 22).

    Noise of the products of two rates, (theta' x I theta'), is left out: it is small of second
    order. Within one row no two entries have the same channel's noise.

    Args:
        deviation: of the channels, shape (..., 8, 3).
    """
    squares = deviation**2
    v = np.zeros((*deviation.shape[:-2], 6, order.SIZE))
    angle = squares[..., channel.ANGLE, :]
    # d(R'g) = g x theta for small turns: pitch and roll let gravity act along y and x.
    tilt = GRAVITY[2] ** 2 * angle[..., [1, 0, 2]] * np.array([1.0, 1.0, 0.0])
    v[..., :3, order.MASS] = squares[..., channel.ACCELERATION, :] + tilt
    v[..., 3:, order.INERTIA] = inertia_matrix(squares[..., channel.ANGULAR_ACCELERATION, :])
    v[..., 3:, order.ARM_BASE] = np.abs(cross_matrix(squares[..., channel.FORCE, :]))
    _set_diagonals(v, squares[..., channel.VELOCITY, :], squares[..., channel.POSITION, :], 0)
    _set_diagonals(v, squares[..., channel.RATE, :], angle, 3)
    return v


def row_variance(deviation: Array, estimate: Array) -> Array:
    """Variance of A x - F from the noise of all channels, shape (..., 6).

    The noise of the regressors counts with the parameters that they belong to.

    Args:
        deviation: of the channels, shape (..., 8, 3).
        estimate: of the parameters, shape (22,).
    """
    own = deviation[..., [channel.FORCE, channel.MOMENT], :] ** 2
    outputs = own.reshape(*own.shape[:-2], 6)
    # In the rows of forces dF12 is the output alone; in those of moments c x dF12 is a regressor.
    return outputs + regressor_variance(deviation) @ estimate**2


def gravity_change(angle: Array) -> Array:
    """R'g - g in the base's axes, m/s^2, for rotation vectors: (..., 3) -> (..., 3).

    Rodrigues' formula: -sin(t)/t theta x g + (1 - cos t)/t^2 theta x (theta x g), t = |theta|.
    """
    size = np.sqrt((angle * angle).sum(axis=-1, keepdims=True))
    once = cross(angle, GRAVITY)
    half = np.sinc(size / (2.0 * np.pi))
    return 0.5 * half * half * cross(angle, once) - np.sinc(size / np.pi) * once


def inertia_matrix(vector: Array) -> Array:
    """W with W [xx yy zz yz zx xy] = I vector: (..., 3) -> (..., 3, 6)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    w = np.zeros((*vector.shape, 6))
    w[..., _DIAGONAL, _DIAGONAL] = vector
    w[..., 0, 4], w[..., 0, 5] = z, y
    w[..., 1, 3], w[..., 1, 5] = z, x
    w[..., 2, 3], w[..., 2, 4] = y, x
    return w


def _set_diagonals(a: Array, damping: Array, stiffness: Array, first: int) -> None:
    """Entries of damping and stiffness of the three rows from `first` on."""
    which = first + _DIAGONAL
    a[..., which, order.LINEAR_DAMPING.start + which] = damping
    a[..., which, order.LINEAR_STIFFNESS.start + which] = stiffness
