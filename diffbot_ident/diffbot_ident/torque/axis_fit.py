# SPDX-License-Identifier: Apache-2.0
"""Least squares for one axis of the integrated model, with the covariance due to its noise.

Six parameters: of the product of velocities, the torque, v, omega and the signs of the wheels'
speeds. Noise: docs/theory/integral_estimator.md#sums-and-noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import Array
from diffbot_ident.torque.columns import (
    DOMEGA,
    DV,
    NO_COLUMNS,
    OMEGA,
    OMEGA_SQUARED,
    SIGN_LEFT,
    SIGN_RIGHT,
    V_OMEGA,
    AxisFit,
    ExtraColumns,
    V,
)
from diffbot_ident.torque.effects import DIFFERENCE, SUM, TORQUES
from diffbot_ident.torque.sums import AVERAGED_PARTS, RowSums, kernels

# Factor on the deviations for errors beside the two noises: 94.3 % of the intervals held without it
# (benchmarks/trust.py coverage).
STD_INFLATION = 1.05
# Information of the weak regularising prior, as a share of each regressor's own.
WEAK_PRIOR = 1e-9
# A 2 x 2 determinant below this share of the product of the diagonal is mere rounding.
MIN_DETERMINANT = 1e-12
TINY = float(np.finfo(float).tiny)
# Rounds in which the torques' noise and the scatter of its estimate settle.
ROUNDS = 4
# Standard deviations beyond which cutting off a normal distribution at 0 hardly changes its mean.
FAR = 30.0


@lru_cache(maxsize=256)
def joined(*columns: ExtraColumns) -> ExtraColumns:
    """Concatenate these columns, axis by axis."""
    linear, angular = zip(*columns, strict=True)
    return tuple(chain.from_iterable(linear)), tuple(chain.from_iterable(angular))


@dataclass(frozen=True)
class Axis:
    """Columns of one axis: its product of velocities, its torque, and its output."""

    product: int
    torque: slice
    output: int

    @property
    def regressors(self) -> list[int]:
        """Columns [product, torque, v, omega, sign left, sign right] of sums with one delay."""
        return [self.product, self.torque.start, V, OMEGA, SIGN_LEFT, SIGN_RIGHT]

    def columns(self, extra: Sequence[int] = (), which: int = 0) -> tuple[int, ...]:
        """Return the columns of the regressors, of additional ones, and of the output.

        `which` is the index of the delay, in sums with several.
        """
        # The torques of a delay are its last columns: ACTING_SUM and ACTING_DIFFERENCE.
        last = TORQUES + 2 * which + 2
        own = (self.product, self.torque.start + 2 * which, V, OMEGA, SIGN_LEFT, SIGN_RIGHT)
        return (*own, *(each + last if each < 0 else each for each in extra), self.output)


LINEAR = Axis(OMEGA_SQUARED, SUM, DV)
ANGULAR = Axis(V_OMEGA, DIFFERENCE, DOMEGA)
AXES = (LINEAR, ANGULAR)
OUTPUTS = [DV, DOMEGA]


@dataclass(frozen=True)
class AxisPrior:
    """Prior knowledge about the six parameters of an axis: mean (6,), inverse covariance (6, 6)."""

    mean: Array
    information: Array


class DelayedResiduals:
    """Squared residuals of both axes for any delay; all regressors but the torque are eliminated.

    `extra` columns are none of torques; `power`: sums of squares of the outputs, (2,).
    """

    def __init__(self, sums: RowSums, extra: ExtraColumns) -> None:
        moments = sums.moments
        self._fine = sums.fine
        self.power = moments[OUTPUTS, OUTPUTS]
        batches = _eliminated(extra, len(moments))
        count = batches.most
        seen, _ = batches.scaled(moments)
        known, power = seen[:, :count, count:], seen[:, count:, count:]
        information = seen[:, :count, :count] + _weak_prior(count)
        left = power - known.swapaxes(1, 2) @ np.linalg.solve(information, known)
        self._power = left[:, :-1, :-1] + WEAK_PRIOR * power[:, :-1, :-1]
        self._along = left[:, :-1, -1:]
        self._output = left[:, -1, -1:]

    def at(self, weights: Array) -> Array:
        """Return the sums of squared residuals, (2, n), by the `acting_weights` of n delays."""
        power = ((weights @ self._power) * weights).sum(axis=2)
        power[power <= 0.0] = 1.0
        along = (weights @ self._along)[:, :, 0]
        left: Array = np.maximum(self._output - np.square(along) / power, 0.0)
        return left


@lru_cache(maxsize=256)
def batch(columns: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index of the sub-matrix of these rows and columns."""
    return np.ix_(columns, columns)


class _Batches:
    """Sub-matrices of moments for n fits at once, as calls take most of the time of few columns."""

    def __init__(
        self, regressors: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]
    ) -> None:
        self.sizes = np.array([len(own) for own in regressors])
        self.most = max(map(len, regressors))
        every = np.array(
            [
                (*own, *[0] * (self.most - len(own)), *more)
                for own, more in zip(regressors, others, strict=True)
            ]
        )
        self._index = every[:, :, None], every[:, None, :]
        place = np.arange(every.shape[1])
        self._scaled = place < self.sizes[:, None]
        # Divided by an infinite scale, a column that fills up becomes 0.
        self._else = np.where(place < self.most, np.inf, 1.0) * np.ones(every.shape)

    def scaled(self, products: Array) -> tuple[Array, Array]:
        """Return sub-matrices whose regressors have a unit diagonal, and the regressors' scales.

        Shapes (..., q, q) to (..., n, p + others, p + others), and (n, p).
        """
        seen = products[(..., *self._index)]
        moments = seen if seen.ndim == 3 else seen[0]
        scale = np.where(self._scaled, np.sqrt(moments.diagonal(0, 1, 2)), self._else)
        scale[scale == 0.0] = 1.0
        return seen / _shape(scale), scale[:, : self.most]


def _shape(scale: Array) -> Array:
    return scale[:, :, None] * scale[:, None, :]


@lru_cache(maxsize=256)
def _batches(sets: tuple[ExtraColumns, ...], which: tuple[int, ...] = (0,)) -> _Batches:
    columns = [
        axis.columns(own, each)
        for extra in sets
        for axis, own in zip(AXES, extra, strict=True)
        for each in which
    ]
    return _Batches([own[:-1] for own in columns], [own[-1:] for own in columns])


@lru_cache(maxsize=64)
def _eliminated(extra: ExtraColumns, size: int) -> _Batches:
    """Return the blocks of the regressors but the torque, then of all torques and the output."""
    torques = [range(size)[axis.torque] for axis in AXES]
    known = [
        tuple(each for each in (*axis.regressors, *own) if each != axis.torque.start)
        for axis, own in zip(AXES, extra, strict=True)
    ]
    return _Batches(known, [(*own, axis.output) for own, axis in zip(torques, AXES, strict=True)])


def solutions(
    moments: Array, sets: tuple[ExtraColumns, ...], which: tuple[int, ...] = (0,)
) -> list[Array]:
    """Return the parameters as `fits` does, without covariance, for each of several delays.

    Args:
        moments: Moments of `RowSums.at` or `RowSums.delayed`.
        sets: Columns of additional regressors of both axes, of each set of fits.
        which: Indices of the delays to use.

    Returns:
        [linear, angular] of each set, shape (delays, 6 + extra) each.
    """
    batches = _batches(sets, which)
    size, count = batches.most, len(which)
    seen, scale = batches.scaled(moments)
    information = seen[:, :size, :size] + _weak_prior(size)
    result = np.linalg.solve(information, seen[:, :size, size:])[:, :, 0] / scale
    sizes = batches.sizes[::count].tolist()
    return [result[count * i : count * (i + 1), :own] for i, own in enumerate(sizes)]


@lru_cache
def _weak_prior(size: int) -> Array:
    prior: Array = WEAK_PRIOR * np.eye(size)
    return prior


def fit_axes(
    sums: RowSums,
    extra: ExtraColumns = NO_COLUMNS,
    priors: Sequence[AxisPrior | None] = (None, None),
) -> tuple[AxisFit, AxisFit]:
    """Fit both axes once, to sums of one delay; see `fits`."""
    linear, angular = fits(sums, (extra,), priors)
    return linear, angular


def fits(
    sums: RowSums,
    sets: tuple[ExtraColumns, ...],
    priors: Sequence[AxisPrior | None] = (None, None),
) -> list[AxisFit]:
    """Fit both axes, to `RowSums.delayed`, with each set of columns: [linear, angular] of each.

    Additional columns have no prior.
    """
    batches = _batches(sets)
    seen, scale = batches.scaled(sums.products)  # (4, n, p + 1, p + 1)
    size = batches.most
    squares, spread = seen[:2], seen[2:, :, :-1, :-1]
    weak, b = _weak_prior(size), squares[0, :, :-1, -1:]
    information = squares[0, :, :-1, :-1] + weak
    p = np.linalg.inv(information)
    theta = p @ b
    noises, variances = _noise(sums, squares, theta, p @ spread @ p)
    torque, reading = (_small_sample(sums, batches.sizes) * np.array(noises).T)[:, :, None, None]
    omega = torque * spread[0] + reading * spread[1]
    # Noise variance at which uncorrelated rows would give the same precision.
    per_row = np.maximum((p * omega).sum(axis=(1, 2)) / batches.sizes, TINY)[:, None, None]
    reported = [prior for prior in priors if prior is not None] * len(sets)
    if reported:
        own = len(reported[0].mean)
        known, expected = np.zeros_like(p), np.zeros_like(b)
        known[:, :own, :own] = [prior.information for prior in reported]
        known *= per_row / _shape(scale)
        expected[:, :own, 0] = [prior.mean for prior in reported] * scale[:, :own]
        weak = weak + known
        p = np.linalg.inv(information + known)
        theta = p @ (b + known @ expected)
    covariance = p @ (omega + per_row * weak) @ p
    # The inverse is symmetric only to a few parts in 1e9.
    covariance = 0.5 * (covariance + covariance.swapaxes(1, 2)) / _shape(scale)
    result = zip(theta[:, :, 0] / scale, covariance, variances, noises, strict=True)
    return [
        AxisFit(parameters[:own], spread[:own, :own], variance, noise)
        for own, (parameters, spread, variance, noise) in zip(
            batches.sizes.tolist(), result, strict=True
        )
    ]


def _small_sample(sums: RowSums, sizes: NDArray[np.intp]) -> Array:
    """Return the factor on the variance with which 1.96 deviations cover 95 % even for few rows.

    By Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu).
    """
    independent = float(sums.weights[0]) / (sums.window + sums.smoothing)
    factor: Array = STD_INFLATION * (1.0 + 1.21 / np.maximum(independent - sizes, 1.0))
    return factor * factor


def _noise(
    sums: RowSums, squares: Array, theta: Array, spread: Array
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return the variances [torque, reading] of the noises of n fits, and of the residuals.

    By scaled squares (2, n, p + 1, p + 1), theta (n, p, 1), its spread per noise (2, n, p, p).
    """
    count, size, _ = theta.shape
    error = np.ones((count, size + 1, 1))
    error[:, :-1] = -theta
    result = (error.swapaxes(1, 2) @ squares @ error)[:, :, 0, 0].T
    # Part of the squares that the fit has removed: tr(spread_j squares_i), (n, 2, 2).
    own = squares[:, :, :-1, :-1].reshape(2, count, -1).swapaxes(0, 1)
    taken = own @ spread.swapaxes(2, 3).reshape(2, count, -1).transpose(1, 2, 0)
    # Means of rows lack the fast changes by which the readings' noise gets into the parameters.
    taken[:, 1, 1] *= -1.0
    seen = _seen_noise(sums.window, sums.smoothing, sums.part)
    weights = sums.weights.tolist()
    expected = seen.powers * sums.weights[:, None] - taken
    noises = [
        _likely_noise(own, squared, seen, weights)
        for own, squared in zip(expected.tolist(), result.tolist(), strict=True)
    ]
    variances = result[:, 0] / weights[0] if weights[0] else np.full(len(result), np.inf)
    return noises, np.maximum(variances, 0.0).tolist()


@dataclass(frozen=True)
class _SeenNoise:
    """How noises [torque, reading] of variance 1 appear in rows (1) and in means of rows (2).

    `powers`: variances, (2, 2); the others: sums over all lags of products of two covariances, 1
    with 1, 1 with 2 and 2 with 2: the torques' with itself, either, the readings'.
    """

    powers: Array
    rows: tuple[float, float, float]
    both: tuple[float, float, float]
    means: tuple[float, float, float]


@lru_cache
def _seen_noise(window: int, smoothing: int, part: int) -> _SeenNoise:
    count = AVERAGED_PARTS * part
    seen = [(own, np.convolve(own, np.ones(count)) / count) for own in kernels(window, smoothing)]
    size = 2 * (window + smoothing + count) + 1

    def products(one: int, other: int) -> tuple[float, float, float]:
        covariances = np.zeros((2, size))
        for covariance, each in zip(covariances, seen, strict=True):
            first = size // 2 - len(each[other]) + 1
            lagged = np.correlate(each[one], each[other], "full")
            covariance[first : first + len(lagged)] = lagged
        (torque, either), (_, reading) = (covariances @ covariances.T).tolist()
        return torque, either, reading

    powers = np.array([[own @ own for own in each] for each in seen]).T
    return _SeenNoise(powers, products(0, 0), products(0, 1), products(1, 1))


def _likely_noise(
    expected: list[list[float]], results: list[float], seen: _SeenNoise, weights: list[float]
) -> tuple[float, float]:
    """Return the likely variances [torque, reading] by sums of squares (2,).

    The torques' is the mean of a normal distribution cut off at 0, and explains at most the rows
    alone. `expected`: sums of squares per unit of each noise, (2, 2).
    """
    (a, b), (c, d) = expected
    x, y = results
    determinant = a * d - b * c
    most = max(x, 0.0) / max(a, TINY)
    are_reported = weights[1] > 0.0 and determinant < -MIN_DETERMINANT * abs(b * c)
    reading = (a * y - c * x) / determinant if are_reported else 0.0
    if not reading > 0.0:
        # Nothing tells the noises apart, or slow errors exceed such noise.
        return most, 0.0
    best = (d * x - b * y) / determinant
    # Variance of the best estimate times the square of the determinant, by powers of the torques'.
    square = linear = constant = 0.0
    for weight, (p, q, r) in (
        (2.0 * weights[0] * d * d, seen.rows),
        (-4.0 * math.sqrt(weights[0] * weights[1]) * b * d, seen.both),
        (2.0 * weights[1] * b * b, seen.means),
    ):
        square += weight * p
        linear += weight * 2.0 * q * reading
        constant += weight * r * reading * reading
    torque = max(best, 0.0)
    for _ in range(ROUNDS):
        before = torque
        variance = (square * torque + linear) * torque + constant
        torque = _mean_above_zero(best, math.sqrt(max(variance, 0.0)) / -determinant)
        torque = min(torque, most)
        if torque == before:
            break
    return torque, reading


def _mean_above_zero(mean: float, std: float) -> float:
    """Return the mean of a normal distribution that is cut off below 0."""
    if std <= 0.0 or mean >= FAR * std:
        return max(mean, 0.0)
    ratio = mean / std
    if ratio <= -FAR:
        return -std / ratio
    density = math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
    return mean + std * density / (0.5 * math.erfc(-ratio / math.sqrt(2.0)))
