# SPDX-License-Identifier: Apache-2.0
"""Linear filters without zeros, through BLAS: importing scipy.signal takes most of a second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from arc_odometry.number_range import Array


def all_pole(coefficients: Sequence[float] | Array, values: Array) -> Array:
    """Return y[n] = values[n] - a1 y[n-1] - a2 y[n-2] - ..., from rest, along the first axis.

    Args:
        coefficients: [1, a1, a2, ...].
        values: Shape (n,) or (n, m).
    """
    if not len(values):
        return np.array(values, dtype=float)
    band = np.empty((len(coefficients), len(values)), order="F")
    band[:] = np.asarray(coefficients, dtype=float)[:, np.newaxis]
    return _solved(band, values)


def after_one_sample(decay: float, values: Array) -> Array:
    """Return y[0] = 0, y[n+1] = decay y[n] + values[n] along the first axis, in values' shape."""
    delayed = np.empty(values.shape, order="F")
    delayed[:1], delayed[1:] = 0.0, values[:-1]
    if not len(delayed):
        return delayed
    # The first row, the diagonal, is not read.
    return _solved(np.full((2, len(delayed)), -decay, order="F"), delayed, overwrite=True)


def _solved(band: Array, values: Array, overwrite: bool = False) -> Array:
    filtered: Array = scipy.linalg.lapack.dtbtrs(
        band, values, uplo="L", diag="U", overwrite_b=overwrite
    )[0]
    return filtered.reshape(values.shape)
