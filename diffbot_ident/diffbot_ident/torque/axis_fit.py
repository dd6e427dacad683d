# SPDX-License-Identifier: Apache-2.0
"""Least squares for one axis of the integrated model, with the covariance due to its noise.

Each axis, v or omega, has six parameters: of its product of velocities, its torque, v, omega and
the signs of both wheels' speeds. The last four stem from the wheels' friction (`friction_terms`),
which is therefore estimated from both axes together (`fuse_friction`).
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

from arc_odometry import WheelGeometry
from diffbot_ident.torque.estimate import Array, FrictionEstimate, TurningEstimate
from diffbot_ident.torque.integral_rows import (
    AVERAGED_PARTS,
    DIFFERENCE,
    DOMEGA,
    DV,
    GEAR_LEFT,
    GEAR_RIGHT,
    OMEGA,
    OMEGA_SQUARED,
    SIGN_LEFT,
    SIGN_OMEGA,
    SIGN_RIGHT,
    SUM,
    TORQUES,
    V_OMEGA,
    RowSums,
    V,
    kernels,
)

# Factor on the standard deviations for errors that the two noises do not describe, such as those of
# rows in which a wheel reverses: without it 94.3 % of the 95 % intervals contained the true value,
# over 4 settings, 4 parameters and 200 runs (benchmarks/trust.py coverage).
STD_INFLATION = 1.05
# Information of the weak regularising prior, as a share of the rows' information about each
# regressor alone.
WEAK_PRIOR = 1e-9
# A 2 x 2 determinant below this share of the product of the diagonal is mere rounding.
MIN_DETERMINANT = 1e-12
TINY = float(np.finfo(float).tiny)
# Rounds in which the torques' noise and the scatter of its estimate, which depend on each other,
# settle.
ROUNDS = 4
# Standard deviations beyond which cutting off a normal distribution at 0 hardly changes its mean.
FAR = 30.0


ExtraColumns = tuple[tuple[int, ...], tuple[int, ...]]
"""Columns of additional regressors of the linear and of the angular axis."""
# Additional regressors of the model: none, or those of a floor that resists turning (skid steer).
NO_COLUMNS: ExtraColumns = ((), ())
TURNING_COLUMNS: ExtraColumns = ((), (SIGN_OMEGA,))
# Additional regressors of both axes for gears that lose a share of the torque.
GEAR_COLUMNS: ExtraColumns = ((GEAR_LEFT, GEAR_RIGHT), (GEAR_LEFT, GEAR_RIGHT))


@lru_cache(maxsize=256)
def joined(*columns: ExtraColumns) -> ExtraColumns:
    """Concatenate these columns, axis by axis."""
    linear, angular = zip(*columns, strict=True)
    return tuple(chain.from_iterable(linear)), tuple(chain.from_iterable(angular))


@dataclass(frozen=True)
class Axis:
    """Columns of one axis: its own product of velocities, its torque, and friction.

    Attributes:
        product: Column of omega^2 or v omega.
        torque: Columns of the torque's sum or difference.
        output: Column of the gain in v or omega.
    """

    product: int
    torque: slice
    output: int

    @property
    def regressors(self) -> list[int]:
        """Columns [product, torque, v, omega, sign left, sign right] of sums with one delay."""
        return [self.product, self.torque.start, V, OMEGA, SIGN_LEFT, SIGN_RIGHT]

    def columns(self, extra: Sequence[int] = (), which: int = 0) -> tuple[int, ...]:
        """Return the columns of the regressors, of additional ones, and of the output.

        Args:
            extra: Columns of additional regressors; for torques, those of the first delay.
            which: Index of the delay, in sums with several.
        """
        later = 2 * which
        regressors = (*self.regressors, *extra)
        return (*(each + later if each >= TORQUES else each for each in regressors), self.output)


LINEAR = Axis(OMEGA_SQUARED, SUM, DV)
ANGULAR = Axis(V_OMEGA, DIFFERENCE, DOMEGA)
AXES = (LINEAR, ANGULAR)
OUTPUTS = [DV, DOMEGA]


@dataclass(frozen=True)
class AxisPrior:
    """Prior knowledge about the six parameters of an axis.

    Attributes:
        mean: Expected parameters, shape (6,).
        information: Inverse of their covariance, shape (6, 6); 0 where nothing is known.
    """

    mean: Array
    information: Array


@dataclass(frozen=True)
class AxisFit:
    """Parameters of one axis.

    Attributes:
        theta: Parameters of [product, torque, v, omega, sign left, sign right] and of the
            additional regressors, shape (6 + extra,).
        covariance: Covariance of theta, shape (6 + extra, 6 + extra).
        variance: Mean square of the residuals.
        noise: Variances of the unmodelled gain in velocity due to one period's torque and to one
            reading, [torque, reading].
    """

    theta: Array
    covariance: Array
    variance: float
    noise: tuple[float, float]

    def with_covariance(self, covariance: Array) -> AxisFit:
        """Return this fit with another covariance."""
        return AxisFit(self.theta, covariance, self.variance, self.noise)


def averaged(one: AxisFit, other: AxisFit, share: float) -> AxisFit:
    """Average the parameters of two fits, the other of which is true with probability `share`.

    The other fit has the same parameters, followed by more. The covariance is that of the mixture
    and thus includes the difference between the fits.
    """
    own = slice(len(one.theta))
    apart = other.theta[own] - one.theta[own]
    covariance = (
        (1.0 - share) * one.covariance[own, own]
        + share * other.covariance[own, own]
        + share * (1.0 - share) * apart[:, None] * apart
    )
    variance = (1.0 - share) * one.variance + share * other.variance
    return AxisFit(one.theta[own] + share * apart, covariance, variance, one.noise)


class DelayedResiduals:
    """Squared residuals of both axes for any delay of the torque.

    All regressors except the torque are eliminated once; each delay then costs two small products.

    Args:
        sums: Sums of the rows, with the torques of all delays.
        extra: Columns of additional regressors; none of torques.

    Attributes:
        power: Sums of squares of the outputs, shape (2,).
    """

    def __init__(self, sums: RowSums, extra: ExtraColumns) -> None:
        moments = sums.moments
        self._fine = sums.fine
        self.power = moments[OUTPUTS, OUTPUTS]
        blocks = _eliminated(extra, len(moments))
        count = blocks.most
        seen, _ = blocks.scaled(moments)
        known, power = seen[:, :count, count:], seen[:, count:, count:]
        information = seen[:, :count, :count] + _weak_prior(count)
        # What is left of the torques and the output without the other regressors, of each axis.
        left = power - known.swapaxes(1, 2) @ np.linalg.solve(information, known)
        # The weak prior on the torque itself is a share of the power of its columns.
        self._power = left[:, :-1, :-1] + WEAK_PRIOR * power[:, :-1, :-1]
        self._along = left[:, :-1, -1:]
        self._output = left[:, -1, -1:]

    def at(self, weights: Array) -> Array:
        """Return the weighted sums of squared residuals, shape (2, n).

        Args:
            weights: `acting_weights` of n delays.
        """
        power = ((weights @ self._power) * weights).sum(axis=2)
        power[power <= 0.0] = 1.0
        along = (weights @ self._along)[:, :, 0]
        left: Array = np.maximum(self._output - np.square(along) / power, 0.0)
        return left


@lru_cache(maxsize=256)
def block(columns: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index of the sub-matrix of these rows and columns."""
    return np.ix_(columns, columns)


class _Blocks:
    """Sub-matrices of moments for n fits at once: for so few columns, calls take most of the time.

    Args:
        regressors: Columns of the regressors of each fit. Fewer ones than those of another fit are
            filled up with columns that are taken for 0.
        others: Columns that follow, equally many of each fit.

    Attributes:
        sizes: Numbers of regressors, shape (n,).
        most: The largest of them, p.
    """

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
        """Return sub-matrices in which the moments of the regressors have a unit diagonal.

        Args:
            products: Moments of all columns, or moments and other products, shape (..., q, q).

        Returns:
            The sub-matrices, (..., n, p + others, p + others), and the regressors' scales, (n, p).
        """
        seen = products[(..., *self._index)]
        moments = seen if seen.ndim == 3 else seen[0]
        scale = np.where(self._scaled, np.sqrt(moments.diagonal(0, 1, 2)), self._else)
        scale[scale == 0.0] = 1.0
        return seen / _shape(scale), scale[:, : self.most]


def _shape(scale: Array) -> Array:
    """Return the products of the scales (n, p), shape (n, p, p)."""
    return scale[:, :, None] * scale[:, None, :]


@lru_cache(maxsize=256)
def _blocks(sets: tuple[ExtraColumns, ...], which: tuple[int, ...] = (0,)) -> _Blocks:
    """Return blocks of the regressors and the output, by set, axis and delay.

    Args:
        sets: Columns of additional regressors of both axes, of each set of fits; for torques, those
            of the first delay.
        which: Indices of the delays to use.
    """
    columns = [
        axis.columns(own, each)
        for extra in sets
        for axis, own in zip(AXES, extra, strict=True)
        for each in which
    ]
    return _Blocks([own[:-1] for own in columns], [own[-1:] for own in columns])


@lru_cache(maxsize=64)
def _eliminated(extra: ExtraColumns, size: int) -> _Blocks:
    """Return blocks of the regressors but the torque, then all torques and the output.

    Args:
        extra: Columns of additional regressors of both axes.
        size: Number of all columns.
    """
    torques = [range(size)[axis.torque] for axis in AXES]
    known = [
        tuple(each for each in (*axis.regressors, *own) if each != axis.torque.start)
        for axis, own in zip(AXES, extra, strict=True)
    ]
    return _Blocks(known, [(*own, axis.output) for own, axis in zip(torques, AXES, strict=True)])


def solutions(
    moments: Array, sets: tuple[ExtraColumns, ...], which: tuple[int, ...] = (0,)
) -> list[Array]:
    """Return the parameters as `fits` does, without covariance, for each of several delays.

    Args:
        moments: Moments of `RowSums.at` or `RowSums.delayed`.
        sets: Columns of additional regressors of both axes, of each set of fits; for torques, those
            of the first delay.
        which: Indices of the delays to use.

    Returns:
        Parameters of [linear, angular] of each set, shape (delays, 6 + extra) each.
    """
    blocks = _blocks(sets, which)
    size, count = blocks.most, len(which)
    seen, scale = blocks.scaled(moments)
    information = seen[:, :size, :size] + _weak_prior(size)
    found = np.linalg.solve(information, seen[:, :size, size:])[:, :, 0] / scale
    sizes = blocks.sizes[::count].tolist()
    return [found[count * i : count * (i + 1), :own] for i, own in enumerate(sizes)]


@lru_cache
def _weak_prior(size: int) -> Array:
    prior: Array = WEAK_PRIOR * np.eye(size)
    return prior


def fit_axes(
    sums: RowSums,
    extra: ExtraColumns = NO_COLUMNS,
    priors: Sequence[AxisPrior | None] = (None, None),
) -> tuple[AxisFit, AxisFit]:
    """Fit both axes; the sums are those of one delay, `RowSums.delayed`.

    Args:
        sums: Sums of at least a few windows of rows.
        extra: Columns of additional regressors, which have no prior.
        priors: Prior knowledge of both axes, or None of both, which uses only the weak prior.
    """
    linear, angular = fits(sums, (extra,), priors)
    return linear, angular


def fits(
    sums: RowSums,
    sets: tuple[ExtraColumns, ...],
    priors: Sequence[AxisPrior | None] = (None, None),
) -> list[AxisFit]:
    """Fit both axes with each of several sets of additional columns: [linear, angular] of each."""
    blocks = _blocks(sets)
    # n fits with up to p parameters.
    seen, scale = blocks.scaled(sums.products)  # (4, n, p + 1, p + 1)
    size = blocks.most
    squares, spread = seen[:2], seen[2:, :, :-1, :-1]
    weak, b = _weak_prior(size), squares[0, :, :-1, -1:]
    information = squares[0, :, :-1, :-1] + weak
    p = np.linalg.inv(information)
    theta = p @ b
    noises, variances = _noise(sums, squares, theta, p @ spread @ p)
    torque, reading = (_small_sample(sums, blocks.sizes) * np.array(noises).T)[:, :, None, None]
    omega = torque * spread[0] + reading * spread[1]
    # Noise variance at which uncorrelated rows would give the same precision.
    per_row = np.maximum((p * omega).sum(axis=(1, 2)) / blocks.sizes, TINY)[:, None, None]
    told = [prior for prior in priors if prior is not None] * len(sets)
    if told:
        own = len(told[0].mean)
        known, expected = np.zeros_like(p), np.zeros_like(b)
        known[:, :own, :own] = [prior.information for prior in told]
        known *= per_row / _shape(scale)
        expected[:, :own, 0] = [prior.mean for prior in told] * scale[:, :own]
        weak = weak + known
        p = np.linalg.inv(information + known)
        theta = p @ (b + known @ expected)
    covariance = p @ (omega + per_row * weak) @ p
    # After much cancellation the inverse is symmetric only to a few parts in 1e9.
    covariance = 0.5 * (covariance + covariance.swapaxes(1, 2)) / _shape(scale)
    found = zip(theta[:, :, 0] / scale, covariance, variances, noises, strict=True)
    return [
        AxisFit(parameters[:own], spread[:own, :own], variance, noise)
        for own, (parameters, spread, variance, noise) in zip(
            blocks.sizes.tolist(), found, strict=True
        )
    ]


def _small_sample(sums: RowSums, sizes: NDArray[np.intp]) -> Array:
    """Return the factors on the variance with which 1.96 deviations cover 95 % even for few rows.

    It uses the first term of the expansion of Student's t: t / 1.96 = 1 + (1.96^2 + 1) / (4 nu).
    """
    independent = float(sums.weights[0]) / (sums.window + sums.smoothing)
    factor: Array = STD_INFLATION * (1.0 + 1.21 / np.maximum(independent - sizes, 1.0))
    return factor * factor


def _noise(
    sums: RowSums, squares: Array, theta: Array, spread: Array
) -> tuple[list[tuple[float, float]], list[float]]:
    """Estimate the variances of the two noises of n fits from the squares of the residuals.

    Args:
        sums: Sums of the rows.
        squares: Products of the scaled regressors and the output, `RowSums.squares`, shape
            (2, n, p + 1, p + 1).
        theta: Scaled parameters, shape (n, p, 1).
        spread: Their covariance per unit of each noise, shape (2, n, p, p).

    Returns:
        Variances [torque, reading] of the noises, and the variance of the residuals, of each fit.
    """
    count, size, _ = theta.shape
    error = np.ones((count, size + 1, 1))
    error[:, :-1] = -theta
    found = (error.swapaxes(1, 2) @ squares @ error)[:, :, 0, 0].T
    # Part of the squares that the fit has removed: tr(spread_j squares_i), (n, 2, 2).
    own = squares[:, :, :-1, :-1].reshape(2, count, -1).swapaxes(0, 1)
    taken = own @ spread.swapaxes(2, 3).reshape(2, count, -1).transpose(1, 2, 0)
    # The readings' noise in the parameters comes from fast changes, which means of rows lack: there
    # it adds to the squares.
    taken[:, 1, 1] *= -1.0
    seen = _seen_noise(sums.window, sums.smoothing, sums.part)
    weights = sums.weights.tolist()
    expected = seen.powers * sums.weights[:, None] - taken
    noises = [
        _likely_noise(own, squared, seen, weights)
        for own, squared in zip(expected.tolist(), found.tolist(), strict=True)
    ]
    variances = found[:, 0] / weights[0] if weights[0] else np.full(len(found), np.inf)
    return noises, np.maximum(variances, 0.0).tolist()


@dataclass(frozen=True)
class _SeenNoise:
    """How the noises [torque, reading] of variance 1 appear in rows (1) and in means of rows (2).

    Attributes:
        powers: Their variances, shape (2, 2).
        rows, both, means: Sums over all lags of the products of two covariances, those of 1 with 1,
            of 1 with 2 and of 2 with 2: of the torques' with itself, of either, of the readings'.
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
    expected: list[list[float]], found: list[float], seen: _SeenNoise, weights: list[float]
) -> tuple[float, float]:
    """Return the variances [torque, reading] that are likely, given the squares of the residuals.

    The squares scatter about their expected values, by Bartlett's formula. The torques' variance is
    the mean of a normal distribution that is cut off at 0: where it is uncertain, the best estimate
    is often 0, and the intervals would be too short. It is at most what explains the rows alone.

    Args:
        expected: Sums of squares per unit of each noise, shape (2, 2).
        found: Sums of squares, shape (2,).
        seen: How the noises appear.
        weights: `RowSums.weights`.
    """
    (a, b), (c, d) = expected
    x, y = found
    determinant = a * d - b * c
    # Torque noise with which the rows have no other.
    most = max(x, 0.0) / max(a, TINY)
    are_told = weights[1] > 0.0 and determinant < -MIN_DETERMINANT * abs(b * c)
    reading = (a * y - c * x) / determinant if are_told else 0.0
    if not reading > 0.0:
        # Nothing tells the noises apart, or slow errors are larger than such noise makes them: rows
        # in which a wheel reverses or a sample was lost, or an effect outside the model.
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


# Friction coefficients are separable if the smallest eigenvalue of their correlation matrix is
# not below this.
MIN_EIGENVALUE = 1e-9
# Standard deviations up to this, in N m s/rad and N m, stem from rounding, not from noise.
NO_NOISE_STD = 1e-15

UNKNOWN_FRICTION = FrictionEstimate((0.0,) * 4, (np.inf,) * 4)
UNKNOWN_TURNING = TurningEstimate((0.0, 0.0), (np.inf, np.inf))


def friction_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    """Return the map from friction to the parameters of [v, omega, sign left, sign right].

    It maps [c_l, c_r, f_l, f_r], times K7 for the linear axis and K8 for the angular one.

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


def fuse_friction(linear: AxisFit, angular: AxisFit, geometry: WheelGeometry) -> FrictionEstimate:
    """Return friction from both axes, weighted by precision; infinite variances where unknown."""
    information, weighted = np.zeros((4, 4)), np.zeros(4)
    jacobian = np.empty((4, 5))
    with np.errstate(all="ignore"):
        for fit, inverse in zip((linear, angular), _inverse_terms(geometry), strict=True):
            gain = fit.theta[1]
            values = inverse @ fit.theta[2:6] / gain
            jacobian[:, 0], jacobian[:, 1:] = -values / gain, inverse / gain
            own = _inverse(jacobian @ fit.covariance[1:6, 1:6] @ jacobian.T, NO_NOISE_STD)
            # None if a wheel did not turn or without torque: this axis is uninformative.
            if own is not None:
                information += own
                weighted += own @ values
        covariance = _inverse(information, 0.0)
    if covariance is None:
        return UNKNOWN_FRICTION
    values = covariance @ weighted
    return FrictionEstimate.of(values, covariance)


def fuse_more(
    linear: AxisFit, angular: AxisFit, geometry: WheelGeometry, extra: ExtraColumns
) -> tuple[FrictionEstimate, TurningEstimate | None]:
    """Return wheel friction, with gear losses, and floor resistance from both axes.

    A gear loss enters as Coulomb friction does, with its column in the place of the sign's.

    With skid steer the angular axis has the sign of omega as its seventh parameter,
    TURNING_COLUMNS. With 1 / I_e = -r K8 / b the resistance adds K8 (r / b) c_w to the parameter of
    omega, and the parameter of its sign is K8 (r / b) f_w. Of the six unknowns the linear axis
    determines the four of the wheels, and the angular axis five sums: c_w is the part of its
    parameter of omega that the wheels' c_l + c_r do not explain. It cannot be found from a robot
    that only turns or only drives straight ahead.

    Args:
        linear: Fit of the linear axis.
        angular: Fit of the angular axis.
        geometry: Wheel radii and separation.
        extra: Additional regressors of the fits, with TURNING_COLUMNS, GEAR_COLUMNS, or both.
    """
    terms, places = list(friction_terms(geometry)), [list(range(2, 6)), list(range(2, 6))]
    geared, turning = GEAR_LEFT in extra[0], SIGN_OMEGA in extra[1]
    if geared:
        for i, gears in enumerate(GEAR_COLUMNS):
            signs = terms[i][2:, 2:]
            terms[i] = np.block([[terms[i], np.zeros((4, 2))], [np.zeros((2, 4)), signs]])
            places[i] += [6 + extra[i].index(column) for column in gears]
    if turning:
        lever = 0.5 * (geometry.left_radius + geometry.right_radius) / geometry.half_track
        terms = [np.hstack((own, np.zeros((len(own), 2)))) for own in terms]
        terms[1][1, -2] = lever
        terms[1] = np.vstack((terms[1], np.append(np.zeros(terms[1].shape[1] - 1), lever)))
        places[1].append(6 + extra[1].index(SIGN_OMEGA))
    found = _fused((linear, angular), terms, places)
    if found is None:
        return UNKNOWN_FRICTION, UNKNOWN_TURNING if turning else None
    values, covariance = found
    count = 6 if geared else 4
    friction = FrictionEstimate.of(values[:count], covariance[:count, :count])
    if not turning:
        return friction, None
    viscous, coulomb = values[count:].tolist()
    of_viscous, of_coulomb = np.diag(covariance)[count:].tolist()
    return friction, TurningEstimate((viscous, coulomb), (of_viscous, of_coulomb))


def _fused(
    axes: Sequence[AxisFit], terms: Sequence[Array], places: Sequence[Sequence[int]]
) -> tuple[Array, Array] | None:
    """Return n coefficients and their covariance from both axes; None if they are unknown.

    Args:
        axes: Fits of both axes.
        terms: Of each axis, the map from the coefficients to m parameters per gain, shape (m, n).
        places: Of each axis, the indices of these parameters, m of them.
    """
    size = terms[0].shape[1]
    information, weighted = np.zeros((size, size)), np.zeros(size)
    with np.errstate(all="ignore"):
        for fit, own, place in zip(axes, terms, places, strict=True):
            gain, seen = fit.theta[1], fit.theta[[*place]]
            jacobian = np.column_stack((-seen / gain**2, np.eye(len(own)) / gain))
            spread = fit.covariance[block((1, *place))]
            precision = _inverse(jacobian @ spread @ jacobian.T, 0.0)
            if precision is not None:
                information += own.T @ precision @ own
                weighted += own.T @ precision @ (seen / gain)
        covariance = _inverse(information, 0.0)
    return None if covariance is None else (covariance @ weighted, covariance)


@lru_cache
def _inverse_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    linear, angular = (np.asarray(np.linalg.inv(terms)) for terms in friction_terms(geometry))
    return linear, angular


def _inverse(matrix: Array, min_scale: float) -> Array | None:
    """Return the inverse, computed via the correlation matrix; None if ill-conditioned."""
    scale = np.sqrt(matrix.diagonal())
    shape = scale[:, None] * scale
    correlation = matrix / shape
    if not (np.isfinite(correlation).all() and (scale > min_scale).all()):
        return None
    if np.linalg.eigvalsh(correlation)[0] < MIN_EIGENVALUE:
        return None
    inverse: Array = np.linalg.inv(correlation) / shape
    return inverse
