"""Covariance of least-squares parameters whose residuals are correlated in time.

Gamma, the residuals' covariance, is taken to be that of an autoregressive process A(q) r = e, whose
order Akaike's criterion chooses. The parameters' covariance is then

    (J'J)^-1  J' Gamma J  (J'J)^-1,      J' Gamma J = sigma_e^2 |filter of J by 1 / A(1/q)|^2.

It weighs a slow error of the model or of a sensor by how slow it is, where sigma^2 (J'J)^-1 counts
each sample as a new fact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]

# Highest order of the autoregressive process, and the residuals that each coefficient needs.
ORDER, PER_COEFFICIENT = 25, 10


def covariance(jacobian: Array, residuals: Array, lengths: Sequence[int]) -> Array:
    """Covariance of the parameters.

    Args:
        jacobian: shape (n, p).
        residuals: shape (n,), of the stretches one after another.
        lengths: of the stretches; they sum to n.

    Returns:
        shape (p, p); infinite variances where the residuals do not depend on a parameter.
    """
    size = jacobian.shape[1]
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
        [lfilter((1.0,), coefficients, part[::-1], axis=0) for part in _parts(scaled, lengths)]
    )
    p = np.linalg.inv(information)
    found = variance * (p @ (coloured.T @ coloured) @ p)
    return (
        found
        * _small_sample(coefficients, len(residuals), size + len(lengths))
        / np.outer(scale, scale)
    )


def first_correlation(residuals: Array, lengths: Sequence[int]) -> float:
    """Correlation between successive residuals, -1 to 1; 0 where there are none."""
    c = _autocovariance(residuals, lengths, 1)
    return float(c[1] / c[0]) if c[0] > 0.0 else 0.0


def _parts(values: Array, lengths: Sequence[int]) -> list[Array]:
    return np.split(values, np.cumsum(lengths)[:-1])


def _autocovariance(residuals: Array, lengths: Sequence[int], order: int = ORDER) -> Array:
    """Of lags 0 to order, shape (order + 1,), over the pairs that lie in one stretch."""
    order = min(order, max(lengths) - 1, max(len(residuals) // PER_COEFFICIENT, 1))
    sums = np.zeros(order + 1)
    for part in _parts(residuals, lengths):
        for lag in range(min(order, len(part) - 1) + 1):
            sums[lag] += part[lag:] @ part[: len(part) - lag]
    return sums / len(residuals)


def _autoregression(autocovariance: Array, samples: int) -> tuple[Array, float]:
    """Coefficients [1, a1, ...] and the variance of e, by Levinson's recursion."""
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
    """Factor on the variance for the few independent residuals that it rests on.

    The first term of the expansion of Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu).
    """
    impulse = lfilter((1.0,), coefficients, np.eye(1, min(samples, 2000))[0])
    # Samples that say as much as one independent one, about the parameters.
    slow = max(float(np.sum(impulse)) ** 2 / float(impulse @ impulse), 1.0)
    independent = max(samples / slow - parameters, 1.0)
    return (1.0 + 1.21 / independent) ** 2 * (1.0 + parameters / independent)
