# SPDX-License-Identifier: Apache-2.0
"""Effects outside the model: a module each, with physics, columns, evidence and sentence.

effect_search decides which are present.
"""

from __future__ import annotations

from diffbot_ident.estimate import Array
from diffbot_ident.torque.columns import column_names
from diffbot_ident.torque.effects.backlash import BACKLASH
from diffbot_ident.torque.effects.direction import DIRECTION
from diffbot_ident.torque.effects.drag import DRAG
from diffbot_ident.torque.effects.eccentric import ECCENTRIC, UNBALANCED
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion
from diffbot_ident.torque.effects.gear_loss import GEAR_LOSS
from diffbot_ident.torque.effects.rounding import ROUNDING
from diffbot_ident.torque.effects.saturation import SATURATION
from diffbot_ident.torque.effects.slip import SLIP
from diffbot_ident.torque.effects.slope import SLOPE
from diffbot_ident.torque.effects.stiction import BREAKAWAY
from diffbot_ident.torque.effects.turning import TURNING
from diffbot_ident.torque.effects.unlike_wheels import UNEVEN
from diffbot_ident.torque.effects.within_period import WITHIN

EFFECTS = (
    DIRECTION,
    BREAKAWAY,
    DRAG,
    SLOPE,
    UNEVEN,
    GEAR_LOSS,
    SLIP,
    BACKLASH,
    SATURATION,
    TURNING,
    ECCENTRIC,
    UNBALANCED,
)
"""The effects that are searched and named, in the order in which equally likely ones win."""
# Columns before the torques'; those of the torques' sum and difference, alternating, by delay.
TORQUES = len(column_names())
SUM, DIFFERENCE = slice(TORQUES, None, 2), slice(TORQUES + 1, None, 2)

__all__ = [
    "BACKLASH",
    "BREAKAWAY",
    "DIFFERENCE",
    "DIRECTION",
    "DRAG",
    "ECCENTRIC",
    "EFFECTS",
    "GEAR_LOSS",
    "ROUNDING",
    "SATURATION",
    "SLIP",
    "SLOPE",
    "SUM",
    "TORQUES",
    "TURNING",
    "UNBALANCED",
    "UNEVEN",
    "WITHIN",
    "Effect",
    "EffectFit",
    "StepMotion",
    "fill_columns",
]


def fill_columns(steps: Array, motion: StepMotion) -> None:
    """Fill in the columns of all effects, of m steps, shape (m, columns)."""
    for effect in (*EFFECTS, WITHIN, ROUNDING):
        if effect.fill is not None:
            effect.fill(steps, motion)
