"""Everything that an estimate needs to know of the rows so far, in constant memory.

Rows that begin one sample apart share most of their window, so their errors are correlated, in a
way that is known: they come from torques that acted a little differently than reported, each
period's for itself, and from the reading of the angles, each reading's for itself. A row takes
either in through a kernel, so that the covariance of sums of x e over the rows is

    Omega = s_torque sum psi_t psi_t' + s_reading sum psi_r psi_r'

with psi the regressors seen through the kernel from a single period or reading.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache

import numpy as np

from diffbot_ident.integral_rows import (
    COLUMNS,
    DELAYS,
    DIFFERENCE,
    DV,
    SUM,
    Array,
    moving_sum,
)

REGRESSORS = DV
# Weight of a row in which a wheel turns round. Its sign, hence its Coulomb friction, is known to a
# period only: with full weight K7 and K8 came out up to 0.04 % too small; without such rows half
# of the data is lost (benchmarks/trust.py). The error grows with the period, hence the weight falls
# with its square beyond UNHURRIED.
TURNING_WEIGHT, UNHURRIED = 0.2, 0.02


class RowSums:
    """Sums over rows, with exponential forgetting.

    Args:
        window: control periods from one end of a window to the other.
        smoothing: control periods over which either end is averaged.
        period: control period, s.

    Attributes:
        moments: weighted sum of z z' over the rows z, shape (COLUMNS, COLUMNS).
        lags: lags in rows at which `lagged` is kept: 0, half a window, a window.
        lagged: sums of z(k) z(k + lag)' over rows in which no wheel turns round, shape
            (3, COLUMNS, COLUMNS).
        pairs: number of terms in each of `lagged`, shape (3,).
        torque: sum of psi_t psi_t', shape (REGRESSORS, REGRESSORS), for a unit of v or omega
            gained in one period.
        reading: sum of psi_r psi_r', the same for a unit of the mean path or turn at one reading,
            over one period.
        rows: number of rows, forgotten ones less.
    """

    def __init__(self, window: int, smoothing: int, period: float) -> None:
        self.window = window
        self.smoothing = smoothing
        self._turning_weight = TURNING_WEIGHT * min(1.0, UNHURRIED / period) ** 2
        self.lags = (0, window // 2, window)
        self.moments = np.zeros((COLUMNS, COLUMNS))
        self.lagged = np.zeros((3, COLUMNS, COLUMNS))
        self.pairs = np.zeros(3)
        self.torque = np.zeros((REGRESSORS, REGRESSORS))
        self.reading = np.zeros((REGRESSORS, REGRESSORS))
        self.rows = 0.0
        self.interrupt()

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._plain = np.zeros((self.window, COLUMNS))
        self._clear = np.zeros(self.window)
        self._weighted = np.zeros((self.window + self.smoothing, REGRESSORS))

    def delayed(self, delay: float) -> RowSums:
        """These sums as seen with torques that act so many control periods late, 0 to DELAYS - 1.

        The torque's columns of delay 0 take the place of those of this delay; between whole
        periods they are interpolated, as an integral over a window changes with a shift.
        """
        shift = _shift(delay)
        seen = copy(self)
        seen.moments = self.moments_at(delay)
        seen.lagged = shift.T @ self.lagged @ shift
        known = shift[:REGRESSORS, :REGRESSORS]
        seen.torque = known.T @ self.torque @ known
        seen.reading = known.T @ self.reading @ known
        return seen

    def moments_at(self, delay: float) -> Array:
        """The moments of `delayed` alone, shape (COLUMNS, COLUMNS)."""
        shift = _shift(delay)
        return shift.T @ self.moments @ shift

    def forget(self, factor: float) -> None:
        """Let everything so far count by this factor (0 to 1) only."""
        for sums in (self.moments, self.lagged, self.pairs):
            sums *= factor
        # Sums of squares of weighted rows: a weight counts twice.
        self.torque *= factor * factor
        self.reading *= factor * factor
        self.rows *= factor

    def add(self, rows: Array, turning: Array) -> None:
        """Take in rows of shape (n, COLUMNS) that follow those before.

        Args:
            rows: from IntegralRows.
            turning: whether both wheels keep turning one way, shape (n,).
        """
        weight = np.where(turning, 1.0, self._turning_weight)[:, None]
        weighted = weight * rows
        self.moments += weighted.T @ rows
        self.rows += len(rows)
        self._add_lagged(rows * turning[:, None], turning.astype(float))
        self._add_noise(weighted[:, :REGRESSORS])

    def _add_lagged(self, rows: Array, clear: Array) -> None:
        plain = np.concatenate((self._plain, rows))
        flags = np.concatenate((self._clear, clear))
        first = self.window
        for i, lag in enumerate(self.lags):
            before = slice(first - lag, len(plain) - lag)
            self.lagged[i] += plain[before].T @ rows
            self.pairs[i] += flags[before] @ clear
        self._plain, self._clear = plain[-self.window :], flags[-self.window :]

    def _add_noise(self, weighted: Array) -> None:
        tail = self.window + self.smoothing
        x = np.concatenate((self._weighted, weighted))
        self._weighted = x[-tail:]
        through = 0.5 * (x[1:] + x[:-1])
        for length in (self.window, self.smoothing):
            through = moving_sum(through, length)
        through = through[-len(weighted) :] / self.smoothing
        self.torque += through.T @ through
        count = len(weighted)
        p, m = self.smoothing, self.window
        seen = x[tail:] - x[tail - p : tail - p + count] - x[tail - m : tail - m + count]
        seen = (seen + x[:count]) / p
        self.reading += seen.T @ seen


@lru_cache
def _shift(delay: float) -> Array:
    """Takes columns to those that `RowSums.delayed` sees, shape (COLUMNS, COLUMNS)."""
    whole = min(int(delay), DELAYS - 1)
    part = delay - whole
    shift = np.eye(COLUMNS)
    for first in (SUM.start, DIFFERENCE.start):
        shift[first, first] = 0.0
        shift[first + whole, first] += 1.0 - part
        if part > 0.0:
            shift[first + whole + 1, first] += part
    return shift


@lru_cache
def kernels(window: int, smoothing: int) -> tuple[Array, Array]:
    """What one period's torque and one reading add to successive rows, as in RowSums."""
    torque = np.convolve(np.ones(window), (0.5, 0.5))
    torque = np.convolve(torque, np.ones(smoothing)) / smoothing
    reading = np.zeros(window + smoothing + 1)
    np.add.at(reading, [0, smoothing, window, window + smoothing], (1.0, -1.0, -1.0, 1.0))
    return torque, reading / smoothing
