# SPDX-License-Identifier: Apache-2.0
"""The estimate of a fit: its values, their covariance, and what its warnings tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.torque.effect_search import EffectSearch, TrustResult
from diffbot_ident.torque.effect_sizes import effect_fits, roughness
from diffbot_ident.torque.effects import (
    BREAKAWAY,
    GEAR_LOSS,
    SLOPE,
    TURNING,
    UNEVEN,
    Effect,
    EffectFit,
)
from diffbot_ident.torque.effects.slope import LEAST_SLOPE, floor_slope
from diffbot_ident.torque.effects.stiction import static_friction
from diffbot_ident.torque.effects.unlike_wheels import MOST_UNEVEN, unlike_radii
from diffbot_ident.torque.estimate import Array, Estimate, FrictionEstimate, Pair, TurningEstimate
from diffbot_ident.torque.fitted_axis import AxisFit
from diffbot_ident.torque.fitting import Fitting
from diffbot_ident.torque.friction_fit import fuse_friction, fuse_more
from diffbot_ident.torque.parameter_change import ForceDrift
from diffbot_ident.torque.torque_delay import TorqueDelay

# Least relative deviation of K5..K8 up to FLOOR_PERIOD (s), for discretisation errors; beyond, it
# grows with the period (K7, K8) or its square (K5, K6).
FLOOR, FLOOR_PERIOD = 2e-4, 0.01
# Largest relative deviation of K5..K8 because wheels differ; beyond, the torque is not what is
# reported, and the warning tells the ratio.
MOST_COMMON = 0.045
# Factor on the intervals from which on a misfit is named.
NOTABLE_MISFIT = 1.5


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
        """The effects of the fit, with their parameters."""
        if not self.result.effects:
            return {}
        moments = self.fitting.sums.moments_at((self.delay.value,), self.delay.lag)
        return effect_fits(
            self.result.effects, self.axes, self.fitting.known, moments, self.geometry
        )

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
        """Return the estimate of the fit, not judged yet.

        Args:
            known: What the fit itself does not tell.
            period: Period of the regression, s.
            wander: Relative deviation of K5..K8 due to the clock; `bias`: that of K5 and K6 due
                to errors of the readings' times.
        """
        linear, angular = self.axes
        values = np.array([linear.theta[0], angular.theta[0], linear.theta[1], angular.theta[1]])
        covariance = np.zeros((4, 4))
        covariance[::2, ::2] = linear.covariance[:2, :2]
        covariance[1::2, 1::2] = angular.covariance[:2, :2]
        rough, friction_factor = roughness(self.effects, self.result)
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
        if resists:
            result.append(TURNING.sentence(estimate, None))
        return result

    def _size(self, effect: Effect) -> Pair | None:
        return None if effect.size is None else effect.size(self.effects[effect])
