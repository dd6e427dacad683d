# SPDX-License-Identifier: Apache-2.0
"""Fits of both axes, including the uncertainty of the delay and of the effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from diffbot_ident.torque.axis_fit import (
    AxisPrior,
    DelayedResiduals,
    fits,
    joined,
    solutions,
)
from diffbot_ident.torque.columns import ExtraColumns
from diffbot_ident.torque.effect_search import TrustResult
from diffbot_ident.torque.effects import Effect
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.fitted_axis import AxisFit, averaged
from diffbot_ident.torque.lag_evidence import lag_evidence
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import DELAYS, EARLIEST, DelaySearch, TorqueDelay

# Half the distance of delays, and of lags, for the parameters' slopes over them, periods.
STEP = 0.05


class Fitting:
    """Fits of one state of the sums, from `windows` disjoint windows (reduced by forgetting).

    `known` columns are part of each fit; prior knowledge is of both axes or of none.
    """

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
            # Of the mean delay and the lag.
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
