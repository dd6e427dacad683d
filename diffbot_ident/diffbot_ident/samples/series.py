# SPDX-License-Identifier: Apache-2.0
"""Differences, means and sums of successive values; inverses that may not exist."""

from __future__ import annotations

import numpy as np

from diffbot_ident.estimate import Array


def differences(values: Array) -> Array:
    """Return the differences of successive rows; np.diff takes four times as long for few rows."""
    result: Array = values[1:] - values[:-1]
    return result


def halves(per_period: Array) -> Array:
    """Return the means of each period's value and the next one's."""
    return 0.5 * (per_period[:-1] + per_period[1:])


def moving_sum(columns: Array, length: int, add: np.ufunc = np.add) -> Array:
    """Return sums (np.minimum: the least) over `length` rows, (n - length + 1, columns)."""
    count = max(len(columns) - length + 1, 0)
    # Faster than a cumulative sum's differences, and without drift.
    power, size = columns, 1
    while not length & size:
        power = add(power[size:], power[:-size])
        size *= 2
    result, first = power[:count], size
    while first < length:
        power = add(power[size:], power[:-size])
        size *= 2
        if length & size:
            result = add(result, power[first : first + count])
            first += size
    return result


# Eigenvalues of at most this share of the largest one count as 0.
LEAST_EIGENVALUE = 1e-15


def pseudo_inverse(matrix: Array, least: float = LEAST_EIGENVALUE) -> Array:
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
