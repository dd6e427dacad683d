# SPDX-License-Identifier: Apache-2.0
"""Rows of an integrated first-order model without the unknown initial velocity, causally.

    v_k = v_0 + a I_k - c S_k + e_k + c E_k      I: int command,  S: int measured velocity
                                                 e: noise of v,   E: int e

All columns pass s / (s + rate), by Tustin; docs/theory/velocity_robots.md#online-fit.
"""

from __future__ import annotations

import numpy as np

from arc_odometry.number_range import Array

# Largest product of rate and step: faster ones cannot be told from samples.
FASTEST = 1.0
# Smallest rate, 1/s.
SLOWEST = 0.25


class CausalRows:
    """Filters the columns of one block after another; a block may continue the one before."""

    def __init__(self) -> None:
        self.interrupt()

    def interrupt(self) -> None:
        self._until: float | None = None
        self._last: Array = np.zeros(0)

    def take(self, times: Array, columns: Array, rate: float) -> Array:
        """Return the filtered columns (..., n) of a block, n >= 2; only their changes matter.

        A block continues the one before if it begins with that one's last stamp: (..., n - 1). Of
        others (..., n), less what decays like an initial velocity. `rate`, 1/s: the best is c.
        """
        half = 0.5 * np.minimum(max(rate, SLOWEST) * np.diff(times), FASTEST)
        keeps = ((1.0 - half) / (1.0 + half)).tolist()
        rows = np.empty((len(times), *columns.shape[:-1]))
        with np.errstate(over="ignore", invalid="ignore"):
            changes = np.moveaxis(np.diff(columns, axis=-1) / (1.0 + half), -1, 0)
            continued = self._until == times[0] and self._last.shape == rows.shape[1:]
            rows[0] = self._last if continued else 0.0
            for k, keep in enumerate(keeps):
                np.multiply(rows[k], keep, out=rows[k + 1])
                rows[k + 1] += changes[k]
            if not continued:
                decay = np.cumprod([1.0, *keeps])
                fraction = np.tensordot(decay, rows, axes=1) / float(decay @ decay)
                rows -= np.multiply.outer(decay, fraction)
        self._until, self._last = float(times[-1]), rows[-1].copy()
        if not np.isfinite(self._last).all():
            self.interrupt()
        return np.moveaxis(rows[1:] if continued else rows, 0, -1)
