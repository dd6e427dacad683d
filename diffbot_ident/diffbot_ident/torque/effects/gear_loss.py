# SPDX-License-Identifier: Apache-2.0
"""Gears that lose a share of the torque: torque sizes times the signs of the wheels' speeds."""

from __future__ import annotations

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.torque.columns import SIGN_LEFT, SIGN_RIGHT, ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.effects.evidence import of_each_wheel

# Least share of the power of a wheel's torque size beyond that of a constant size, without which a
# gear loss cannot be told from Coulomb friction. Binary torques have 0.
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
    evidence=of_each_wheel,
    possible=loads_vary,
    said=_said,
    alike=True,
)
