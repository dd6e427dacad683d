# SPDX-License-Identifier: Apache-2.0
"""Which of the effects are present in the rows, and how sure that is.

A sure effect's columns become part of the fit, and a warning names it. A likely one is averaged in
by its probability (Raftery 1995, by BIC). What a strong effect leaves of itself is a CRUMB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diffbot_ident.estimate import Array, Pair
from diffbot_ident.samples.series import pseudo_inverse
from diffbot_ident.torque.axis_fit import AXES, TINY, batch, fit_axes, fits, joined
from diffbot_ident.torque.columns import NO_COLUMNS, AxisFit, ExtraColumns
from diffbot_ident.torque.effects import EFFECTS, ROUNDING, UNEVEN, WITHIN, Effect
from diffbot_ident.torque.effects.evidence import (
    SIGNIFICANT,
    SIGNIFICANT_COLUMN,
    beyond_chance,
    of_both_wheels,
    statistic,
)
from diffbot_ident.torque.effects.within_period import BENT, bend
from diffbot_ident.torque.sums import RowSums

# Share of the evidence of a stronger effect below which another one is what its columns leave.
CRUMB = 0.05
# Probability at most of that, and of an effect whose parameters no robot has.
MERE_COLUMNS = 0.5
# Standard deviations of chance that a misfit has to exceed to widen intervals.
MISFIT_STDS = 3.0
# Deviations beyond which torques change within a period: a missed one shifts K7 and K8 by as many.
LIKELY_WITHIN = 2.0
# Deviations beyond which equal stiction, or gear loss, of both wheels is assumed; false in one of
# 700 runs.
LIKELY_ALIKE = 3.0
# Minimum relative standard deviation of the difference of the wheels' torque gains.
LEAST_DIFFERENCE = 2e-4
# Least probability worth a second fit.
MIN_PROBABILITY = 0.02


@dataclass(frozen=True)
class TrustResult:
    """What was found beside the model; the rest is computed when an estimate needs it.

    Attributes:
        effects: Effects that are sure, the strongest first.
        lags: Whether motors follow with a lag; `doubtful_lag`: probability of one not assumed.
        search: Search in the rows of the last look; None before there was one.
        windows: Number of disjoint windows in these rows.
    """

    effects: tuple[Effect, ...] = ()
    lags: bool = False
    doubtful_lag: float = 0.0
    search: EffectSearch | None = None
    windows: float = 0.0

    def alone(self) -> TrustResult:
        """Return this without any effect but a lag."""
        return TrustResult(lags=self.lags, doubtful_lag=self.doubtful_lag)

    @cached_property
    def doubtful(self) -> tuple[Effect, float] | None:
        """The most likely further effect, with its probability; see `EffectSearch.doubtful`."""
        return None if self.search is None else self.search.doubtful(self.effects, self.windows)

    @cached_property
    def difference(self) -> Pair:
        """`torque_difference` and its standard deviation."""
        if self.search is None:
            return math.nan, math.inf
        value, std = self.search.torque_difference(self.effects)
        return value, math.hypot(std, LEAST_DIFFERENCE)

    @cached_property
    def misfit(self) -> float:
        """Factor on the variances of the parameters; see `EffectSearch.misfit`."""
        return 1.0 if self.search is None else self.search.misfit(self.effects)

    @cached_property
    def rounding(self) -> Array:
        """What rounded torques may change; see `EffectSearch.rounding`."""
        return np.zeros((2, 6)) if self.search is None else self.search.rounding(self.effects)


@dataclass(frozen=True)
class EffectSearch:
    """Tests which effects are present in the sums of one delay, beside known columns."""

    sums: RowSums
    known: ExtraColumns = NO_COLUMNS
    one_robot: bool = True

    def likely(
        self, variance: float = 1.0, *, within: bool = True, least: float = 0.0
    ) -> tuple[Effect, ...]:
        """Return the effects that are present, the strongest first, and WITHIN last.

        `variance`: factor by correlated errors, for what happens once per turn; `within`: whether
        torques may change in a period; `least`: evidence up to which something may be a crumb.
        """
        effects = self._is_significant_band(variance, least)
        if not within:
            return effects
        bent = bend(fit_axes(self.sums, joined(self.with_known(effects), BENT)))
        return (*effects, WITHIN) if bent > LIKELY_WITHIN else effects

    def with_known(self, effects: Sequence[Effect]) -> ExtraColumns:
        """Return the known columns and those of the effects."""
        return joined(self.known, *(each.columns for each in effects))

    def _fits(
        self, effects: Sequence[Effect], beside: Sequence[Sequence[Effect]]
    ) -> dict[Effect, list[AxisFit]]:
        if not effects:
            return {}
        sets = tuple(
            joined(self.with_known(others), each.columns)
            for each, others in zip(effects, beside, strict=True)
        )
        result = fits(self.sums, sets)
        return {each: result[2 * i : 2 * i + 2] for i, each in enumerate(effects)}

    def _possible(self) -> list[Effect]:
        """Return the effects that the motion can tell and that are not known."""
        known = {*self.known[0], *self.known[1]}
        return [
            each
            for each in EFFECTS
            if (self.one_robot or not each.one_robot)
            and not known & {*each.columns[0], *each.columns[1]}
            and each.possible(self.sums.moments)
        ]

    def _is_significant_band(self, variance: float, least: float) -> tuple[Effect, ...]:
        effects: tuple[Effect, ...] = ()
        possible = self._possible()
        # No effect alone explains more than all of them together.
        every = joined(*(each.columns for each in possible))
        together = fit_axes(self.sums, joined(self.known, every))
        if statistic(together, every) < SIGNIFICANT + 2.0 * SIGNIFICANT_COLUMN:
            return effects
        while len(effects) < len(possible):
            left = [each for each in possible if each not in effects]
            evidence = {
                each: beyond_chance(fitted, each.columns, variance)
                if each.once_per_turn
                else each.evidence(fitted, each.columns)
                for each, fitted in self._fits(left, [effects] * len(left)).items()
            }
            best = max(evidence, key=lambda each: evidence[each])
            if evidence[best] <= least:
                break
            least = max(least, CRUMB * evidence[best])
            effects = (*effects, best)
        return effects

    def _without_each(self, effects: Sequence[Effect]) -> dict[Effect, list[AxisFit]]:
        others = [[other for other in effects if other is not each] for each in effects]
        return self._fits(effects, others)

    def evidence(self, effect: Effect) -> float:
        """Return the evidence of an effect alone, beyond its threshold."""
        return effect.evidence(fit_axes(self.sums, self.with_known((effect,))), effect.columns)

    def left_of(self, effects: Sequence[Effect]) -> float:
        """Return up to which evidence something may be a crumb of the effects of a fit."""
        fitted = self._without_each(effects).items()
        return CRUMB * max((statistic(own, each.columns) for each, own in fitted), default=0.0)

    def still_significant(self, effects: Sequence[Effect]) -> tuple[Effect, ...]:
        """Return the effects found in earlier rows that are still sure with all rows so far."""
        fitted = self._without_each(effects).items()
        return tuple(each for each, own in fitted if each.evidence(own, each.columns) > 0.0)

    def doubtful(self, effects: Sequence[Effect], windows: float) -> tuple[Effect, float] | None:
        """Return the most likely further effect, with its probability; None if none is likely."""
        best: tuple[Effect, float] | None = None
        least = self.left_of(effects)
        left = [each for each in self._possible() if each not in effects]
        for each, fitted in self._fits(left, [effects] * len(left)).items():
            evidence = statistic(fitted, each.columns)
            gain = evidence - sum(map(len, each.columns)) * math.log(windows)
            if each.alike:
                excess = of_both_wheels(fitted)
                if excess > LIKELY_ALIKE:
                    gain = max(gain, excess**2 - math.log(windows))
            fraction = probability(gain)
            if evidence <= least or each.evidence(fitted, each.columns) == -math.inf:
                beyond = beyond_chance(fitted, each.columns) > 0.0
                fraction = min(fraction, MERE_COLUMNS) if beyond else 0.0
            if fraction > (best[1] if best else MIN_PROBABILITY):
                best = each, fraction
        return best

    def misfit(self, effects: Sequence[Effect]) -> float:
        """Return by how much more all other effects' columns explain than chance, >= 1.

        Chi squared over its mean: the square of Birge's ratio, for errors of unknown causes.
        """
        others = joined(*(each.columns for each in self._possible() if each not in effects))
        count = len(others[0]) + len(others[1])
        if not count:
            return 1.0
        explained = statistic(fit_axes(self.sums, joined(self.with_known(effects), others)), others)
        return max(1.0, (explained - MISFIT_STDS * math.sqrt(2.0 * count)) / count)

    def rounding(self, effects: Sequence[Effect]) -> Array:
        """Return by how much gains that depend on a torque's size may change theta, (2, 6).

        Of the gain: as much as their seen part; of the others: what this part's columns change.
        """
        result, own = np.zeros((2, 6)), ROUNDING.columns
        if not ROUNDING.possible(self.sums.moments):
            return result
        known = self.with_known(effects)
        seen = fit_axes(self.sums, joined(known, own))
        count = sum(map(len, own))
        chance = count + MISFIT_STDS * math.sqrt(2.0 * count)
        chance = max(chance, self.left_of(effects))
        explained = statistic(seen, own)
        if not explained > chance:
            return result
        fraction, alone = 1.0 - chance / explained, fit_axes(self.sums, known)
        for i, axis in enumerate(AXES):
            new = len(alone[i].theta)
            result[i] = seen[i].theta[:6] - alone[i].theta[:6]
            columns = axis.columns((*known[i], *own[i]))[:-1]
            left = _left(self.sums.moments[batch(columns)], new)
            size, power = seen[i].theta[new:], self.sums.moments[columns[1], columns[1]]
            result[i, 1] = math.sqrt(max(float(size @ left @ size), 0.0) / max(power, TINY))
        return math.sqrt(fraction) * result

    def torque_difference(self, effects: Sequence[Effect]) -> Pair:
        """Return s = (g_r - g_l) / (g_r + g_l) and its deviation; (nan, inf) if unknown.

        g are the gains of each wheel's reported torque in dv/dt and domega/dt; unequal radii
        contribute as well.
        """
        others = [each for each in effects if each is not UNEVEN]
        weight = weighted = 0.0
        fitted = fit_axes(self.sums, joined(self.with_known(others), UNEVEN.columns))
        for axis, own in zip(fitted, UNEVEN.columns, strict=True):
            gain, cross = float(axis.theta[1]), float(axis.theta[-len(own)])
            variance = float(axis.covariance[-len(own), -len(own)])
            if gain != 0.0 and variance > 0.0:
                weight += gain**2 / variance
                weighted += gain * cross / variance
        if weight <= 0.0:
            return math.nan, math.inf
        return -weighted / weight, 1.0 / math.sqrt(weight)


def _left(moments: Array, count: int) -> Array:
    """Return moments of the columns from `count` on, without what those before explain."""
    scale = np.sqrt(np.maximum(moments.diagonal(), TINY))
    scaled = moments / (scale[:, None] * scale)
    known, both = pseudo_inverse(scaled[:count, :count]), scaled[:count, count:]
    left: Array = scaled[count:, count:] - both.T @ known @ both
    return left * scale[count:, None] * scale[count:]


def probability(gain: float) -> float:
    """Return the probability of an effect by its gain in the information criterion BIC."""
    return 1.0 / (1.0 + math.exp(-0.5 * min(max(gain, -99.0), 99.0)))
