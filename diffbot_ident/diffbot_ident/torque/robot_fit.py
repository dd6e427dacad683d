# SPDX-License-Identifier: Apache-2.0
"""The estimate of a fit: values, covariance, response to the torques, and what warnings tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import (
    Array,
    Estimate,
    FrictionEstimate,
    Pair,
    Three,
    TurningEstimate,
)
from diffbot_ident.samples.sample_clock import SampleClock
from diffbot_ident.samples.wheel_speeds import TorqueResponse
from diffbot_ident.torque.axis_fit import fit_axes
from diffbot_ident.torque.columns import ACTING_DIFFERENCE, ACTING_SUM, ONE, AxisFit
from diffbot_ident.torque.effect_search import EffectSearch, TrustResult
from diffbot_ident.torque.effects import (
    BREAKAWAY,
    DIRECTION,
    GEAR_LOSS,
    ROUNDING,
    SLOPE,
    TURNING,
    UNEVEN,
    Effect,
    EffectFit,
)
from diffbot_ident.torque.effects.slope import LEAST_SLOPE, floor_slope
from diffbot_ident.torque.effects.stiction import static_friction
from diffbot_ident.torque.effects.unlike_wheels import MOST_UNEVEN, unlike_radii
from diffbot_ident.torque.fitting import Fitting
from diffbot_ident.torque.friction_fit import fuse_friction, fuse_more
from diffbot_ident.torque.judgement import MAX_RELATIVE_STD
from diffbot_ident.torque.learning import Learning
from diffbot_ident.torque.parameter_change import ChangeWatch, ForceDrift
from diffbot_ident.torque.torque_delay import (
    TOO_EARLY,
    TOO_LATE,
    Decimation,
    TorqueDelay,
)

# Friction counts as present beyond so many of its standard deviations.
SIGNIFICANT_FRICTION = 3.0


def _is_significant(values: Sequence[float], variances: Sequence[float]) -> list[float]:
    """Return the values, with 0 for those that may be 0."""
    return [
        value if value > SIGNIFICANT_FRICTION * math.sqrt(variance) else 0.0
        for value, variance in zip(values, variances, strict=True)
    ]


def _known_gain(axis: AxisFit, index: int) -> float:
    gain, variance = float(axis.theta[index]), float(axis.covariance[index, index])
    return gain if variance <= (MAX_RELATIVE_STD * gain) ** 2 else 0.0


def _typical_torque(moments: Array) -> float:
    """Return the root mean square of the wheels' torques, N m; infinite while unknown."""
    power = moments.diagonal()
    lasting = 4.0 * float(power[ONE])
    driven = float(power[ACTING_SUM] + power[ACTING_DIFFERENCE])
    return math.sqrt(driven / lasting) if driven > 0.0 and lasting > 0.0 else math.inf


# Least relative deviation of K5..K8 up to FLOOR_PERIOD (s), for discretisation errors; beyond, it
# grows with the period (K7, K8) or its square (K5, K6).
FLOOR, FLOOR_PERIOD = 2e-4, 0.01
# Largest relative deviation of K5..K8 because wheels differ; beyond, the torque is not what is
# reported, and the warning tells the ratio.
MOST_COMMON = 0.045
# Factor on the intervals from which on a misfit is named.
NOTABLE_MISFIT = 1.5
# Share of the variances of K7 or K8 by rounded torques from which on they are named.
ROUNDED = 0.5


@dataclass(frozen=True)
class RobotFit:
    """Fits of [linear, angular], with what they rest on; drift None: none is likely."""

    axes: tuple[AxisFit, AxisFit]
    fitting: Fitting
    delay: TorqueDelay
    result: TrustResult
    geometry: WheelGeometry
    drift: ForceDrift | None = None

    @cached_property
    def effects(self) -> dict[Effect, EffectFit]:
        """The effects of the fit, in the order of their columns, with their parameters."""
        if not self.result.effects:
            return {}
        moments = self.fitting.sums.moments_at((self.delay.value,), self.delay.lag)
        torque = _typical_torque(moments)
        linear, angular = self.axes
        gains = float(linear.theta[1]), float(angular.theta[1])
        first = [6 + len(each) for each in self.fitting.known]
        results = {}
        for effect in self.result.effects:
            ends = [at + len(own) for at, own in zip(first, effect.columns, strict=True)]
            own = linear.theta[first[0] : ends[0]], angular.theta[first[1] : ends[1]]
            results[effect] = EffectFit(own, gains, torque, self.geometry)
            first = ends
        return results

    def _roughness(self) -> tuple[float, float]:
        """Return the least relative deviation of K5..K8, and the factor on friction's."""
        floor, shares = 0.0, [(effect, 1.0) for effect in self.effects]
        for effect, own in self.effects.items():
            floor = max(floor, effect.floor, effect.least)
            if effect.roughness is not None:
                floor = max(floor, effect.roughness(own))
        if self.result.doubtful is not None:
            effect, fraction = self.result.doubtful
            shares.append((effect, fraction))
            floor = max(floor, fraction * effect.floor)
        factors = (1.0 + fraction * (each.friction_factor - 1.0) for each, fraction in shares)
        return floor, max(factors, default=1.0)

    def response(self, before: TorqueResponse, most_stuck: float) -> TorqueResponse:
        """Return the response to the torques, with 0 for what is too uncertain.

        Rows in which the floor may hold the robot corrupt the estimate for good: an uncertain
        holding moment is above the dry friction, up to `most_stuck`, N m, or as `before`.
        """
        friction, turning = self.frictions()
        k7, k8 = (_known_gain(axis, 1) for axis in self.axes)
        k5, k6 = (_known_gain(axis, 0) for axis in self.axes)
        a, b, c, d = _is_significant(friction.values, friction.variances)
        left, right = _is_significant(friction.gear_loss, friction.gear_variances)
        response = TorqueResponse(
            k7,
            k8,
            self.delay.value,
            (a, b, c, d),
            products=(k5, k6),
            gear_loss=(left, right),
            lag=self.delay.lag,
            stiction=self.stiction(),
            beside=self._beside(),
        )
        if turning is None:
            return response
        if math.isinf(turning.variances[1]):
            return replace(response, turning=before.turning, holding=before.holding)
        viscous, coulomb = _is_significant(turning.values, turning.variances)
        value, deviation = turning.values[1], math.sqrt(turning.variances[1])
        holding = max(value, min(value + 2.0 * deviation, most_stuck))
        return replace(response, turning=(viscous, coulomb), holding=holding)

    def _beside(self) -> tuple[Three, Three]:
        """Return the accelerations beside the torques; see `TorqueResponse`."""
        seen = np.zeros((2, 3))
        for effect, by in ((DIRECTION, slice(1)), (SLOPE, slice(1, 3))):
            if effect in self.effects:
                seen[:, by] = self.effects[effect].own
        (a, b, c), (d, e, f) = seen.tolist()
        return (a, b, c), (d, e, f)

    def frictions(self) -> tuple[FrictionEstimate, TurningEstimate | None]:
        """Return the friction of the wheels, and of the floor where it is part of the fit."""
        if any(self.fitting.known) or GEAR_LOSS in self.result.effects:
            extra = self.fitting.extra(self.result.effects)
            return fuse_more(*self.axes, self.geometry, extra)
        return fuse_friction(*self.axes, self.geometry), None

    def stiction(self) -> Pair:
        """Return the static friction beyond Coulomb's of both wheels, N m; 0 where none is sure."""
        own = self.effects.get(BREAKAWAY)
        return (0.0, 0.0) if own is None else static_friction(own)

    def estimate(self, known: Estimate, period: float, wander: float, bias: float) -> Estimate:
        """Return the estimate of the fit, not judged yet, with what is known beside it.

        `period`: of the regression, s; `wander`: relative deviation of K5..K8 due to the clock;
        `bias`: that of K5 and K6 due to errors of the readings' times.
        """
        linear, angular = self.axes
        values = np.array([linear.theta[0], angular.theta[0], linear.theta[1], angular.theta[1]])
        covariance = np.zeros((4, 4))
        covariance[::2, ::2] = linear.covariance[:2, :2]
        covariance[1::2, 1::2] = angular.covariance[:2, :2]
        rough, friction_factor = self._roughness()
        covariance += np.diag((self._floor(period, rough, wander, bias) * values) ** 2)
        friction, turning = self.frictions()
        difference = self.result.difference
        if UNEVEN in self.effects and abs(difference[0]) < MOST_UNEVEN:
            # Their mean may be wrong by as much.
            both = min(abs(difference[0]), MOST_COMMON)
            friction = friction.of_uneven_wheels(difference[0]).less_certain(both, both)
            extra = self.fitting.extra(self.result.effects)
            radii = min(both, 0.5 * unlike_radii(self.axes, extra, self.geometry.half_track))
            for own, fraction in ((slice(2), radii), (slice(2, 4), both)):
                covariance[own, own] += np.outer(fraction * values[own], fraction * values[own])
        if self.drift is not None:
            gain, viscous, coulomb = self.drift.deviations
            covariance[2:, 2:] += np.diag((gain * values[2:]) ** 2)
            friction = friction.less_certain(math.hypot(gain, viscous), math.hypot(gain, coulomb))
        slope = self.effects.get(SLOPE)
        result = replace(
            known,
            friction=friction.widened(friction_factor),
            turning=None if turning is None else turning.widened(friction_factor),
            torque_difference=difference,
            slope=None if slope is None else floor_slope(slope.own[0]),
        )
        return result.with_values(values, covariance)

    @staticmethod
    def _floor(period: float, rough: float, wander: float, bias: float) -> Array:
        """Return the minimum relative standard deviations of K5..K8, shape (4,)."""
        slow = max(1.0, period / FLOOR_PERIOD)
        floor = np.maximum(FLOOR * np.array([slow**2, slow**2, slow, slow]), rough)
        # Both products of velocities contain the errors of the times.
        floor = np.hypot(floor, wander)
        floor[:2] = np.hypot(floor[:2], bias)
        return floor

    def warnings(
        self,
        estimate: Estimate,
        period: float,
        samples: int,
        *,
        resists: bool,
        change: str | None,
    ) -> list[str]:
        """Return the warnings about delay, change, drift and effects.

        `period` of the regression, s, has so many samples; `resists`: the floor was found to.
        """
        sums = self.fitting.sums.delayed(self.delay.value, self.delay.lag)
        search, effects = EffectSearch(sums, self.fitting.known), self.result.effects
        # What another effect leaves is no lag.
        result = self.delay.warnings(period, samples, search.left_of(effects))
        if change is not None:
            result.append(f"{change}; only what came later is taken into account")
        if self.drift is not None:
            result += self.drift.warnings()
        for effect in search.still_significant(effects):
            size = self._size(effect)
            level = estimate.slope is not None and estimate.slope[0] < LEAST_SLOPE
            if effect.notable(size) and not (effect is SLOPE and level):
                result.append(effect.sentence(estimate, size))
        if (wider := math.sqrt(self.result.misfit)) > NOTABLE_MISFIT:
            result.append(
                "the residuals have a pattern that no known effect explains: the intervals are "
                f"{wider:.2g} times as wide; compare delay, friction and grip of both wheels"
            )
        rounded = self.result.rounding[:, 1] ** 2
        if any(
            more > ROUNDED * own.covariance[1, 1]
            for own, more in zip(self.axes, rounded, strict=True)
        ):
            result.append(ROUNDING.sentence(estimate, None))
        if resists:
            result.append(TURNING.sentence(estimate, None))
        return result

    def _size(self, effect: Effect) -> Pair | None:
        return None if effect.size is None else effect.size(self.effects[effect])


class Estimating:
    """Estimates from fits; `period` of the groups of samples, s; `remembers`: the whole run."""

    def __init__(
        self,
        learning: Learning,
        geometry: WheelGeometry,
        decimation: Decimation,
        period: float,
        clock: SampleClock,
        remembers: bool,
    ) -> None:
        self._learning, self._geometry = learning, geometry
        self._samples, self._period, self._clock = decimation.factor, period, clock
        self._remembers = remembers
        self._timing: TorqueDelay | None = None
        self._fit: RobotFit | None = None

    @property
    def delay(self) -> Pair:
        """Last delay and lag of the torque, periods."""
        return (0.0, 0.0) if self._timing is None else (self._timing.value, self._timing.lag)

    def likely(self, fitting: Fitting, result: TrustResult) -> RobotFit:
        """Return the most likely fit alone, without the uncertainty of delay and effects."""
        delay = self._timing = fitting.delay(result.effects, result.lags)
        sums = fitting.sums.delayed(delay.value, delay.lag)
        axes = fit_axes(sums, fitting.extra(result.effects), fitting.priors)
        return RobotFit(axes, fitting, delay, result, self._geometry)

    def estimate(
        self,
        fitting: Fitting,
        result: TrustResult,
        drift: ForceDrift | None,
        units: ChangeWatch | None,
        samples: int,
        since: float,
    ) -> Estimate:
        """Return the estimate from the rows so far, not judged yet.

        `units`: parts of the run; None: there are none yet; `since`: stamp from which on the robot
        is as estimated, s; NaN: it did not change.
        """
        learning = self._learning
        delay = self._timing = fitting.evident_delay(result.effects, result.lags)
        linear, angular = fitting.axes(delay, result)
        if self._remembers:
            # With forgetting or a prior, intervals that widen for a new load would not be used.
            factors = learning.residuals.variance_factors()
            linear, angular = (
                own.with_covariance(result.misfit * factor * own.covariance)
                for own, factor in zip((linear, angular), factors, strict=True)
            )
            linear, angular = (
                own.added(moved**2)
                for own, moved in zip((linear, angular), result.rounding, strict=True)
            )
        if units is not None:
            extra = fitting.extra(result.effects)
            linear, angular = units.widened((linear, angular), delay.value, extra, delay.lag, drift)
        fit = self._fit = RobotFit((linear, angular), fitting, delay, result, self._geometry, drift)
        span = learning.rows.window * self._period
        known = Estimate(
            samples=samples,
            residual_std=(math.sqrt(linear.variance) / span, math.sqrt(angular.variance) / span),
            residual_correlation=learning.residuals.correlation(),
            coverage=learning.coverage.shares(),
            delay=delay.reported * self._samples if delay.significant else math.nan,
            period=self._period / self._samples,
            since=since,
        )
        return fit.estimate(known, self._period, self._clock.wander, self._clock.bias)

    def beyond_search(self) -> str | None:
        """Return why a torque that acts earlier or later than is searched has no value, or None."""
        timing = self._timing
        if timing is None or not timing.significant:
            return None
        if timing.at_the_end:
            return timing.in_words(self._period, self._samples) + TOO_LATE
        effects = () if self._fit is None else self._fit.result.effects
        if timing.early and not timing.lag and not any(each.like_a_delay for each in effects):
            return TOO_EARLY
        return None

    def warnings(self, estimate: Estimate, resists: bool, change: str | None) -> tuple[str, ...]:
        """Return the warnings about the last estimate; see `RobotFit.warnings`."""
        if self._fit is None:
            return ()
        result = self._fit.warnings(
            estimate, self._period, self._samples, resists=resists, change=change
        )
        return (*result, *self._learning.residuals.warnings())
