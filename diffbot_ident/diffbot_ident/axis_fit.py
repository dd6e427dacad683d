"""Least squares of one axis of the integrated model, with the covariance that its noise gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.integral_rows import (
    DELAYS,
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    OMEGA_SQUARED,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    V_OMEGA,
    Array,
    V,
)
from diffbot_ident.row_sums import RowSums, kernels

# Factor on the standard deviations for what the two noises do not describe, such as the errors of
# rows in which a wheel turns round: without it 94.3 % of the 95 % intervals held the truth, over
# 4 settings, 4 parameters and 200 runs (benchmarks/trust.py coverage).
SLACK = 1.05
# Information of the weakest prior, as a share of what the rows hold about each regressor alone.
WEAK = 1e-9


@dataclass(frozen=True)
class Axis:
    """Columns of one axis: its own product of velocities, its torque, and friction.

    Attributes:
        product: column of omega^2 or v omega.
        torque: columns of the torque's sum or difference, one for each delay.
        output: column of the gain in v or omega.
    """

    product: int
    torque: slice
    output: int

    def regressors(self, delay: int) -> list[int]:
        """[product, torque, v, omega, sign left, sign right]."""
        return [self.product, self.torque.start + delay, V, OMEGA, SIGN_LEFT, SIGN_RIGHT]

    def seen(self, rows: Array, delay: float) -> Array:
        """The regressors in rows (n, COLUMNS) at any delay, shape (n, 6); see RowSums.delayed."""
        whole = min(int(delay), DELAYS - 1)
        part = delay - whole
        found = rows[:, self.regressors(whole)]
        if part > 0.0:
            found[:, 1] += part * (rows[:, self.regressors(whole + 1)[1]] - found[:, 1])
        return found


LINEAR = Axis(OMEGA_SQUARED, SUM, DV)
ANGULAR = Axis(V_OMEGA, DIFFERENCE, DOMEGA)


@dataclass(frozen=True)
class AxisPrior:
    """What is known beforehand about the six parameters of an axis.

    Attributes:
        mean: shape (6,).
        variance: shape (6,); may be infinite.
    """

    mean: Array
    variance: Array


@dataclass(frozen=True)
class AxisFit:
    """Parameters of one axis.

    Attributes:
        theta: of [product, torque, v, omega, sign left, sign right], shape (6,).
        covariance: of theta, shape (6, 6).
        variance: mean square of the residuals of rows in which no wheel turns round.
        noise: variance of the gain in velocity that one period's torque and one reading add that
            the model does not know of, [torque, reading].
    """

    theta: Array
    covariance: Array
    variance: float
    noise: tuple[float, float]


def residual_sums(sums: RowSums, axis: Axis, delays: Sequence[float] = range(DELAYS)) -> Array:
    """Weighted sum of squared residuals for each torque delay in control periods, shape (n,)."""
    columns = axis.regressors(0)
    moments = np.array([sums.moments_at(float(delay)) for delay in delays])
    information, scale = _scaled(moments[:, columns][:, :, columns])
    b = moments[:, columns, axis.output] / scale
    explained = np.einsum("di,di->d", b, np.linalg.solve(information, b[:, :, None])[:, :, 0])
    return np.maximum(sums.moments[axis.output, axis.output] - explained, 0.0)


def solution(sums: RowSums, axis: Axis) -> Array:
    """Parameters of an axis, delay 0, without their covariance, shape (6,)."""
    columns = axis.regressors(0)
    information, scale = _scaled(sums.moments[np.ix_(columns, columns)])
    return np.linalg.solve(information, sums.moments[columns, axis.output] / scale) / scale


def _scaled(a: Array) -> tuple[Array, Array]:
    """Matrices (..., p, p) with a unit diagonal and a weak prior, and the scale of each column."""
    scale = np.sqrt(np.einsum("...ii->...i", a))
    scale[scale == 0.0] = 1.0
    scaled = a / (scale[..., :, None] * scale[..., None, :])
    return scaled + WEAK * np.eye(a.shape[-1]), scale


def fit(sums: RowSums, axis: Axis, prior: AxisPrior | None = None) -> AxisFit:
    """Fit one axis to torques without delay; for others give the sums as `delayed`.

    Args:
        sums: of the rows; at least a few windows of them.
        axis: LINEAR or ANGULAR.
        prior: what is known beforehand; None: next to nothing.
    """
    columns = axis.regressors(0)
    block = np.ix_(columns, columns)
    information, scale = _scaled(sums.moments[block])
    b = sums.moments[columns, axis.output] / scale
    shape = np.outer(scale, scale)
    weak = WEAK * np.eye(len(columns))
    torque, reading = sums.torque[block] / shape, sums.reading[block] / shape
    p = np.linalg.inv(information)
    theta = p @ b
    noise, variance = _noise(sums, axis, columns, theta / scale, (torque, reading), p, scale)
    omega = (noise[0] * torque + noise[1] * reading) * _small_sample(sums, len(columns))
    # Variance of the noise that rows without correlation would need for the same precision.
    per_row = max(float(np.trace(p @ omega)) / len(columns), np.finfo(float).tiny)
    if prior is not None:
        extra = np.diag(per_row / (prior.variance * scale**2))
        weak = weak + extra
        p = np.linalg.inv(information + extra)
        theta = p @ (b + extra @ (prior.mean * scale))
    covariance = p @ (omega + per_row * weak) @ p
    # An inverse of much cancellation is itself symmetric to a few parts in 1e9 only.
    covariance = 0.5 * (covariance + covariance.T)
    return AxisFit(theta / scale, covariance / shape, variance, noise)


def _small_sample(sums: RowSums, size: int) -> float:
    """Factor on the variance that makes 1.96 deviations an interval of 95 % from few rows, too.

    The first term of the expansion of Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu).
    """
    # Rows in which a wheel turns round tell nothing about the noise.
    independent = sums.pairs[0] / (sums.window + sums.smoothing)
    return (SLACK * (1.0 + 1.21 / max(independent - size, 1.0))) ** 2


def _noise(
    sums: RowSums,
    axis: Axis,
    columns: list[int],
    theta: Array,
    spread: tuple[Array, Array],
    p: Array,
    scale: Array,
) -> tuple[tuple[float, float], float]:
    """Variances of the two noises from the residuals' autocovariances, and the residuals' own."""
    window = sums.lags[-1]
    full = np.append(-theta, 1.0)
    both = [*columns, axis.output]
    shape = np.outer(scale, scale)
    found, expected = np.empty(len(sums.lags)), np.empty((len(sums.lags), 2))
    for i, lag in enumerate(sums.lags):
        found[i] = full @ sums.lagged[i][np.ix_(both, both)] @ full
        own = p @ (sums.lagged[i][np.ix_(columns, columns)] / shape)
        for j, kernel in enumerate(kernels(window, sums.smoothing)):
            correlation = kernel[lag:] @ kernel[: len(kernel) - lag]
            # The second term is what the fit has taken out of the residuals.
            expected[i, j] = correlation * sums.pairs[i] - np.trace(p @ spread[j] @ own)
    variance = float(found[0] / sums.pairs[0]) if sums.pairs[0] else np.inf
    return _nonnegative(expected, found), max(variance, 0.0)


def _nonnegative(matrix: Array, found: Array) -> tuple[float, float]:
    """Least squares with two unknowns that are not negative."""
    best = np.linalg.lstsq(matrix, found, rcond=None)[0]
    if (best < 0.0).any():
        alone = [
            max(float(column @ found) / max(float(column @ column), 1e-300), 0.0)
            for column in matrix.T
        ]
        errors = [
            float(np.sum((found - value * column) ** 2))
            for value, column in zip(alone, matrix.T, strict=True)
        ]
        keep = int(np.argmin(errors))
        best = np.zeros(2)
        best[keep] = alone[keep]
    return float(best[0]), float(best[1])
