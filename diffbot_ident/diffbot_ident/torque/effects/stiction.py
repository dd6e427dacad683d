# SPDX-License-Identifier: Apache-2.0
"""Static friction and the Stribeck effect: the signs of the wheels' speeds at low speed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.estimate import Array, Pair
from diffbot_ident.samples.wheel_speeds import WheelSpeeds
from diffbot_ident.torque.columns import AxisFit, ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion
from diffbot_ident.torque.effects.evidence import (
    SIGNIFICANT,
    SIGNIFICANT_COLUMN,
    beyond_chance,
    of_both_wheels,
    of_each_wheel,
)

# Relative deviation of K5..K8 per static friction beyond Coulomb's over the typical torque; by twil
# and agv, static friction 1.5 to 2.5 times Coulomb's, 2 to 10 % of the top speed.
STICTION_FLOOR = 0.03
# Smallest static friction beyond Coulomb's to report, as a share of the typical torque.
LEAST_STICTION = 0.05
# Square of a wheel's speed over the slow one beyond which nothing is left.
FASTEST = 50.0
# Gauss's nodes in a period, and their weights.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
AT, WEIGHT = (0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist()
SLOW_LEFT, SLOW_RIGHT = new_columns("slow left", "slow right")


def _fill(steps: Array, motion: StepMotion) -> None:
    rising, falling = slow_integrals(motion.wheels, motion.slow)
    steps[:, SLOW_LEFT : SLOW_RIGHT + 1] = (rising[:-1] + falling[1:])[motion.at]


def slow_integrals(wheels: WheelSpeeds, slow: float) -> tuple[Array, Array]:
    """Return the integrals of sign(w) exp(-(w / slow)^2) over n periods, s, shape (n, 2).

    With the weights of `WheelSpeeds.sign_integrals`; `slow` is in rad/s.
    """
    period, signs = wheels.period[:, None], sum(wheels.sign_integrals())
    turns = wheels.begin * wheels.end < 0.0
    # Share of the period before a wheel reverses.
    before = np.where(turns, 0.5 * (1.0 - np.sign(wheels.end) * signs / period), 0.0)
    begin, end = wheels.begin / slow, wheels.end / slow
    first, early = _means(begin, np.zeros_like(begin))
    last, late = _means(np.where(turns, 0.0, begin), end)
    after = 1.0 - before
    rising = before**2 * early + after * (before * last + after * late)
    return period * rising, period * (before * first + after * last - rising)


def _means(begin: Array, end: Array) -> tuple[Array, Array]:
    """Return means of sign(x) exp(-x^2) for x from begin to end: weight 1, and rising 0 to 1."""
    mean, rising = np.zeros_like(begin), np.zeros_like(begin)
    change = end - begin
    for at, weight in zip(AT, WEIGHT, strict=True):
        square = np.square(begin + at * change)
        there = np.where(square < FASTEST, np.exp(-square), 0.0)
        mean += weight * there
        rising += weight * at * there
    sign = np.sign(begin + end)
    return sign * mean, sign * rising


def _evidence(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return the evidence, beyond its threshold, of friction that grows at low speed.

    Alike wheels have one number, others two, free columns four: fewer need less evidence.
    """
    each, both = of_each_wheel(fits, own), of_both_wheels(fits)
    if not (math.isfinite(each) and both > 0.0):
        return -math.inf
    return max(both**2 - SIGNIFICANT - SIGNIFICANT_COLUMN, each, beyond_chance(fits, own))


def static_friction(effect_fit: EffectFit) -> Pair:
    """Return the static friction of the wheels beyond Coulomb's, N m."""
    left, right = np.maximum(-effect_fit.of_torques()[0], 0.0).tolist()
    return left, right


def _size(effect_fit: EffectFit) -> Pair:
    """Return the same as shares of the typical torque."""
    left, right = static_friction(effect_fit)
    return left / effect_fit.torque, right / effect_fit.torque


def _roughness(effect_fit: EffectFit) -> float:
    excess = -0.5 * float(effect_fit.of_torques().sum())
    return STICTION_FLOOR * max(excess, 0.0) / effect_fit.torque


BREAKAWAY = Effect(
    "stiction",
    ((SLOW_LEFT, SLOW_RIGHT), (SLOW_LEFT, SLOW_RIGHT)),
    "friction differs at low speed (stiction): the estimate holds for wheels that turn; describe "
    "it by friction.static and friction.stribeck_velocity",
    _fill,
    floor=4.5e-3,
    friction_factor=2.5,
    evidence=_evidence,
    roughness=_roughness,
    size=_size,
    least_size=LEAST_STICTION,
    alike=True,
)
