# SPDX-License-Identifier: Apache-2.0
"""Sums over the rows that an estimate needs, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import moving_sum
from diffbot_ident.torque.effects import TORQUES
from diffbot_ident.torque.rows import Flags
from diffbot_ident.torque.torque_delay import acting_weights, delay_columns


@lru_cache(maxsize=256)
def torque_weights(delays: tuple[float, ...], fine: int, lag: float = 0.0) -> Array:
    """Return the weights, (torque columns, 2 delays), by which `RowSums.at` replaces these.

    Delays and lag are in control periods, of `fine` samples; sum and difference alternate.
    """
    return of_both_torques(acting_weights(np.array(delays), np.full(len(delays), lag), fine).T)


def of_both_torques(weights: Array) -> Array:
    """Return weights of either torque, (k, n), for sum and difference in turn, (2 k, 2 n)."""
    result = np.zeros((2 * len(weights), 2 * weights.shape[1]))
    for side in (0, 1):
        result[side::2, side::2] = weights
    return result


def weighted_products(products: Array, weights: Array) -> Array:
    """Return products of columns with weighted sums of the torque columns, by `torque_weights`."""
    size = TORQUES + weights.shape[1]
    result = np.empty((*products.shape[:-2], size, size))
    mixed = products[..., TORQUES:] @ weights
    result[..., :TORQUES, :TORQUES] = products[..., :TORQUES, :TORQUES]
    result[..., :TORQUES, TORQUES:] = mixed[..., :TORQUES, :]
    result[..., TORQUES:, :TORQUES] = mixed[..., :TORQUES, :].swapaxes(-1, -2)
    result[..., TORQUES:, TORQUES:] = weights.T @ mixed[..., TORQUES:, :]
    return result


# Weight of a row in which a wheel reverses: with 1, 92 % of K8's intervals held, with this, 95 %
# (benchmarks/trust.py random). Beyond TURNING_PERIOD (s) it falls with its square.
TURNING_WEIGHT, TURNING_PERIOD = 0.5, 0.02
# Weight of a row in which a sample was lost; not 0: with one lost in five there are few others.
GAP_WEIGHT = 1e-4
# Parts of half a window over which rows are averaged to tell the noises apart: more suppress the
# readings' noise, but leave fewer means.
AVERAGED_PARTS = 9


class RowSums:
    """Sums over the rows that an estimate needs, with exponential forgetting.

        covariance of sum x e = s_torque sum psi_t psi_t' + s_reading sum psi_r psi_r'

    with psi the regressors weighted by the kernel of one period or reading;
    docs/theory/integral_estimator.md#sums-and-noise.

    Args:
        window: Control periods from one end of a window to the other.
        smoothing: Control periods over which each end is averaged.
        period: Control period, s, of `fine` samples.

    Attributes:
        products: Of the rows z and of their means, weighted sums of z z'; sums of psi_t psi_t', per
            gain of v or omega in a period, and of psi_r psi_r', per mean path or turn at a reading
            over a period; shape (4, columns, columns).
        part: Rows of a part; see AVERAGED_PARTS.
        weights: Sums of the weights of rows, and of means of successive rows, shape (2,).
        rows: Number of rows, reduced by forgetting.
    """

    def __init__(self, window: int, smoothing: int, period: float, fine: int = 1) -> None:
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._turning_weight = TURNING_WEIGHT * min(1.0, TURNING_PERIOD / period) ** 2
        self.part = max(window // 2, 1)
        size = self._columns = TORQUES + 2 * delay_columns(fine)
        self.products = np.zeros((4, size, size))
        self.weights = np.zeros(2)
        self.rows = 0.0
        self.interrupt()

    @property
    def moments(self) -> Array:
        """Weighted sum of z z' over the rows z, shape (columns, columns)."""
        moments: Array = self.products[0]
        return moments

    def interrupt(self) -> None:
        """Start a new segment: the next rows do not continue the previous ones."""
        self._rest, self._rest_weight = np.empty((0, self._columns)), np.empty(0)
        self._means = np.zeros((AVERAGED_PARTS - 1, self._columns))
        self._least = np.zeros(AVERAGED_PARTS - 1)
        self._weighted = np.zeros((self.window + self.smoothing, self._columns))

    def delayed(self, delay: float, lag: float = 0.0) -> RowSums:
        """Return these sums for torques this late, control periods: one column of each torque."""
        return self.at((delay,), lag)

    def at(self, delays: tuple[float, ...], lag: float = 0.0) -> RowSums:
        """Return a copy of these sums with a pair of torque columns for each of the delays."""
        seen = copy(self)
        seen.weights = self.weights.copy()
        seen.products = weighted_products(self.products, torque_weights(delays, self.fine, lag))
        return seen

    def moments_at(self, delays: Sequence[float], lag: float = 0.0) -> Array:
        """Return the moments with a pair of torque columns for each of the delays."""
        return weighted_products(self.moments, torque_weights(tuple(delays), self.fine, lag))

    def forget(self, factor: float) -> None:
        """Scale the weight of everything so far by this factor (0 to 1)."""
        self.products[:2] *= factor
        # Sums of squares of weighted rows: a weight counts twice.
        self.products[2:] *= factor * factor
        self.weights *= factor
        self.rows *= factor

    def add(self, rows: Array, turning: Flags, whole: Flags | None = None) -> None:
        """Add rows (n, columns) that continue the previous ones; without information, all 0.

        Flags (n,): all directions are kept in a row (`turning`), no sample was lost (`whole`).
        """
        informative = rows.any(axis=1)
        weight = np.where(turning, 1.0, self._turning_weight) * informative
        if whole is not None:
            weight *= np.where(whole, 1.0, GAP_WEIGHT)
        weighted = weight[:, None] * rows
        moments = self.moments
        moments += weighted.T @ rows
        self.rows += np.count_nonzero(informative)
        self.weights[0] += weight.sum()
        self._add_means(rows, weight)
        self._add_noise(weighted)

    def _add_means(self, rows: Array, weight: Array) -> None:
        """Add means of AVERAGED_PARTS successive parts, each with the least weight of its rows."""
        rows = np.concatenate((self._rest, rows))
        weight = np.concatenate((self._rest_weight, weight))
        size, count = self.part, len(rows) // self.part
        end = count * size
        self._rest, self._rest_weight = rows[end:], weight[end:]
        if not count:
            return
        means = rows[:end].reshape(count, size, -1).sum(axis=1) / (size * AVERAGED_PARTS)
        least = weight[:end].reshape(count, size).min(axis=1)
        means, least = np.concatenate((self._means, means)), np.concatenate((self._least, least))
        self._means, self._least = means[count:], least[count:]
        means = moving_sum(means, AVERAGED_PARTS)
        least = moving_sum(least, AVERAGED_PARTS, np.minimum)
        squares = self.products[1]
        squares += (size * least[:, None] * means).T @ means
        self.weights[1] += size * least.sum()

    def _add_noise(self, weighted: Array) -> None:
        tail = self.window + self.smoothing
        x = np.concatenate((self._weighted, weighted))
        self._weighted = x[-tail:]
        through = 0.5 * (x[1:] + x[:-1])
        for length in (self.window, self.smoothing):
            through = moving_sum(through, length)
        through = through[-len(weighted) :] / self.smoothing
        torque, reading = self.products[2:]
        torque += through.T @ through
        count = len(weighted)
        p, m = self.smoothing, self.window
        seen = x[tail:] - x[tail - p : tail - p + count] - x[tail - m : tail - m + count]
        seen = (seen + x[:count]) / p
        reading += seen.T @ seen


@lru_cache
def kernels(window: int, smoothing: int) -> tuple[Array, Array]:
    """Return what one period's torque and one reading add to successive rows; see RowSums."""
    torque = np.convolve(np.ones(window), (0.5, 0.5))
    torque = np.convolve(torque, np.ones(smoothing)) / smoothing
    reading = np.zeros(window + smoothing + 1)
    np.add.at(reading, [0, smoothing, window, window + smoothing], (1.0, -1.0, -1.0, 1.0))
    return torque, reading / smoothing
