# SPDX-License-Identifier: Apache-2.0
"""Casters that drag: the direction of the motion over the floor."""

from __future__ import annotations

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import halves
from diffbot_ident.samples.wheel_speeds import SUM_AND_DIFFERENCE
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.effects.evidence import of_resistance

DRAG_V, DRAG_OMEGA = new_columns("drag v", "drag omega")


def _fill(steps: Array, motion: StepMotion) -> None:
    # In proportion to [v, b omega].
    path = motion.wheels.middle @ (SUM_AND_DIFFERENCE * (1.0, -1.0))
    drag = path / (np.hypot(*path.T)[:, None] + 1e-9) * motion.period[:, None]
    steps[:, DRAG_V : DRAG_OMEGA + 1] = halves(drag)[motion.at]


DRAG = Effect(
    "drag",
    ((DRAG_V,), (DRAG_OMEGA,)),
    "something drags over the floor, such as a caster: the estimate takes it into account; check "
    "the casters, and describe them by contact.caster_friction",
    _fill,
    floor=1.5e-3,
    friction_factor=3.5,
    evidence=of_resistance,
)
