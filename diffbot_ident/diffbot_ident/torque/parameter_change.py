# SPDX-License-Identifier: Apache-2.0
"""Finds a robot that changes in mid-run: at once, as by a payload, or slowly, as by warming up.

Units of the run have their own factor 1 + c on all that acts through a force, and drifts t X theta:

    c = sum g (y - X theta) / sum g^2,    g = X theta without the product of velocities

See docs/theory/integral_estimator.md#a-robot-that-changes-or-drifts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import Array, Three
from diffbot_ident.samples.series import pseudo_inverse
from diffbot_ident.torque.axis_fit import AXES, batch, solutions
from diffbot_ident.torque.columns import OMEGA, SIGN_LEFT, SIGN_RIGHT, AxisFit, ExtraColumns, V
from diffbot_ident.torque.sums import RowSums, torque_weights, weighted_products
from diffbot_ident.torque.torque_delay import delay_weights

# Length of the first units after the opening, in disjoint windows.
UNIT_WINDOWS = 4
# Most units; beyond it, each two successive ones become one.
MOST_UNITS = 32
# Minimum number of units of a test, and of driven ones before and after a change: one alone, which
# is driven little, may differ by friction or readings that the model lacks.
FEWEST, FEWEST_BEFORE, FEWEST_AFTER = 10, 1, 2
# Likelihood ratio beyond which, and share of the gain from which on, a change is found; and ratio
# where only the opening differs, as its rows belong to a response that was hardly known.
SIGNIFICANT_CHANGE, LEAST_CHANGE, SIGNIFICANT_AFTER_WARM_UP = 30.0, 0.05, 45.0
# A unit counts if it was driven at least by this share of the mean power.
DRIVEN = 0.1
# Deviations from which on a drift of [torques, friction] is possible, which widens the intervals by
# what it would change, from which on it is taken into account, and from which on it is named (by
# chance in one of 1000 runs, as friction's must be large); least drift over the run that matters,
# and that is named, as a share.
POSSIBLE_DRIFT, LIKELY_DRIFT, SIGNIFICANT_DRIFT = 1.5, (3.0, 2.5), (3.5, 2.75)
LEAST_DRIFT, LEAST_NAMED = (0.005, 0.05), (0.0125, 0.05)
# Largest drift of the torques: what changes more is another robot.
MOST_DRIFT = 0.15
# Largest drift of friction, which else would be negative at one end.
MOST_FRICTION_DRIFT = 2.0
# Least share of a drifting value's mean that counts as left at the end.
LEAST_LEFT = 0.02
# Deviation of a value at the end over its drift: a line misses an exponential's end by that.
CURVED = 0.2
# Parameters of the scores of the units: of an axis, and with its three drifts.
SCORE_PARAMETERS, UNIT_PARAMETERS = 6, 9
# Deviations from which on viscous and Coulomb friction drift differently.
UNLIKE = 5.0


@dataclass(frozen=True)
class ForceDrift:
    """Drifts of a robot over a run.

    Attributes:
        shares: Drifts of [torques, viscous, Coulomb friction], relative to their means; 0: none.
        deviations: Relative standard deviations that they add to the values at the end.
        significant: Whether the drifts of [torques, friction] are sure enough for a warning.
        correction: (columns, columns); a row at time t, times (t - 1/2) times this matrix, makes
            its outputs those of the robot at the end.
    """

    shares: Three
    deviations: Three
    significant: tuple[bool, bool]
    correction: Array

    def warnings(self) -> list[str]:
        """Return what drifts for sure, by how much, and what to do."""
        torques, viscous, coulomb = self.shares
        of_torques, of_friction = self.significant
        results = []
        if of_torques:
            results.append(
                f"the effect of the torques {_trend(torques)} over the run, as with motors that "
                "warm up or a battery that empties: K7 and K8 are those at its end; let the motors "
                "warm up, charge the battery, and report torques from measured currents"
            )
        if of_friction:
            if viscous == coulomb:
                said = f"the friction {_trend(viscous)}"
            elif not coulomb:
                said = f"the viscous friction {_trend(viscous)}"
            elif not viscous:
                said = f"the Coulomb friction {_trend(coulomb)}"
            else:
                said = f"the viscous friction {_trend(viscous)} and Coulomb's {_trend(coulomb)}"
            results.append(
                f"{said} over the run, as with bearings and grease that "
                "warm up: the friction is that at its end; let the robot drive for some minutes, "
                "then identify again"
            )
        return results


def _trend(fraction: float) -> str:
    """Return a drift, relative to the mean, in words: relative to the start."""
    change = max(fraction / max(1.0 - 0.5 * fraction, 0.1), -1.0)
    return f"{'fell' if fraction < 0.0 else 'rose'} by {float(f'{100.0 * abs(change):.2g}'):g} %"


@dataclass(frozen=True)
class _UnitFits:
    """Fits of [linear, angular] to all units; columns that only one axis has are 0 in the other.

    `units`: moments of p regressors and output, (2, n, p + 1, p + 1); `theta`: of all, (2, p).
    """

    units: Array
    theta: Array

    @classmethod
    def of(cls, units: Array, extra: ExtraColumns, thetas: Sequence[Array]) -> _UnitFits:
        size = max(map(len, thetas))
        theta, moments = np.zeros((2, size)), np.zeros((2, len(units), size + 1, size + 1))
        for side, (axis, own) in enumerate(zip(AXES, extra, strict=True)):
            theta[side, : len(thetas[side])] = thetas[side]
            place = np.append(np.arange(len(thetas[side])), size)
            seen = units[(slice(None), *batch(axis.columns(own)))]
            moments[side, :, place[:, None], place] = seen.transpose(1, 2, 0)
        return cls(moments, theta)


class ChangeWatch:
    """Watches a run for a change of the robot, in constant memory.

    Args:
        window: Length of a disjoint window, control periods.
        sums: Sums of all rows so far, which are the first unit.
        stamp, began: Stamps of the newest and of the first sample, s.

    Attributes:
        left: Control periods until the current unit ends.
        ends: Stamps of the units' ends, s.
    """

    def __init__(self, window: int, sums: RowSums, stamp: float, began: float) -> None:
        self._fine = sums.fine
        self._unit = self.left = UNIT_WINDOWS * window
        self._so_far = sums.products.copy()
        # Of the units, the first len(self.ends).
        self._products = np.empty((MOST_UNITS, *self._so_far.shape))
        self._products[0] = self._so_far
        self._began = began
        self.ends: list[float] = [stamp]
        # The last fits, which a look for a change and one for a drift share, and what they are of.
        self._last: tuple[tuple[object, ...], _UnitFits] | None = None

    def pass_by(self, periods: int, sums: RowSums, stamp: float) -> bool:
        """Note at most `left` learnt periods, up to a stamp, s; return whether a unit ended."""
        self.left -= periods
        if self.left > 0:
            return False
        before, self._so_far = self._so_far, sums.products.copy()
        np.subtract(self._so_far, before, out=self._products[len(self.ends)])
        self.ends.append(stamp)
        if len(self.ends) == MOST_UNITS:
            self._products[: MOST_UNITS // 2] = self._products[::2] + self._products[1::2]
            self.ends = self.ends[1::2]
            self._unit *= 2
        self.left = self._unit
        return True

    def change(
        self, sums: RowSums, delay: float, extra: ExtraColumns, lag: float = 0.0
    ) -> float | None:
        """Return the stamp (s) of a change, to within a unit; None: none is sure.

        Delay and lag are in control periods; `extra` are additional regressors.
        """
        if len(self.ends) < FEWEST:
            return None
        results = []
        for effect, weight in _effects(self._fits(sums, delay, extra, lag)):
            ratio, at = _split(effect, weight)
            # The newest unit may have changed in its midst.
            if (
                ratio > (SIGNIFICANT_CHANGE if at > 1 else SIGNIFICANT_AFTER_WARM_UP)
                and abs(_step(effect, weight, at)) > LEAST_CHANGE
                and not _drifts(effect, weight, self._times(), ratio)
            ):
                results.append((ratio, at))
        if not results:
            return None
        _, at = max(results)
        return self.ends[at - 1]

    def drift(
        self,
        sums: RowSums,
        delay: float,
        extra: ExtraColumns,
        lag: float = 0.0,
        rough: float = 1.0,
    ) -> ForceDrift | None:
        """Return the drift over the run; None: none is likely. See `change`.

        `rough`: factor on the deviations beyond which it is named, as columns describe roughly.
        """
        if len(self.ends) < FEWEST:
            return None
        fits = self._fits(sums, delay, extra, lag)
        values, of_axes = _trends(fits, self._times())
        information = of_axes.sum(axis=0)
        weighted = (of_axes @ values[:, :, None])[:, :, 0].sum(axis=0)
        result = _likely_drifts(information, weighted, rough)
        if result is None:
            return None
        shares, deviations, significant = result
        correction = np.zeros_like(self._so_far[0])
        torques, viscous, coulomb = shares
        weights = delay_weights(delay, self._fine, lag)
        for axis, theta in zip(AXES, fits.theta, strict=True):
            correction[axis.torque, axis.output] = -torques * theta[1] * weights
            correction[[V, OMEGA], axis.output] = -viscous * theta[2:4]
            correction[[SIGN_LEFT, SIGN_RIGHT], axis.output] = -coulomb * theta[4:6]
        return ForceDrift(shares, deviations, significant, correction)

    def steady(self, sums: RowSums, drift: ForceDrift) -> RowSums:
        """Return the sums of a robot that has always been as it is at the end of the run."""
        since = self._times() - 0.5
        units = self._products[: len(since)].reshape(len(since), -1)
        first, second = (np.array([since, since**2]) @ units).reshape(2, *sums.products.shape)
        known_robot = copy(sums)
        known_robot.products = _corrected(sums.products, first, second, drift.correction)
        return known_robot

    def widened(
        self,
        axes: Sequence[AxisFit],
        delay: float,
        extra: ExtraColumns,
        lag: float,
        drift: ForceDrift | None,
    ) -> list[AxisFit]:
        """Return fits that are as uncertain as the units of the run disagree, beyond chance.

        With P = (sum x x')^-1 and the residuals e of a unit's rows, the sum of the squares of P x e
        over the units is the parameters' variance, whatever the noise.
        """
        count = len(self.ends)
        if count < FEWEST:
            return list(axes)
        units, weights = self._products[:count, 0], torque_weights((delay,), self._fine, lag)
        if drift is not None:
            since = (self._times() - 0.5)[:, None, None]
            units = _corrected(units, since * units, since**2 * units, drift.correction)
        fits = _UnitFits.of(weighted_products(units, weights), extra, [own.theta for own in axes])
        x, y = fits.units[:, :, :-1, :-1], fits.units[:, :, :-1, -1]
        scores = y - (x @ fits.theta[:, None, :, None])[..., 0]
        moved = _solve(x.sum(axis=1), scores.swapaxes(1, 2))
        seen = np.square(moved).sum(axis=2) * count / (count - 1.0)
        chance = 1.0 + math.sqrt(2.0 / (count - 1.0))
        return [own.widened(variances / chance) for own, variances in zip(axes, seen, strict=True)]

    def _times(self) -> Array:
        """Return the middles of the units, -1/2 to 1/2 over the run, shape (n,)."""
        ends = np.array([self._began, *self.ends])
        middles = 0.5 * (ends[1:] + ends[:-1] - ends[0] - ends[-1])
        result: Array = middles / (ends[-1] - ends[0])
        return result

    def _fits(self, sums: RowSums, delay: float, extra: ExtraColumns, lag: float) -> _UnitFits:
        key = (self.ends[-1], delay, extra, lag)
        if self._last is None or self._last[0] != key:
            self._last = key, self._fitted(sums, delay, extra, lag)
        return self._last[1]

    def _fitted(self, sums: RowSums, delay: float, extra: ExtraColumns, lag: float) -> _UnitFits:
        thetas = [theta[0] for theta in solutions(sums.moments_at((delay,), lag), (extra,))]
        weights = torque_weights((delay,), self._fine, lag)
        units = weighted_products(self._products[: len(self.ends), 0], weights)
        return _UnitFits.of(units, extra, thetas)


def _effects(fits: _UnitFits) -> list[tuple[Array, Array]]:
    error = np.concatenate((-fits.theta, np.ones((2, 1))), axis=1)[:, None, :, None]
    forced = np.concatenate((fits.theta, np.zeros((2, 1))), axis=1)
    forced[:, 0] = 0.0
    forced = forced[:, :, None]
    weight, along = (
        ((fits.units @ each)[..., 0] @ forced)[..., 0] for each in (forced[:, None], error)
    )
    effect = np.divide(along, weight, out=np.zeros_like(along), where=weight > 0.0)
    driven = weight > DRIVEN * weight.mean(axis=1, keepdims=True)
    return list(zip(effect, np.where(driven, weight, 0.0), strict=True))


def _trends(fits: _UnitFits, time: Array) -> tuple[Array, Array]:
    """Return drifts of torques, viscous and Coulomb friction, by axis, and their information.

    `time` of the n units is (n,); shapes (2, 3) and (2, 3, 3).
    """
    theta = fits.theta
    x, y = fits.units[:, :, :-1, :-1], fits.units[:, :, :-1, -1]
    forces = np.zeros((*theta.shape, 3))
    forces[:, 1, 0], forces[:, 2:4, 1], forces[:, 4:6, 2] = (
        theta[:, 1],
        theta[:, 2:4],
        theta[:, 4:6],
    )
    drifting = time[:, None, None] * (x @ forces[:, None])
    away = _solve(x.sum(axis=1), drifting.sum(axis=1))
    # Regressors of the drifts, without what the parameters explain.
    beside = time[:, None, None] * forces[:, None] - away[:, None]
    each = beside.swapaxes(2, 3) @ x @ beside
    left = each.sum(axis=1)
    error = (y - (x @ theta[:, None, :, None])[..., 0])[..., None]
    value = _solve(left, (beside.swapaxes(2, 3) @ error).sum(axis=1))
    own = beside.swapaxes(2, 3) @ error - each @ value[:, None]
    # Few units tell one scatter of each axis well, and a covariance of three drifts badly.
    scatter = (own * _solve(each, own)).sum(axis=(1, 2, 3))
    numbers = (each.diagonal(0, 2, 3) > 0.0).sum(axis=(1, 2)) - UNIT_PARAMETERS
    scatter = np.maximum(scatter / np.maximum(numbers, 1), np.finfo(float).tiny)[:, None]
    # That of a drift may be larger, as of friction that does not fall along a line.
    power = left.diagonal(0, 1, 2)
    of_each = np.square(own[..., 0]).sum(axis=1) * len(time) / (len(time) - SCORE_PARAMETERS)
    of_each = np.divide(of_each, power, out=np.zeros_like(power), where=power > 0.0)
    std = np.sqrt(np.maximum(scatter, of_each))
    return value[..., 0], left / (std[:, :, None] * std[:, None])


# Drifts of [torques, viscous, Coulomb friction] by those of [torques, friction]: both, or one.
_ONE_FRICTION = np.array(
    [
        [[1.0, 0.0], [0.0, viscous], [0.0, coulomb]]
        for viscous, coulomb in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0))
    ]
)


def _corrected(products: Array, first: Array, second: Array, correction: Array) -> Array:
    """Return sums of products of rows x + t x C, by their moments over t of order 0, 1 and 2."""
    along = first @ correction
    return products + along + along.swapaxes(1, 2) + correction.T @ second @ correction


def _likely_drifts(
    information: Array, weighted: Array, rough: float = 1.0
) -> tuple[Three, Three, tuple[bool, bool]] | None:
    """Return the drifts of [torques, viscous, Coulomb], their deviations, and which are sure.

    Both frictions drift alike, or one of them, whatever explains the units best, unless they
    contradict all of these; where a drift of the torques is not likely, friction is fitted alone.
    `information` is (3, 3), `weighted` it times the drifts. None: none.
    """
    across = _ONE_FRICTION.swapaxes(1, 2)
    covariances = pseudo_inverse(across @ information @ _ONE_FRICTION)
    commons = covariances @ (across @ weighted)[:, :, None]
    gains = ((across @ weighted)[:, None] @ commons)[:, 0, 0]
    # What would be negative at one end explains nothing.
    best = int(np.argmax(np.where(np.abs(commons[:, 1, 0]) <= MOST_FRICTION_DRIFT, gains, 0.0)))
    gain, alike, common = float(gains[best]), _ONE_FRICTION[best], commons[best, :, 0]
    std = _deviations(covariances[best])
    likely = _is_likely(common, std)
    if not likely[0]:
        # Without a drift of the torques, that of friction is known better.
        frictions, tiny = _ONE_FRICTION[:, :, 1], np.finfo(float).tiny
        known = np.maximum((frictions @ information * frictions).sum(axis=1), tiny)
        along = frictions @ weighted
        limited = np.abs(along) <= MOST_FRICTION_DRIFT * known
        one = int(np.argmax(np.where(limited, along**2 / known, 0.0)))
        if along[one] ** 2 / known[one] > weighted[0] ** 2 / max(information[0, 0], tiny):
            alike, common = _ONE_FRICTION[one], np.array([common[0], along[one] / known[one]])
            std = np.array([std[0], known[one] ** -0.5])
            likely = _is_likely(common, std)
    size = np.abs(common)
    possible = (size > POSSIBLE_DRIFT * std) & (size > LEAST_DRIFT)
    if not possible.any() or (likely[0] and size[0] > MOST_DRIFT):
        return None
    of_torques, of_friction = (
        likely & (size > rough * std * SIGNIFICANT_DRIFT) & (size > LEAST_NAMED)
    ).tolist()
    apart = pseudo_inverse(information)
    each, own_std = apart @ weighted, _deviations(apart)
    unlike = bool(np.isfinite(own_std).all()) and float(weighted @ each) - gain > UNLIKE**2
    unlike = unlike and bool((np.abs(each[1:]) <= MOST_FRICTION_DRIFT).all())
    shares = np.where(alike @ likely, each if unlike else alike @ common, 0.0)
    # While they may drift alike, neither is more uncertain than the drift is large.
    own_std = np.where(
        unlike, own_std, np.minimum(own_std, np.maximum(np.abs(shares), alike @ std))
    )
    # At the end of the run a value differs from its mean by half of its drift.
    unsure = 0.5 * (alike @ (possible * np.minimum(size, MOST_FRICTION_DRIFT)))
    deviations = np.where(shares != 0.0, np.hypot(0.5 * own_std, CURVED * shares), unsure)
    # Relative to the value at the end, of which a drift that ends at 0 leaves nothing.
    deviations /= np.maximum(1.0 + 0.5 * shares, LEAST_LEFT)
    (a, b, c), (d, e, f) = shares.tolist(), deviations.tolist()
    return (a, b, c), (d, e, f), (of_torques, of_friction)


def _is_likely(drifts: Array, std: Array) -> NDArray[np.bool_]:
    size = np.abs(drifts)
    likely: NDArray[np.bool_] = (size > std * LIKELY_DRIFT) & (size > LEAST_DRIFT)
    likely[1] &= size[1] <= MOST_FRICTION_DRIFT
    return likely


def _deviations(covariance: Array) -> Array:
    """Return the standard deviations; infinite where rounding leaves none."""
    variances = covariance.diagonal()
    return np.sqrt(np.where(variances >= 0.0, variances, np.inf))


def _solve(matrix: Array, right: Array) -> Array:
    """Solve symmetric systems of any scale; directions without information get 0."""
    # Rounding makes the diagonal of such directions negative, too.
    scale = np.sqrt(np.maximum(matrix.diagonal(0, -2, -1), 0.0))
    scale[scale == 0.0] = 1.0
    inverse = pseudo_inverse(matrix / (scale[..., :, None] * scale[..., None, :]), 1e-9)
    result: Array = inverse @ (right / scale[..., None]) / scale[..., None]
    return result


def _split(effect: Array, weight: Array) -> tuple[float, int]:
    """Return the likelihood ratio of two levels against one, and the first unit of the second."""
    count = np.count_nonzero(weight)
    if count < FEWEST:
        return 0.0, 1
    away = effect - float(weight @ effect) / float(weight.sum())
    w, sums, squares = np.cumsum([weight, weight * away, weight * away**2], axis=1)
    units = np.cumsum(weight != 0.0)
    first = np.arange(1, len(effect))
    before = units[first - 1]
    first = first[(before >= FEWEST_BEFORE) & (units[-1] - before >= FEWEST_AFTER)]
    if not len(first):
        return 0.0, 1
    one, other = w[first - 1], w[-1] - w[first - 1]
    between = sums[first - 1] ** 2 / one + (sums[-1] - sums[first - 1]) ** 2 / other
    best = int(np.argmax(between))
    scatter = max(float(squares[-1] - between[best]), 0.0)
    return _likelihood_ratio(effect, weight, scatter), int(first[best])


def _drifts(effect: Array, weight: Array, time: Array, ratio: float) -> bool:
    middle = float(weight @ time) / float(weight.sum())
    away = weight * (time - middle)
    fraction = float(away @ effect) / float(away @ time)
    better = _likelihood_ratio(effect, weight, _scatter(effect - fraction * time, weight)) > ratio
    return better and abs(fraction) < MOST_DRIFT


def _likelihood_ratio(effect: Array, weight: Array, scatter: float) -> float:
    """Return that of two parameters, which leave this scatter, against one level."""
    least = np.finfo(float).tiny
    count = np.count_nonzero(weight)
    return (count - 2) * math.log((_scatter(effect, weight) + least) / (scatter + least))


def _scatter(effect: Array, weight: Array) -> float:
    mean = float(weight @ effect) / float(weight.sum())
    return float(weight @ np.square(effect - mean))


def _step(effect: Array, weight: Array, at: int) -> float:
    before, after = (
        float(weight[part] @ effect[part]) / max(float(weight[part].sum()), np.finfo(float).tiny)
        for part in (slice(None, at), slice(at, None))
    )
    return (after - before) / (1.0 + before)
