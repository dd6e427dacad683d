# SPDX-License-Identifier: Apache-2.0
"""Looks for effects and for a lag, each with what the one before has found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_ident.torque.effect_search import EffectSearch, TrustResult, probability
from diffbot_ident.torque.effects import SLOPE, TURNING, WITHIN, Effect
from diffbot_ident.torque.fitting import Fitting
from diffbot_ident.torque.torque_delay import LIKELY_LAG, TorqueDelay

# Gain at which a lag is as likely as none: most motors lag, and a false lag costs little.
LAG_PRIOR = 3.0
# Most looks at delay, lag and effects.
LOOKS = 3
# Evidence, and memories for which it must last, by which an estimator that forgets finds a slope:
# without its payload a robot seems to be on one for a while.
SIGNIFICANT_LIVE_SLOPE, SLOPE_MEMORIES = 500.0, 3.0


@dataclass(frozen=True)
class EffectLooks:
    """Looks at one state of the sums.

    Attributes:
        windows: Number of disjoint windows.
        variance: Factor on the variances of the parameters due to correlated errors.
        one_robot: Whether all rows are of one robot.
        resists: Whether the floor was found to resist turning.
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
            gain, lags = timing.gain, timing.gain > LIKELY_LAG**2
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
    """Finds a slope once all looks for long enough have seen it; it then stays.

    Args:
        forgetting: Factor on the weight of past data after each window.
        windows: Number of windows for which it must last if nothing is forgotten.
    """

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
