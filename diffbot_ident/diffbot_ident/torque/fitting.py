# SPDX-License-Identifier: Apache-2.0
"""Fits of both axes, uncertain by delay and effects; looks for effects; evidence of a lag."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.torque.axis_fit import (
    AxisPrior,
    DelayedResiduals,
    fit_axes,
    fits,
    joined,
    solutions,
)
from diffbot_ident.torque.columns import AxisFit, ExtraColumns, averaged
from diffbot_ident.torque.effect_search import EffectSearch, TrustResult, probability
from diffbot_ident.torque.effects import DIFFERENCE, SLOPE, SUM, TURNING, WITHIN, Effect
from diffbot_ident.torque.sums import RowSums, of_both_torques, weighted_products
from diffbot_ident.torque.torque_delay import (
    DELAYS,
    EARLIEST,
    FINE_DELAYS,
    LIKELY_LAG,
    DelaySearch,
    TorqueDelay,
    acting_weights,
)

# Half the distance of delays, and of lags, for the parameters' slopes over them, periods.
STEP = 0.05


class Fitting:
    """Fits of one state of the sums, from `windows` disjoint windows, with `known` columns."""

    def __init__(
        self,
        sums: RowSums,
        windows: float,
        known: ExtraColumns,
        priors: Sequence[AxisPrior | None],
    ) -> None:
        self.sums = sums
        self.known = known
        self.priors = priors
        self._windows = windows
        self._searches: dict[ExtraColumns, DelaySearch] = {}  # by the columns beside the torque

    def extra(self, effects: Sequence[Effect]) -> ExtraColumns:
        """Return the additional columns of both axes with these effects in the model."""
        return joined(self.known, *(each.columns for each in effects))

    def delay(self, effects: Sequence[Effect], lags: bool, gain: bool = True) -> TorqueDelay:
        """Return the best delay of the torque, alone or with a lag, and its gain if needed."""
        search = self._search(self._beside(effects, lags))
        return search.with_lag(gain) if lags else search.alone

    def evident_delay(self, effects: Sequence[Effect], lags: bool) -> TorqueDelay:
        """Return the delay as `delay` does, with the evidence by which a lag is named."""
        timing = self.delay(effects, lags)
        if not lags:
            return timing
        extra = self._beside(effects, lags)
        alone = self._search(extra).alone.value
        return replace(timing, evidence=lag_evidence(self.sums, alone, extra))

    def _beside(self, effects: Sequence[Effect], lags: bool) -> ExtraColumns:
        """Return the columns beside which a delay, or a lag, is searched."""
        # Frictions outside the model resemble a lag.
        return self.extra(
            [each for each in effects if each.like_a_delay or (lags and not each.of_torques)]
        )

    def _search(self, extra: ExtraColumns) -> DelaySearch:
        search = self._searches.get(extra)
        if search is None:
            search = DelaySearch(DelayedResiduals(self.sums, extra), self._windows, self.sums.fine)
            self._searches[extra] = search
        return search

    def axes(self, delay: TorqueDelay, result: TrustResult) -> tuple[AxisFit, AxisFit]:
        """Return both fits, including the uncertainty of the delay and of the effects."""
        alone = self._axes_with(delay, result)
        if result.doubtful_lag <= 0.0:
            return alone
        others = self._axes_with(self.delay(result.effects, lags=True, gain=False), result)
        linear, angular = (
            averaged(one, other, result.doubtful_lag)
            for one, other in zip(alone, others, strict=True)
        )
        return linear, angular

    def _axes_with(self, delay: TorqueDelay, result: TrustResult) -> tuple[AxisFit, AxisFit]:
        if result.doubtful is None:
            linear, angular = self._uncertain(delay, (result.effects,))
            return linear, angular
        effect, fraction = result.doubtful
        sets = result.effects, (*result.effects, effect)
        linear, angular, *others = self._uncertain(delay, sets)
        return averaged(linear, others[0], fraction), averaged(angular, others[1], fraction)

    def _uncertain(self, delay: TorqueDelay, sets: Sequence[tuple[Effect, ...]]) -> list[AxisFit]:
        """Return fits of [linear, angular] of each set, uncertain by delay and effects."""
        extra = tuple(self.extra(effects) for effects in sets)
        seen, ends, width = self._ends_of_delay(delay, extra)
        widths, spread = [width], np.array([[delay.std**2]])
        if delay.lag > 0.0:
            widths.append(self._add_ends_of_lag(ends, delay, extra))
            spread = np.array([[delay.std**2, delay.shared], [delay.shared, delay.lag_std**2]])
        axis_fits = []
        for fitted, own in zip(fits(seen, extra, self.priors), ends, strict=True):
            slopes = np.column_stack(
                [
                    (after - before) / width
                    for (before, after), width in zip(own, widths, strict=True)
                ]
            )
            axis_fits.append(fitted.with_covariance(fitted.covariance + slopes @ spread @ slopes.T))
        for i, effects in enumerate(sets):
            exact = [effect for effect in effects if not effect.floor]
            if len(exact) == len(effects):
                continue
            # Such columns are rough: add the whole change that they make as uncertainty.
            without = solutions(seen.moments, (self.extra(exact),))
            for fitted, (theta,) in zip(axis_fits[2 * i : 2 * i + 2], without, strict=True):
                taken = fitted.theta[:6] - theta[:6]
                fitted.covariance[:6, :6] += taken[:, None] * taken
        return axis_fits

    def _ends_of_delay(
        self, delay: TorqueDelay, extra: tuple[ExtraColumns, ...]
    ) -> tuple[RowSums, list[list[Array]], float]:
        """Return the sums at a delay; each fit's parameters before and after; their distance."""
        value, lag = delay.value, delay.lag
        late = min(value + STEP, DELAYS - 1.0)
        early = max(value - STEP, EARLIEST / self.sums.fine)
        if self.priors[0] is None:
            seen = self.sums.at((value, early, late), lag)
            return seen, [[own] for own in solutions(seen.moments, extra, (1, 2))], late - early
        seen, *others = (self.sums.delayed(each) for each in (value, early, late))
        both = (fits(each, extra, self.priors) for each in others)
        ends = [
            [np.array([before.theta, after.theta])] for before, after in zip(*both, strict=True)
        ]
        return seen, ends, late - early

    def _add_ends_of_lag(
        self, ends: list[list[Array]], delay: TorqueDelay, extra: tuple[ExtraColumns, ...]
    ) -> float:
        """Add each fit's parameters with less and with more lag; return the lags' distance."""
        value, lag = delay.value, delay.lag
        wide = min(0.5 * lag, STEP)
        least = EARLIEST / self.sums.fine
        lags = max(lag - wide, 0.0), min(lag + wide, max(value + lag - least, lag))
        less, more = (
            solutions(self.sums.moments_at((value + lag - own,), own), extra) for own in lags
        )
        for own, before, after in zip(ends, less, more, strict=True):
            own.append(np.concatenate((before, after)))
        return lags[1] - lags[0]


# Columns of the derivatives, behind those of the torques.
DERIVATIVES: ExtraColumns = (
    (SUM.start + 2, SUM.start + 4),
    (DIFFERENCE.start + 2, DIFFERENCE.start + 4),
)
# Distance of the delays whose columns tell the derivatives, with one sample per period, periods.
APART = 0.25


def lag_evidence(sums: RowSums, delay: float, extra: ExtraColumns) -> float:
    """Return the variance of the times after which torques act, in its deviations; 0: not known.

    `delay`: the best one without a lag, control periods; `extra` columns are none of torques.
    """
    apart = _apart(delay, sums.fine)
    # With several samples per period, columns between them are mere interpolations.
    middle = delay if sums.fine == 1 else apart * round(delay / apart)
    earliest = EARLIEST if sums.fine == 1 else 0.0
    middle = max(middle, earliest + apart)
    if middle + apart > DELAYS - 1.0:
        return 0.0
    near = acting_weights(middle + apart * np.array([-1.0, 0.0, 1.0]), np.zeros(3), sums.fine)
    slope, bend = (
        (near[2] - near[0]) / (2.0 * apart),
        (near[2] - 2.0 * near[1] + near[0]) / apart**2,
    )
    seen = copy(sums)
    seen.products = weighted_products(
        sums.products, of_both_torques(np.column_stack((near[1], slope, bend)))
    )
    weight = weighted = 0.0
    for fitted in fit_axes(seen, joined(extra, DERIVATIVES)):
        gain, first, second = fitted.theta[[1, -2, -1]].tolist()
        if gain == 0.0:
            continue
        late = first / gain
        spread = 2.0 * second / gain - late**2
        rates = np.array([2.0 * late**2 - 2.0 * second / gain, -2.0 * late, 2.0]) / gain
        own = np.array([1, len(fitted.theta) - 2, len(fitted.theta) - 1])
        variance = float(rates @ fitted.covariance[np.ix_(own, own)] @ rates)
        if variance > 0.0:
            weight += 1.0 / variance
            weighted += spread / variance
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _apart(delay: float, fine: int) -> float:
    if fine == 1:
        return APART
    return 1.0 / fine if delay + 2.0 / fine < FINE_DELAYS - 1 else 1.0


# Gain at which a lag is as likely as none: most motors lag, and a false lag costs little.
LAG_PRIOR = 3.0
LOOKS = 3
# Evidence, and memories for which it must last, by which an estimator that forgets finds a slope:
# without its payload a robot seems to be on one for a while.
SIGNIFICANT_LIVE_SLOPE, SLOPE_MEMORIES = 500.0, 3.0


@dataclass(frozen=True)
class EffectLooks:
    """Looks at one state of the sums; `variance`: factor due to correlated errors.

    `one_robot`: all rows are of one; `resists`: the floor was found to resist turning.
    """

    fitting: Fitting
    windows: float
    variance: float
    one_robot: bool
    resists: bool

    def result(self, before: TrustResult) -> TrustResult:
        """Return what is found beside the model, beginning with what was found before."""
        result = before
        for _ in range(LOOKS):
            effects = result.effects
            # Test the lag first, because friction that differs by direction resembles it.
            timing = self.fitting.delay(effects, lags=True)
            # What would begin before its torque is what slip or backlash have left.
            left = timing.early and any(each.like_a_delay for each in effects)
            gain = 0.0 if left else timing.gain
            lags = gain > LIKELY_LAG**2
            if not lags:
                timing = self.fitting.delay(effects, lags=False)
            result = replace(result, effects=self._beside(timing, lags), lags=lags)
            # Each depends on the other.
            if set(effects) == set(result.effects):
                break
        result = self._complete(timing, result)
        if TURNING in result.effects:
            return result
        in_doubt = not result.lags and WITHIN not in result.effects
        return replace(result, doubtful_lag=probability(gain - LAG_PRIOR) if in_doubt else 0.0)

    def latest(self, before: TrustResult) -> TrustResult:
        """Return what was found before, with effects that newer rows made sure, but TURNING."""
        timing = self.fitting.delay(before.effects, before.lags)
        effects = self._beside(timing, before.lags)
        more = set(effects) > set(before.effects) and TURNING not in effects
        return self._complete(timing, replace(before, effects=effects)) if more else before

    def _beside(self, timing: TorqueDelay, lags: bool) -> tuple[Effect, ...]:
        search = self._search(timing)
        least = EffectSearch(search.sums).left_of((TURNING,)) if self.resists else 0.0
        return search.likely(self.variance, within=not lags, least=least)

    def _complete(self, timing: TorqueDelay, result: TrustResult) -> TrustResult:
        return replace(result, search=self._search(timing), windows=self.windows)

    def _search(self, timing: TorqueDelay) -> EffectSearch:
        sums = self.fitting.sums.delayed(timing.value, timing.lag)
        return EffectSearch(sums, self.fitting.known, self.one_robot)


class LastingSlope:
    """Finds a slope once all looks for long enough, or so many windows, have seen it."""

    def __init__(self, forgetting: float, windows: float) -> None:
        forgotten = 1.0 - forgetting
        self._lasting = SLOPE_MEMORIES / forgotten if forgotten > 0.0 else windows
        self._since = math.inf  # windows at the first of all looks that saw it

    def seen(self, fitting: Fitting, windows: float, result: TrustResult) -> bool:
        """Return whether a slope is sure, with so many disjoint windows."""
        sums = fitting.sums.delayed(fitting.delay(result.effects, lags=False).value)
        if EffectSearch(sums, fitting.known).evidence(SLOPE) <= SIGNIFICANT_LIVE_SLOPE:
            self._since = math.inf
            return False
        self._since = min(self._since, windows)
        return windows - self._since >= self._lasting
