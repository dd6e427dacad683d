# SPDX-License-Identifier: Apache-2.0
"""Static friction and the Stribeck effect: the signs of the wheels' speeds at low speed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.torque.columns import ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion
from diffbot_ident.torque.effects.evidence import (
    SIGNIFICANT,
    SIGNIFICANT_COLUMN,
    beyond_chance,
    of_both_wheels,
    of_each_wheel,
)
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.fitted_axis import AxisFit
from diffbot_ident.torque.series import halves

# Relative standard deviation of K5..K8 per static friction beyond the Coulomb friction, as a share
# of the typical torque: a wheel that it holds moves as no column tells. Determined with twil and
# agv, static friction 1.5 to 2.5 times that of Coulomb, 2 to 10 % of the top speed.
STICTION_FLOOR = 0.03
# Square of a wheel's speed, as a multiple of the one below which friction may differ, beyond which
# nothing of it is left. What a wheel that is never slower would leave is so little that its inverse
# overflows.
FASTEST = 50.0
SLOW_LEFT, SLOW_RIGHT = new_columns("slow left", "slow right")


def _fill(steps: Array, motion: StepMotion) -> None:
    speed, period = motion.wheels.middle, motion.period[:, None]
    fraction = np.square(speed / motion.slow)
    slow = np.sign(speed) * np.where(fraction < FASTEST, np.exp(-fraction), 0.0) * period
    steps[:, SLOW_LEFT : SLOW_RIGHT + 1] = halves(slow)[motion.at]


def _evidence(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return by how much the evidence of friction that grows at low speed exceeds its threshold.

    It is one number if both wheels are alike, two if they are not, and four columns as the columns
    describe it only roughly: fewer numbers need less evidence.
    """
    each, both = of_each_wheel(fits, own), of_both_wheels(fits)
    if not (math.isfinite(each) and both > 0.0):
        # Friction that falls at low speed is another effect.
        return -math.inf
    return max(both**2 - SIGNIFICANT - SIGNIFICANT_COLUMN, each, beyond_chance(fits, own))


def _roughness(effect_fit: EffectFit) -> float:
    """Return the roughness of a breakaway torque: static less Coulomb friction, of both wheels."""
    (left, right), (turn_left, turn_right) = effect_fit.own
    k7, k8 = effect_fit.gains
    excess = -0.25 * ((left + right) / k7 + (turn_left - turn_right) / k8)
    return STICTION_FLOOR * max(float(excess), 0.0) / effect_fit.torque


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
    alike=True,
)
