# SPDX-License-Identifier: Apache-2.0
"""Gears that lose a share of the torque: torque sizes times the signs of the wheels' speeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.torque.columns import SIGN_LEFT, SIGN_RIGHT, ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.effects.evidence import SIGNIFICANT, SIGNIFICANT_COLUMN, resisting
from diffbot_ident.torque.estimate import Array, Estimate, Pair
from diffbot_ident.torque.fitted_axis import AxisFit

# Standard deviations by which the loss of a gear may be below 0.
LIKELY_LOSS = 3.0
# Least share of the power of a wheel's torque size, times the sign of its speed, beyond that of a
# constant size: with less, a gear loss cannot be told from Coulomb friction, nor motors that
# saturate from others. Binary torques have 0.
LEAST_VARIED = 0.005
GEAR_LEFT, GEAR_RIGHT = new_columns("gear left", "gear right")
GEAR_COLUMNS: ExtraColumns = ((GEAR_LEFT, GEAR_RIGHT), (GEAR_LEFT, GEAR_RIGHT))


def _fill(steps: Array, motion: StepMotion) -> None:
    rising, falling = motion.signs
    geared = motion.size[:-1] * rising[:-1] + motion.size[1:] * falling[1:]
    steps[:, GEAR_LEFT : GEAR_RIGHT + 1] = geared[motion.at]


def loads_vary(moments: Array) -> bool:
    """Whether the size of each wheel's torque varies enough to tell what depends on it."""
    signs, gears = [SIGN_LEFT, SIGN_RIGHT], [GEAR_LEFT, GEAR_RIGHT]
    both, power = moments[signs, signs] * moments[gears, gears], moments[signs, gears] ** 2
    return bool((both - power > LEAST_VARIED * both).all())


def _evidence(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return by how much the evidence of gear losses, of two numbers >= 0, exceeds its threshold.

    Losses g of the wheels give their columns the parameters -K7 g_l and -K7 g_r in dv/dt,
    -K8 g_l and K8 g_r in domega/dt: two numbers instead of four.
    """
    weight, weighted = np.zeros((2, 2)), np.zeros(2)
    for gain, result, inverse, path in resisting(fits):
        weight += gain**2 * path[:, None] * inverse * path
        weighted += gain * path * (inverse @ result)
    if not (weight.diagonal() > 0.0).all():
        return -math.inf
    losses = np.linalg.pinv(weight) @ weighted
    # A loss below 0 is another effect.
    if (losses * np.sqrt(weight.diagonal()) < -LIKELY_LOSS).any():
        return -math.inf
    return float(losses @ weighted) - SIGNIFICANT - SIGNIFICANT_COLUMN * len(losses)


def _said(estimate: Estimate, size: Pair | None) -> str | None:
    if estimate.friction is None:
        return None
    left, right = (100.0 * loss for loss in estimate.friction.gear_loss)
    return f"left {left:.2g} %, right {right:.2g} %"


GEAR_LOSS = Effect(
    "gear loss",
    GEAR_COLUMNS,
    "gears lose a share of the torque: the estimate takes it into account, and Coulomb friction is "
    "that without load; a robot file describes it by friction.gear_loss",
    _fill,
    evidence=_evidence,
    possible=loads_vary,
    said=_said,
    alike=True,
)
