# SPDX-License-Identifier: Apache-2.0
"""Uncertainty of least squares whose residuals are correlated in time, and likelihoods of fits.

The residuals are an autoregressive process; docs/theory/velocity_robots.md#output-error.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from arc_odometry.number_range import Array
from diffbot_recordings.all_pole_filter import all_pole

# Maximum order of the autoregressive process, and minimum number of residuals per coefficient.
ORDER, PER_COEFFICIENT = 25, 10
# Fewest residuals beyond the number of what is fitted, below which they say nothing about noise.
FEWEST = 3

# Parts of the readings whose likelihoods are compared.
PARTS = 60
# A variance over that known beforehand from which on the data say nothing of a parameter.
LARGE = 1e4


def correlated_covariance(jacobian: Array, residuals: Array, lengths: Sequence[int]) -> Array:
    """Return the covariance of least-squares parameters for residuals correlated in time, (p, p).

    Args:
        jacobian: Jacobian of the residuals, shape (n, p).
        residuals: Residuals of the segments one after another, shape (n,).
        lengths: Numbers of residuals of the segments; they sum to n.

    Returns:
        Infinite variances if the parameters cannot be determined, or there are too few residuals.
    """
    size = jacobian.shape[1]
    if len(residuals) - size - len(lengths) < FEWEST:
        return np.diag(np.full(size, math.inf))
    scale = np.linalg.norm(jacobian, axis=0)
    if not (scale > 0.0).all():
        return np.diag(np.full(size, math.inf))
    scaled = jacobian / scale
    information = scaled.T @ scaled
    if np.linalg.eigvalsh(information)[0] < 1e-12:
        return np.diag(np.full(size, math.inf))
    autocovariance = _autocovariance(residuals, lengths)
    coefficients, variance = _autoregression(autocovariance, len(residuals))
    coloured = np.concatenate(
        [all_pole(coefficients, part[::-1]) for part in _parts(scaled, lengths)]
    )
    p = np.linalg.inv(information)
    result = variance * (p @ (coloured.T @ coloured) @ p)
    few = _small_sample(coefficients, len(residuals), size + len(lengths))
    covariance: Array = result * few / np.outer(scale, scale)
    return covariance


def log_likelihoods(fits: Sequence[tuple[Array, Array]], lengths: Sequence[int]) -> Array:
    """Return the logarithms of the likelihoods of m fits to the same readings, by parts, (m, k).

    Of each, residuals, (n,), and their Jacobian, (n, p), by which it is moved to its most likely
    place: the least squares of correlated residuals are not there.
    """
    least = min((residuals for residuals, _ in fits), key=lambda each: float(each @ each))
    coefficients, variance = _autoregression(_autocovariance(least, lengths), len(least))
    squares = []
    for residuals, jacobian in fits:
        white = _whitened(coefficients, np.column_stack((residuals, jacobian)), lengths)
        moved = np.linalg.lstsq(white[:, 1:], white[:, 0], rcond=None)[0]
        parts = np.array_split((white[:, 0] - white[:, 1:] @ moved) ** 2, PARTS)
        squares.append([float(part.sum()) for part in parts])
    return -0.5 * np.array(squares) / max(variance, sys.float_info.min)


def _whitened(coefficients: Array, values: Array, lengths: Sequence[int]) -> Array:
    parts = []
    for part in _parts(values, lengths):
        white = part.copy()
        for lag, coefficient in enumerate(coefficients[1:].tolist(), 1):
            white[lag:] += coefficient * part[:-lag]
        parts.append(white)
    return np.concatenate(parts)


def bounded_covariance(
    of_all: Array,
    jacobian: Array,
    residuals: Array,
    lengths: Sequence[int],
    index: int,
    std: float,
) -> Array:
    """Return a covariance with what is known of one parameter beforehand, its deviation."""
    column, known = of_all[:, index], std**2
    if column[index] < LARGE * known:
        narrowed: Array = of_all - np.outer(column, column) / (column[index] + known)
        return narrowed
    rest = np.delete(jacobian, index, axis=1)
    of_rest = correlated_covariance(rest, residuals, lengths)
    if not np.isfinite(of_rest).all():
        return of_all
    moves = np.linalg.lstsq(rest, -jacobian[:, index], rcond=None)[0]
    moves = np.insert(moves, index, 1.0)
    of_rest = np.insert(np.insert(of_rest, index, 0.0, axis=0), index, 0.0, axis=1)
    widened: Array = of_rest + known * np.outer(moves, moves)
    return widened


def _parts(values: Array, lengths: Sequence[int]) -> list[Array]:
    return np.split(values, np.cumsum(lengths)[:-1])


def _autocovariance(residuals: Array, lengths: Sequence[int]) -> Array:
    """Return the autocovariance at lags 0 to order, (order + 1,), over pairs in one segment."""
    order = min(ORDER, max(lengths) - 1, max(len(residuals) // PER_COEFFICIENT, 1))
    sums = np.zeros(order + 1)
    for part in _parts(residuals, lengths):
        for lag in range(min(order, len(part) - 1) + 1):
            sums[lag] += part[lag:] @ part[: len(part) - lag]
    return sums / len(residuals)


def _autoregression(autocovariance: Array, samples: int) -> tuple[Array, float]:
    """Return coefficients [1, a1, ...] and the variance of e, by Levinson's recursion."""
    variance = float(autocovariance[0])
    if not variance > 0.0:
        return np.ones(1), 0.0
    a, best, chosen = np.ones(1), samples * math.log(variance), (np.ones(1), variance)
    for order in range(1, len(autocovariance)):
        reflection = -float(a @ autocovariance[order:0:-1][: len(a)]) / variance
        if not abs(reflection) < 1.0:
            break
        padded = np.append(a, 0.0)
        a = padded + reflection * padded[::-1]
        variance *= 1.0 - reflection**2
        criterion = samples * math.log(variance) + 2.0 * order
        if criterion < best:
            best, chosen = criterion, (a, variance)
    return chosen


def _small_sample(coefficients: Array, samples: int, parameters: int) -> float:
    """First term of the expansion of Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu)."""
    impulse = all_pole(coefficients, np.eye(1, min(samples, 2000))[0])
    # Number of samples equivalent to one independent sample.
    slow = max(float(np.sum(impulse)) ** 2 / float(impulse @ impulse), 1.0)
    independent = max(samples / slow - parameters, 1.0)
    return (1.0 + 1.21 / independent) ** 2 * (1.0 + parameters / independent)
