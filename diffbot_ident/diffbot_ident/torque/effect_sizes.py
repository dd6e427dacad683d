# SPDX-License-Identifier: Apache-2.0
"""Sizes of the effects of a fit, and the uncertainty that they add."""

from __future__ import annotations

import math
from collections.abc import Sequence

from arc_odometry import WheelGeometry
from diffbot_ident.torque.columns import ACTING_DIFFERENCE, ACTING_SUM, ONE, ExtraColumns
from diffbot_ident.torque.effect_search import TrustResult
from diffbot_ident.torque.effects import Effect, EffectFit
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.fitted_axis import AxisFit


def effect_fits(
    effects: Sequence[Effect],
    axes: Sequence[AxisFit],
    known: ExtraColumns,
    moments: Array,
    geometry: WheelGeometry,
) -> dict[Effect, EffectFit]:
    """Return the effects of a fit, in the order of their columns, with their parameters.

    Args:
        known: Columns of both axes before those of the effects.
        moments: `RowSums.moments_at` of one delay.
    """
    torque = typical_torque(moments)
    linear, angular = axes
    gains = float(linear.theta[1]), float(angular.theta[1])
    first = [6 + len(each) for each in known]
    results = {}
    for effect in effects:
        ends = [at + len(own) for at, own in zip(first, effect.columns, strict=True)]
        own = linear.theta[first[0] : ends[0]], angular.theta[first[1] : ends[1]]
        results[effect] = EffectFit(own, gains, torque, geometry)
        first = ends
    return results


def typical_torque(moments: Array) -> float:
    """Return the root mean square of the wheels' torques by such moments, N m; inf: unknown."""
    power = moments.diagonal()
    lasting = 4.0 * float(power[ONE])
    driven = float(power[ACTING_SUM] + power[ACTING_DIFFERENCE])
    return math.sqrt(driven / lasting) if driven > 0.0 and lasting > 0.0 else math.inf


def roughness(fitted: dict[Effect, EffectFit], result: TrustResult) -> tuple[float, float]:
    """Return the least relative deviation of K5..K8, and the factor on friction's, by effects."""
    floor, shares = 0.0, [(effect, 1.0) for effect in fitted]
    for effect, own in fitted.items():
        floor = max(floor, effect.floor, effect.least)
        if effect.roughness is not None:
            floor = max(floor, effect.roughness(own))
    if result.doubtful is not None:
        effect, fraction = result.doubtful
        shares.append((effect, fraction))
        floor = max(floor, fraction * effect.floor)
    factors = (1.0 + fraction * (each.friction_factor - 1.0) for each, fraction in shares)
    return floor, max(factors, default=1.0)
