"""Least squares of one axis of the integrated model, with the covariance that its noise gives.

Each axis, v or omega, has six parameters: of its product of velocities, its torque, v, omega and
the signs of both wheels' speeds. The last four come from the wheels' friction (`friction_terms`),
so that friction is what both axes say together (`fuse_friction`).

`ResidualCorrelation` tells whether the residuals are what noise leaves, or the model misses
something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.torque.estimate import Array, Friction
from diffbot_ident.torque.integral_rows import (
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    OMEGA_SQUARED,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    V_OMEGA,
    Flags,
    RowSums,
    V,
    kernels,
)
from diffbot_ident.torque.torque_delay import DELAYS, delay_weights

# Factor on the standard deviations for what the two noises do not describe, such as the errors of
# rows in which a wheel turns round: without it 94.3 % of the 95 % intervals held the truth, over
# 4 settings, 4 parameters and 200 runs (benchmarks/trust.py coverage).
STD_INFLATION = 1.05
# Information of the weakest prior, as a share of what the rows hold about each regressor alone.
WEAK_PRIOR = 1e-9


@dataclass(frozen=True)
class Axis:
    """Columns of one axis: its own product of velocities, its torque, and friction.

    Attributes:
        product: column of omega^2 or v omega.
        torque: columns of the torque's sum or difference.
        output: column of the gain in v or omega.
    """

    product: int
    torque: slice
    output: int

    @property
    def regressors(self) -> list[int]:
        """[product, torque, v, omega, sign left, sign right] of what has one torque."""
        return [self.product, self.torque.start, V, OMEGA, SIGN_LEFT, SIGN_RIGHT]

    def seen(self, rows: Array, weights: Array) -> Array:
        """The regressors in rows (n, columns), shape (n, 6), with the torque's delay_weights."""
        found = rows[:, self.regressors]
        found[:, 1] = rows[:, self.torque] @ weights
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
        theta: of [product, torque, v, omega, sign left, sign right] and of what was fitted beside
            them, shape (6 + extra,).
        covariance: of theta, shape (6 + extra, 6 + extra).
        variance: mean square of the residuals.
        noise: variance of the gain in velocity that one period's torque and one reading add that
            the model does not know of, [torque, reading].
    """

    theta: Array
    covariance: Array
    variance: float
    noise: tuple[float, float]


def residual_sums(
    sums: RowSums, axis: Axis, delays: Sequence[float] | Array = range(DELAYS)
) -> Array:
    """Weighted sum of squared residuals for each torque delay in control periods, shape (n,)."""
    late = [float(delay) for delay in delays]
    moments = sums.moments_at(late)
    columns = np.array([axis.regressors] * len(late))
    columns[:, 1] += 2 * np.arange(len(late))
    information, scale = _scaled(moments[columns[:, :, None], columns[:, None, :]])
    b = moments[columns, axis.output] / scale
    explained = np.einsum("di,di->d", b, np.linalg.solve(information, b[:, :, None])[:, :, 0])
    left: Array = np.maximum(sums.moments[axis.output, axis.output] - explained, 0.0)
    return left


def solution(sums: RowSums, axis: Axis, extra: Sequence[int] = ()) -> Array:
    """Parameters of an axis as of `fit`, without their covariance, shape (6 + extra,)."""
    return _solved(sums.moments, [*axis.regressors, *extra], axis.output)


def solutions(
    sums: RowSums, axis: Axis, delays: Sequence[float], extra: Sequence[int] = ()
) -> list[Array]:
    """As `solution` for each of some delays in control periods."""
    moments = sums.moments_at(delays)
    columns = [*axis.regressors, *extra]
    found = []
    for i in range(len(delays)):
        columns[1] = axis.torque.start + 2 * i
        found.append(_solved(moments, columns, axis.output))
    return found


def _solved(moments: Array, columns: list[int], output: int) -> Array:
    information, scale = _scaled(moments[np.ix_(columns, columns)])
    found: Array = np.linalg.solve(information, moments[columns, output] / scale) / scale
    return found


def _scaled(a: Array) -> tuple[Array, Array]:
    """Matrices (..., p, p) with a unit diagonal and a weak prior, and the scale of each column."""
    scale = np.sqrt(np.einsum("...ii->...i", a))
    scale[scale == 0.0] = 1.0
    scaled = a / (scale[..., :, None] * scale[..., None, :])
    return scaled + WEAK_PRIOR * np.eye(a.shape[-1]), scale


def fit(
    sums: RowSums, axis: Axis, prior: AxisPrior | None = None, extra: Sequence[int] = ()
) -> AxisFit:
    """Fit one axis; the sums are those of one delay, `RowSums.delayed`.

    Args:
        sums: of the rows; at least a few windows of them.
        axis: LINEAR or ANGULAR.
        prior: what is known beforehand; None: next to nothing.
        extra: columns of regressors beside those of the axis, without a prior.
    """
    columns = [*axis.regressors, *extra]
    block = np.ix_(columns, columns)
    information, scale = _scaled(sums.moments[block])
    b = sums.moments[columns, axis.output] / scale
    shape = np.outer(scale, scale)
    weak = WEAK_PRIOR * np.eye(len(columns))
    torque, reading = sums.torque[block] / shape, sums.reading[block] / shape
    p = np.linalg.inv(information)
    theta = p @ b
    noise, variance = _noise(
        sums, [*columns, axis.output], theta / scale, (torque, reading), p, scale
    )
    omega = (noise[0] * torque + noise[1] * reading) * _small_sample(sums, len(columns))
    # Variance of the noise that rows without correlation would need for the same precision.
    per_row = max(float(np.trace(p @ omega)) / len(columns), np.finfo(float).tiny)
    if prior is not None:
        known = np.zeros((len(columns), len(columns)))
        own = slice(len(prior.mean))
        known[own, own] = np.diag(per_row / (prior.variance * scale[own] ** 2))
        weak = weak + known
        p = np.linalg.inv(information + known)
        theta = p @ (b + known[:, own] @ (prior.mean * scale[own]))
    covariance = p @ (omega + per_row * weak) @ p
    # An inverse of much cancellation is itself symmetric to a few parts in 1e9 only.
    covariance = 0.5 * (covariance + covariance.T)
    return AxisFit(theta / scale, covariance / shape, variance, noise)


def _small_sample(sums: RowSums, size: int) -> float:
    """Factor on the variance that makes 1.96 deviations an interval of 95 % from few rows, too.

    The first term of the expansion of Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu).
    """
    independent = float(sums.pairs[0]) / (sums.window + sums.smoothing)
    return (STD_INFLATION * (1.0 + 1.21 / max(independent - size, 1.0))) ** 2


def _noise(
    sums: RowSums,
    both: list[int],
    theta: Array,
    spread: tuple[Array, Array],
    p: NDArray[np.floating[Any]],
    scale: Array,
) -> tuple[tuple[float, float], float]:
    """Variances of the two noises from the residuals' autocovariances, and the residuals' own."""
    columns, window = both[:-1], sums.window
    full = np.append(-theta, 1.0)
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


# Least eigenvalue of the correlations of friction coefficients that are told apart.
MIN_EIGENVALUE = 1e-9
# Standard deviations below this, in N m s/rad and N m, are those of no noise at all.
NO_NOISE_STD = 1e-15

UNKNOWN_FRICTION = Friction((0.0,) * 4, (np.inf,) * 4)


def friction_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    """What [c_l, c_r, f_l, f_r] times K7 and K8 make of [v, omega, sign left, sign right].

    With w_l = (v - b omega) / r, w_r = (v + b omega) / r and T = tau - c w - f sign(w):

        K7 (T_l + T_r):  -K7 (c_l + c_r) / r,  K7 b (c_l - c_r) / r,  -K7 f_l,  -K7 f_r
        K8 (T_l - T_r):  -K8 (c_l - c_r) / r,  K8 b (c_l + c_r) / r,  -K8 f_l,  +K8 f_r

    Returns:
        Shape (4, 4) each, for the linear and the angular axis.
    """
    r = 0.5 * (geometry.left_radius + geometry.right_radius)
    b = geometry.half_track
    linear = np.array(
        [[-1 / r, -1 / r, 0, 0], [b / r, -b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]], dtype=float
    )
    angular = np.array(
        [[-1 / r, 1 / r, 0, 0], [b / r, b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]], dtype=float
    )
    return linear, angular


def fuse_friction(linear: AxisFit, angular: AxisFit, geometry: WheelGeometry) -> Friction:
    """Friction from both axes, each weighted by its precision; infinite variances where unknown."""
    information, weighted = np.zeros((4, 4)), np.zeros(4)
    for fit, terms in zip((linear, angular), friction_terms(geometry), strict=True):
        gain = fit.theta[1]
        inverse = np.linalg.inv(terms)
        with np.errstate(all="ignore"):
            values = inverse @ fit.theta[2:6] / gain
            jacobian = np.column_stack((-values / gain, inverse / gain))
            spread = fit.covariance[1:6, 1:6]
            own = _inverse(jacobian @ spread @ jacobian.T, NO_NOISE_STD)
        # A wheel that did not turn, or no torque: this axis has nothing to say.
        if own is not None:
            information += own
            weighted += own @ values
    covariance = _inverse(information, 0.0)
    if covariance is None:
        return UNKNOWN_FRICTION
    values = covariance @ weighted
    return Friction(tuple(values.tolist()), tuple(np.diag(covariance).tolist()))


def _inverse(matrix: Array, min_scale: float) -> Array | None:
    """Inverse by way of the correlations; None where that would be rounding."""
    with np.errstate(all="ignore"):
        scale = np.sqrt(np.diag(matrix))
        shape = np.outer(scale, scale)
        correlation = matrix / shape
    if not (np.isfinite(correlation).all() and (scale > min_scale).all()):
        return None
    if np.linalg.eigvalsh(correlation)[0] < MIN_EIGENVALUE:
        return None
    inverse: Array = np.linalg.inv(correlation) / shape
    return inverse


# Lags, in lengths of a row from its first reading to its last, at which residuals should be
# uncorrelated.
LAGS = (1, 2, 3)
# Correlation that is worth a warning, and how many standard deviations of chance it has to exceed.
NOTABLE_CORRELATION, CHANCE_STDS = 0.25, 4.0
# Rows, in lengths of one, before which the parameters are too poor for residuals to mean anything.
MIN_LENGTHS = 20
# New rows, as a share of those that count, after which the parameters are taken anew.
REFIT_SHARE = 0.4


class ResidualCorrelation:
    """Autocorrelations of the residuals, with the parameters known when the rows came.

    Rows that share no torque and no angle must have uncorrelated residuals. A correlation at such
    lags says that something moves the robot that the model does not know of: slopes, slip, a
    flexible load, a friction of another kind, or a delay that is no whole number of periods.
    """

    def __init__(self) -> None:
        # Of the products at each lag, and of the squares of either factor.
        self._sums = np.zeros((3, len(LAGS), 2))
        self._pairs = np.zeros(len(LAGS))
        self._theta: tuple[Array, Array] | None = None
        self._weights = np.empty(0)
        self._unfitted = 0
        self._length = 1
        self.interrupt()

    def forget(self, factor: float) -> None:
        """Let everything so far count by this factor (0 to 1) only."""
        self._sums *= factor
        self._pairs *= factor

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._last = np.empty((0, 2))
        self._clear = np.empty(0)

    def add(self, rows: Array, turning: Flags, sums: RowSums, delay: float) -> None:
        """Take in new rows; sums hold them already."""
        self._length = sums.window + sums.smoothing + 1
        self._unfitted += len(rows)
        if self._unfitted > max(MIN_LENGTHS * self._length, REFIT_SHARE * sums.rows):
            seen = sums.delayed(delay)
            self._theta = (solution(seen, LINEAR), solution(seen, ANGULAR))
            self._unfitted, self._weights = 0, delay_weights(delay, sums.fine)
        if self._theta is None:
            return
        errors = np.column_stack(
            [
                rows[:, axis.output] - axis.seen(rows, self._weights) @ theta
                for axis, theta in zip((LINEAR, ANGULAR), self._theta, strict=True)
            ]
        )
        clear = turning.astype(float)
        errors = np.concatenate((self._last, errors * clear[:, None]))
        flags = np.concatenate((self._clear, clear))
        new = len(errors) - len(rows)
        for i, lag in enumerate(LAGS):
            step = lag * self._length
            first = max(new, step)
            if first < len(errors):
                after, before = errors[first:], errors[first - step : len(errors) - step]
                both = (flags[first:] * flags[first - step : len(flags) - step])[:, None]
                self._sums[0, i] += np.sum(after * before, axis=0)
                self._sums[1, i] += np.sum(after**2 * both, axis=0)
                self._sums[2, i] += np.sum(before**2 * both, axis=0)
                self._pairs[i] += both.sum()
        keep = max(LAGS) * self._length
        self._last, self._clear = errors[-keep:], flags[-keep:]

    def correlation(self) -> tuple[float, float]:
        """The largest in size over the lags, [linear, angular], -1 to 1; NaN before that."""
        products, after, before = self._sums
        power = np.sqrt(after * before)
        if not power.all():
            return math.nan, math.nan
        linear, angular = (float(r[np.argmax(np.abs(r))]) for r in (products / power).T)
        return linear, angular

    def warnings(self) -> list[str]:
        """What the correlations say, in words."""
        found = []
        for name, value in zip(("dv/dt", "domega/dt"), self.correlation(), strict=True):
            chance = math.sqrt(self._length / max(self._pairs[0], 1.0))
            if abs(value) > max(NOTABLE_CORRELATION, CHANCE_STDS * chance):
                found.append(
                    f"residuals of {name} are not white (correlation {value:+.2f}): something "
                    "moves the robot that the model does not know of; check for slopes, slip, a "
                    "loose load, or velocities and torques that are filtered"
                )
        return found
