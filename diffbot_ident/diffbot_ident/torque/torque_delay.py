# SPDX-License-Identifier: Apache-2.0
"""The torque's delay and lag: weights, search; docs/theory/integral_estimator.md#delay-and-lag."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import Array

# Whole torque delays that are searched, in control periods: 0 to DELAYS - 1;
DELAYS = 9
# those with separate torques of all parts of a period: 0 to FINE_DELAYS - 1;
FINE_DELAYS = 5
# lengths of the blocks of periods behind, with one column each, which a lag still feels.
BATCHES = (2, 3, 5, 9)
# Control periods before a step whose torques its columns contain.
REACH = DELAYS + 1 + sum(BATCHES)
# Most parts of a period with separate torques.
FINEST = 8
# Least delay, samples: commands logged after they acted have a negative one.
EARLIEST = -0.25
# Least standard deviation of a delay where the search begins, control periods.
EDGE_STD = 2.0
# Time constants after which nothing is left of a torque.
LAG_MEMORY = 8.0
# Parts of equal weight of a lag's response; lags after which the last acts; shortest lag, periods.
LAG_PARTS, MOST_LAGS, SHORTEST_LAG = 100, 40.0, 1e-12


def delay_columns(fine: int) -> int:
    """Return the number of columns of the sum (or difference), with `fine` samples per period."""
    if fine == 1:
        return DELAYS + 1 + len(BATCHES)
    return (FINE_DELAYS - 1) * fine + 2 + DELAYS - FINE_DELAYS + len(BATCHES)


@lru_cache(maxsize=16)
def _column_of(fine: int) -> NDArray[np.intp]:
    batches = np.repeat(np.arange(len(BATCHES)), BATCHES)
    if fine == 1:
        return np.concatenate((np.arange(DELAYS + 1), DELAYS + 1 + batches))
    last = (FINE_DELAYS - 1) * fine + 1
    single = np.arange(DELAYS - FINE_DELAYS)
    return np.concatenate(
        (
            np.arange(FINE_DELAYS) * fine,
            last + 1 + single,
            last + 1 + len(single) + batches,
        )
    )


def acting_weights(delays: Array, lags: Array, fine: int) -> Array:
    """Return the weights of the torque columns that give the torque as it acts.

    With one sample per period the columns are the torques of periods k + 1, k, ..., and exact for d
    whole:

        (1 - a)^2 / 2,  1 / 2 + a - a^2,  a^2 / 2,    a = delay - d

    With more, they are sums under the triangle, one sample apart up to FINE_DELAYS - 1 periods, and
    one period beyond, interpolated; the last are means over BATCHES. A lag has the mean weights of
    later delays.

        >>> acting_weights(np.array([0.0, 0.5]), np.zeros(2), 1)[:, :3].tolist()
        [[0.5, 0.5, 0.0], [0.125, 0.75, 0.125]]

    Args:
        delays: Control periods, EARLIEST / fine to DELAYS - 1, shape (n,); `lags`: >= 0.

    Returns:
        Shape (n, delay_columns(fine)).
    """
    begin, width, polynomials = _cells_of(fine)
    if not lags.any():
        cell = np.maximum(np.searchsorted(begin, delays + 1e-9, "right") - 1, 0)
        part = np.maximum(delays - begin[cell], np.minimum(delays, 0.0)) / width[cell]
        constant, linear, square = polynomials[:, cell]
        part = part[:, None]
        at: Array = constant + part * (linear + part * square)
        return at
    first = max(int(begin.searchsorted(delays.min(), "right")) - 1, 0)
    last = max(int(begin.searchsorted((delays + _PARTS[-1] * lags).max(), "right")), first + 1)
    begin, width, polynomials = begin[first:last], width[first:last], polynomials[:, first:last]
    away, lag = delays[:, None] - begin, lags[:, None]
    ahead = away[:, 1:] / np.maximum(lag, SHORTEST_LAG)
    fraction = 1.0 - np.exp(np.maximum(np.minimum(ahead, 0.0), -MOST_LAGS))
    ends = np.zeros((len(delays), last - first + 1), dtype=np.intp)
    ends[:, 1:-1] = np.ceil(LAG_PARTS * fraction - 0.5)
    ends[:, -1] = LAG_PARTS
    sums = _LAG_SUMS.take(ends, axis=1)
    number, parts, squares = sums[:, :, 1:] - sums[:, :, :-1]
    late = lag * parts
    squares = number * away**2 + 2.0 * away * late + lag * lag * squares
    powers = np.concatenate((number, (number * away + late) / width, squares / width**2), axis=1)
    result: Array = powers @ polynomials.reshape(-1, polynomials.shape[-1])
    return result


# Means of 1, of the parts, and of their squares, over the first k of them.
_PARTS = -np.log1p(-(np.arange(LAG_PARTS) + 0.5) / LAG_PARTS)
_LAG_SUMS = np.zeros((3, LAG_PARTS + 1))
_LAG_SUMS[:, 1:] = np.cumsum([_PARTS**0, _PARTS, _PARTS**2], axis=1) / LAG_PARTS


@lru_cache(maxsize=16)
def _cells_of(fine: int) -> tuple[Array, Array, Array]:
    """Return the cells of delays within which the weights are polynomials.

    Beginnings and widths, control periods, (m,); coefficients of powers 0 to 2 of the place in a
    cell, 0 to 1, (3, m, delay_columns(fine)).
    """
    column = _column_of(fine)
    last = len(column) - 1
    begin, whole = np.arange(last + 1.0), np.arange(last + 1)
    columns = [column[np.minimum(whole + later, last)] for later in range(3)]
    if fine > 1:
        near = FINE_DELAYS - 1
        parts = np.arange(near * fine)
        begin = np.concatenate((parts / fine, begin[near:]))
        columns = [np.concatenate((parts + k, own[near:])) for k, own in enumerate(columns)]
    first, second, third = np.eye(delay_columns(fine))[np.array(columns)]
    width = np.append(np.diff(begin), 1.0)
    if fine > 1:
        return begin, width, np.array((first, second - first, 0.0 * first))
    square = 0.5 * (first + third) - second
    return begin, width, np.array((0.5 * (first + second), second - first, square))


@lru_cache(maxsize=4096)
def delay_weights(delay: float, fine: int, lag: float = 0.0) -> Array:
    """Return `acting_weights` of one delay and lag."""
    weights: Array = acting_weights(np.array([delay]), np.array([lag]), fine)[0]
    return weights


def delayed(torque: Array, delay: float, lag: float = 0.0) -> Array:
    """Return the mean acting torques for a delay: (1 - a) tau[k - d] + a tau[k - d - 1].

    A motor follows that with a lag T by the memory exp(-1 / T).

        >>> delayed(np.array([0.0, 0.0, 1.0, 1.0]), 0.5).tolist()
        [0.0, 0.0, 0.5, 1.0]

    Args:
        torque: Reported torque in n control periods, (..., n); the first stands for earlier ones.
        delay: d + a control periods, d whole, 0 <= a < 1.
        lag: Time constant of a lag behind it, control periods.
    """
    whole = int(delay)
    part = delay - whole
    first = [torque[..., :1]] * (whole + 1)
    padded = np.concatenate((*first, torque), axis=-1)[..., : torque.shape[-1] + 1]
    aim = (1.0 - part) * padded[..., 1:] + part * padded[..., :-1]
    if lag <= 0.0:
        return aim
    memory = math.exp(-1.0 / lag)
    count = min(aim.shape[-1], math.ceil(LAG_MEMORY * lag))
    reached = aim[..., :1] * np.ones(aim.shape)  # at the end of a period, were aim 0 before
    fraction = (1.0 - memory) * memory ** np.arange(count)
    known = np.concatenate((np.repeat(aim[..., :1], count - 1, axis=-1), aim), axis=-1)
    rows = zip(known.reshape(-1, known.shape[-1]), reached.reshape(-1, aim.shape[-1]), strict=True)
    for own, to in rows:
        to[:] = np.convolve(own, fraction / fraction.sum(), "valid")
    before = np.concatenate((aim[..., :1], reached[..., :-1]), axis=-1)
    acting: Array = aim + (before - aim) * lag * (1.0 - memory)
    return acting


class Decimation:
    """Groups the samples of a fast robot; each group is one period of the estimator.

    At 1 kHz speeds are mere noise. `fine` parts of a group have separate torques.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.fine = next(n for n in range(min(factor, FINEST), 0, -1) if factor % n == 0)
        self.interrupt()

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._left = np.empty((0, 6))

    def take(self, samples: Array) -> Array:
        """Return the complete groups, (groups x fine, 6): stamp, angles, torques and heading."""
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        parts = samples[:whole].reshape(-1, self.factor // self.fine, 6)
        self._left = samples[whole:]
        kept = parts[:, -1].copy()
        kept[:, 3:5] = parts[:, :, 3:5].mean(axis=1)
        return kept


# Gains by which a delay is sure against all others, and by which a fractional one is reported,
# used.
SIGNIFICANT_GAIN, SIGNIFICANT_GAIN_PART, LIKELY_GAIN = 25.0, 16.0, 4.0
# Distance from which on whole delays differ from the best one, control periods.
DELAY_TOLERANCE = 0.75
# Step within which the squared residuals are nearly a parabola, samples.
STEP = 0.1


@dataclass(frozen=True)
class TorqueDelay:
    """Delay of the torque, in periods of the regression.

    Attributes:
        value: Most likely delay.
        reported: The value if it is surely not whole samples, else the likeliest whole one; >= 0.
        significant: Whether the data distinguish it from other delays.
        std: Standard deviation of the mean delay, value + lag; 0 where the data give none.
        lag: Time constant of a first-order lag behind the delay; `lag_std`.
        shared: Covariance of mean delay and lag.
        gain: Twice the logarithm of the likelihood ratio against a delay alone.
        evidence: `lag_evidence`; 0 where it was not looked for.
        early: Whether it is the earliest that was searched; with a lag, the latter is no result.
    """

    value: float
    reported: float
    significant: bool
    std: float
    lag: float = 0.0
    lag_std: float = 0.0
    shared: float = 0.0
    gain: float = 0.0
    evidence: float = 0.0
    early: bool = False

    @property
    def at_the_end(self) -> bool:
        """Whether delay or lag is the longest that was searched: a torque may act later."""
        return self.value > DELAYS - 1.0 - STEP or self.lag > LAGS[-1] - STEP

    def in_words(self, period: float, samples: int) -> str:
        """Return how late torques act; `period`, s, of the regression, of so many samples."""
        late = self.reported * samples
        words = f"{round(late, 2):g} control period{'' if late == 1.0 else 's'}"
        return f"torque acts {words} ({1e3 * self.reported * period:.0f} ms) after it is reported"

    def warnings(self, period: float, samples: int, least: float = 0.0) -> list[str]:
        """Return what delay and lag mean for the user, as far as they are sure; see `in_words`.

        `least`: squared evidence up to which a lag may be what another effect has left.
        """
        results = [TOO_EARLY] if self.early and not self.lag else []
        if self.significant and self.reported > 0.0:
            text = self.in_words(period, samples)
            results.append(f"{text}; the estimate takes that into account")
        significant = self.evidence > max(SIGNIFICANT_LAG, math.sqrt(least))
        if significant and self.lag >= LEAST_LAG:
            results.append(
                "torque acts gradually, as with motors that follow a command with a lag (about "
                f"{1e3 * self.lag * period:.2g} ms): the estimate takes this into account; if the "
                "motors report their torques, use those"
            )
        return results


class Residuals(Protocol):
    """Squared residuals of both axes for any delay; see DelayedResiduals."""

    power: Array

    def at(self, weights: Array) -> Array:
        """See DelayedResiduals.at."""


# Deviations beyond which a lag is assumed (a false one costs little), and reported.
LIKELY_LAG, SIGNIFICANT_LAG = 1.5, 3.0
# Smallest lag to report, periods: torques that change within a period look like it.
LEAST_LAG = 0.1
TOO_LATE = (
    " or more, later than is searched: shorten the delay, or stamp torques at the time at which "
    "they act"
)
TOO_EARLY = (
    "torque acts before it is reported, as with torques that are filtered or recorded after they "
    "acted, or seems to as wheels slip: report torques as they act, with the stamp of that time"
)
# Lags that are tried first, control periods.
LAGS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.4, 1.9, 2.5, 3.3, 4.5)
# Mean delays that are tried with each: steps about the best delay alone.
MEAN_STEP, MEAN_STEPS = 0.05, 12
# Rounds that refine both; first relative step of the lag, halved unless the best lies at the edge;
# polishes by a paraboloid.
LAG_ROUNDS, LAG_STEP, POLISHES = 12, 0.12, 4
# Rounds after which that point is tried where the gain is not needed;
EARLY_ROUNDS = (3, 6)
# largest ratio of successive steps to it with which it settles: near a kink it does not;
SLOWEST = 0.2
# step from which on it has settled, periods.
POLISHED = 1e-10


_AROUND = np.array([(i, j) for i in (-1.0, 0.0, 1.0) for j in (-1.0, 0.0, 1.0)])


@lru_cache(maxsize=16)
def _whole_samples(fine: int) -> tuple[Array, Array]:
    whole = np.arange((FINE_DELAYS - 1) * fine + 1) / fine
    whole = np.concatenate((whole, np.arange(FINE_DELAYS, DELAYS)))
    return whole, acting_weights(whole, np.zeros(len(whole)), fine)


class DelaySearch:
    """Searches the delay with the smallest residuals, `alone` or with a lag behind it."""

    def __init__(self, residuals: Residuals, windows: float, fine: int) -> None:
        self._residuals, self._windows, self._fine = residuals, windows, fine
        self._least = (1e-12 * residuals.power + 1e-300)[:, None]
        self.alone = self._best()

    def _best(self) -> TorqueDelay:
        fine, earliest = self._fine, EARLIEST / self._fine
        whole, weights = _whole_samples(fine)
        cost = self._cost_of(weights)
        best = int(np.argmin(cost))
        result, lowest = reported, least = float(whole[best]), float(cost[best])
        # Most robots have whole delays: a fractional one must be clearly better.
        for step in (0.1 / fine, 0.02 / fine):
            around = np.maximum(result + step * np.arange(-9, 10), earliest)
            around = np.minimum(around, DELAYS - 1.0)
            costs = self._cost(around)
            if lowest - costs.min() < (LIKELY_GAIN if result == reported else 0.0):
                break
            lowest = float(costs.min())
            result = round(float(around[np.argmin(costs)]), 6)
        others = cost[(np.abs(whole - result) > DELAY_TOLERANCE) & (whole % 1.0 == 0.0)]
        significant = bool((others - lowest > SIGNIFICANT_GAIN).all())
        reported = max(result, 0.0) if least - lowest > SIGNIFICANT_GAIN_PART else reported
        early = significant and result <= earliest
        std = max(self._std(result), EDGE_STD if early else 0.0)
        return TorqueDelay(result, reported, significant, std, early=early)

    def with_lag(self, gain: bool = True) -> TorqueDelay:
        """Return the best delay and lag; without `gain` the search ends sooner, at the same one."""
        alone = self.alone
        mean, lag, least = alone.value, 0.0, math.inf
        means = mean + MEAN_STEP * np.arange(-MEAN_STEPS, MEAN_STEPS + 1)
        lags, step, wide = np.array(LAGS), MEAN_STEP, LAG_STEP
        for rounds in range(LAG_ROUNDS):
            every, own = np.tile(means, len(lags)), np.repeat(lags, len(means))
            delays = np.minimum(np.maximum(every - own, EARLIEST / self._fine), DELAYS - 1.0)
            cost = self._cost_of(acting_weights(delays, own, self._fine))
            best = int(np.argmin(cost))
            moved = abs(delays[best] + own[best] - mean) > 1.5 * step
            mean, lag, least = float(delays[best] + own[best]), float(own[best]), float(cost[best])
            if not moved:
                step, wide = 0.5 * step, 0.7 * wide
                if not gain and rounds in EARLY_ROUNDS:
                    *lowest, settled = self._lowest(mean, lag, step, wide, slowest=SLOWEST)
                    near = abs(lowest[0] - mean) < step and abs(lowest[1] - lag) < wide * lag
                    if settled and near:
                        mean, lag = lowest
                        break
            means = mean + step * np.arange(-2.0, 2.5)
            lags = np.minimum(lag * (1.0 + wide * np.arange(-2.0, 2.5)), LAGS[-1])
        else:
            mean, lag, _ = self._lowest(mean, lag, step, wide)
        delay = mean - lag
        covariance = self._covariance(delay, lag)
        std, lag_std = np.sqrt(np.diag(covariance)).tolist()
        return TorqueDelay(
            delay,
            max(delay, 0.0),
            alone.significant,
            std,
            lag,
            lag_std,
            float(covariance[0, 1]),
            float(self._cost(np.array([alone.value]))[0]) - least if gain else math.nan,
            early=delay <= EARLIEST / self._fine + POLISHED,
        )

    def _lowest(
        self, mean: float, lag: float, step: float, wide: float, slowest: float = math.inf
    ) -> tuple[float, float, bool]:
        """Return the lowest point near a mean delay and lag, and whether it has settled there.

        A step longer than `slowest` times the one before ends it.
        """
        before = math.inf
        for _ in range(POLISHES):
            polished = self._polished(mean, lag, step, wide)
            if polished is None:
                return mean, lag, False
            moved = math.dist(polished, (mean, lag))
            mean, lag = polished
            if moved < POLISHED:
                return mean, lag, True
            if moved > slowest * before:
                break
            before = moved
        return mean, lag, False

    def _polished(
        self, mean: float, lag: float, step: float, wide: float
    ) -> tuple[float, float] | None:
        """Return the lowest point of the paraboloid around mean delay and lag; None: none inside.

        Rounding errors hardly move it, and would select another of nearly equal grid points.
        """
        beside, apart = 0.2 * STEP / self._fine, 0.1 * lag
        delay = mean - lag
        inside = EARLIEST / self._fine + beside + apart < delay < DELAYS - 1.0 - beside - apart
        if not inside or lag + apart > LAGS[-1]:
            return None
        lags = lag + apart * _AROUND[:, 1]
        cost = self._cost_of(acting_weights(mean + beside * _AROUND[:, 0] - lags, lags, self._fine))
        a, b, c, d, e, f, g, h, i = cost.tolist()
        slope = (0.5 * (h - b), 0.5 * (f - d))
        mixed = 0.25 * (i - g - c + a)
        first, last = b - 2.0 * e + h, d - 2.0 * e + f
        determinant = first * last - mixed**2
        if not (first > 0.0 and determinant > 0.0):
            return None
        x = (mixed * slope[1] - last * slope[0]) / determinant * beside
        y = (mixed * slope[0] - first * slope[1]) / determinant * apart
        x = min(max(x, -2.0 * step), 2.0 * step)
        y = min(max(y, -2.0 * wide * lag), 2.0 * wide * lag)
        return mean + x, lag + y

    def _covariance(self, delay: float, lag: float) -> Array:
        """Return the covariance of mean delay and lag by the curvature of R."""
        step, wide = STEP / self._fine, min(0.5 * lag, STEP)
        lags = lag + wide * _AROUND[:, 1]
        mean = max(delay + lag, EARLIEST / self._fine + step + lag + wide)
        result = self._squared(acting_weights(mean + step * _AROUND[:, 0] - lags, lags, self._fine))
        value = (result / result[:, 4:5]).sum(axis=0)
        a, b, c, d, e, f, g, h, i = value.tolist()
        mixed = (i - g - c + a) / (4.0 * step * wide)
        bend = [[(b - 2.0 * e + h) / step**2, mixed], [mixed, (d - 2.0 * e + f) / wide**2]]
        values, vectors = np.linalg.eigh(0.5 * self._windows * np.array(bend))
        values = np.maximum(values, 1.0 / (mean + lag) ** 2)
        known: Array = (vectors / values) @ vectors.T
        return known

    def _cost(self, delays: Array) -> Array:
        return self._cost_of(acting_weights(delays, np.zeros(len(delays)), self._fine))

    def _cost_of(self, weights: Array) -> Array:
        cost: Array = self._windows * np.log(self._squared(weights)).sum(axis=0)
        return cost

    def _squared(self, weights: Array) -> Array:
        """Return the squared residuals, bounded for rounding, shape (2, n)."""
        result: Array = self._residuals.at(weights) + self._least
        return result

    def _std(self, result: float) -> float:
        """Return the deviation by the curvature of R, more of a parabola than log R."""
        step = STEP / self._fine
        at = min(max(result, EARLIEST / self._fine + step), DELAYS - 1.0 - step)
        delays = np.array([at - step, at, at + step, result])
        weights = acting_weights(delays, np.zeros(4), self._fine)
        before, middle, after, best = self._squared(weights).T
        parabola = (before - 2.0 * middle + after) / step**2
        bend = self._windows * float((parabola / best).sum())
        return math.sqrt(2.0 / bend) if bend > 0.0 else 0.0
