# SPDX-License-Identifier: Apache-2.0
"""Whether the residuals are mere noise, or the model misses something."""

from __future__ import annotations

import math

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.torque.axis_fit import AXES, solutions
from diffbot_ident.torque.columns import NO_COLUMNS, ExtraColumns
from diffbot_ident.torque.effects import TORQUES
from diffbot_ident.torque.rows import Flags
from diffbot_ident.torque.sums import RowSums, torque_weights

# Lags at which residuals should be uncorrelated, in lengths of a row.
LAGS = (1, 2, 3)
# Correlation that is worth a warning, and deviations of chance that it has to exceed.
NOTABLE_CORRELATION, CHANCE_STDS = 0.25, 4.0
# Lengths of rows below which the parameters are too poor.
MIN_LENGTHS = 20
# Deviations of chance beyond which a correlation widens the intervals.
CHANCE_STDS_OF_VARIANCE = 3.0
# Share of new rows after which the parameters are fitted again.
REFIT_FRACTION = 0.4
# Ratio of old to new residuals' mean squares by which the parameters were too poor: with 2 slow
# forces are found less often, 6 causes false warnings.
POOR = 4.0


class ResidualCorrelation:
    """Autocorrelations of residuals, each with the parameters known when its row arrived.

    Rows that share no torque and no angle should have none;
    docs/theory/integral_estimator.md#residuals.
    """

    def __init__(self) -> None:
        # By lag, sums of products of rows' residuals in dv/dt and domega/dt, 1, and their squares.
        self._sums = np.zeros((len(LAGS), 5, 5))
        # From a row to its residuals; None before there are parameters.
        self._map: Array | None = None
        self._extra: ExtraColumns = NO_COLUMNS
        self._unfitted = 0
        self._length = 1
        self.interrupt()

    def forget(self, factor: float) -> None:
        """Scale the weight of everything so far by this factor (0 to 1)."""
        self._sums *= factor

    def restart(self, rows: int) -> None:
        """Forget residuals and parameters; these are fitted again to so many rows."""
        self.forget(0.0)
        self._map = None
        self._unfitted = max(self._unfitted, rows)

    def interrupt(self) -> None:
        """Start a new segment: the next rows do not continue the previous ones."""
        self._seen = np.empty((0, 3))

    def add(
        self,
        rows: Array,
        turning: Flags,
        sums: RowSums,
        delay: float,
        extra: ExtraColumns = NO_COLUMNS,
        lag: float = 0.0,
    ) -> None:
        """Add new rows, which must already be part of `sums`, at a delay and lag, control periods.

        `turning`: all directions are kept in a row, (n,); other `extra` regressors begin anew.
        """
        self._length = sums.window + sums.smoothing + 1
        if extra != self._extra:
            self._extra = extra
            self.restart(int(sums.rows))
        self._unfitted += len(rows)
        if self._unfitted > max(MIN_LENGTHS * self._length, REFIT_FRACTION * sums.rows):
            seen, weights = sums.delayed(delay, lag), torque_weights((delay,), sums.fine, lag)
            error = np.zeros((len(seen.moments), 2))
            for side, (theta,) in enumerate(solutions(seen.moments, (extra,))):
                *columns, output = AXES[side].columns(extra[side])
                error[columns, side] = -theta
                error[output, side] = 1.0
            self._map = np.concatenate((error[:TORQUES], weights @ error[TORQUES:]))
            self._unfitted = 0
            self._forget_poor(seen, error)
        if self._map is None:
            return
        clear: Array = turning[:, None].astype(float)
        errors = (rows @ self._map) * clear
        new = len(self._seen)
        self._seen = np.concatenate((self._seen, np.concatenate((errors, clear), axis=1)))
        every = np.concatenate((self._seen, np.square(self._seen[:, :2])), axis=1)
        for i, lag in enumerate(LAGS):
            step = lag * self._length
            first = max(new, step)
            if first < len(every):
                self._sums[i] += every[first:].T @ every[first - step : len(every) - step]
        self._seen = self._seen[-max(LAGS) * self._length :]

    def _forget_poor(self, seen: RowSums, error: Array) -> None:
        """Forget residuals that stem from too poor parameters."""
        if seen.weights[0] == 0.0:
            return
        counted = self._sums[0, 3:, 2] / max(self._sums[0, 2, 2], 1.0)
        expected = np.diag(error.T @ seen.moments @ error) / seen.weights[0]
        if (counted > POOR * expected).any():
            self.forget(0.0)
            self.interrupt()

    def correlation(self) -> tuple[float, float]:
        """Return the largest in size over the lags, [linear, angular], -1 to 1; NaN if unknown."""
        result = self._at_lags()
        if result is None:
            return math.nan, math.nan
        linear, angular = (float(r[np.argmax(np.abs(r))]) for r in result.T)
        return linear, angular

    def _at_lags(self) -> Array | None:
        """Return the correlations, (lags, [linear, angular]); None if unknown."""
        products = self._sums[:, :2, :2].diagonal(axis1=1, axis2=2)
        power = np.sqrt(self._sums[:, 3:, 2] * self._sums[:, 2, 3:])
        return products / power if power.all() else None

    def _chance(self) -> Array:
        """Return the deviations of white residuals' correlations, shape (lags,)."""
        chance: Array = np.sqrt(self._length / np.maximum(self._sums[:, 2, 2], 1.0))
        return chance

    def variance_factors(self) -> tuple[float, float]:
        """Return factors on [linear, angular] variances by correlated errors (Bartlett 1946), 1..7.

        1 + 2 sum r over the lags, as far as r is beyond chance.
        """
        result = self._at_lags()
        if result is None:
            return 1.0, 1.0
        beyond = np.maximum(result - CHANCE_STDS_OF_VARIANCE * self._chance()[:, None], 0.0)
        linear, angular = (1.0 + 2.0 * beyond.sum(axis=0)).tolist()
        return linear, angular

    def warnings(self) -> list[str]:
        """Return warnings about notable correlations."""
        results = []
        for name, value in zip(("dv/dt", "domega/dt"), self.correlation(), strict=True):
            if abs(value) > max(NOTABLE_CORRELATION, CHANCE_STDS * self._chance()[0]):
                results.append(
                    f"residuals of {name} are not white (correlation {value:+.2f}): an effect "
                    "outside the model moves the robot; check for slopes, slip, a loose load, or "
                    "velocities and torques that are filtered"
                )
        return results
