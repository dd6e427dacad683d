# SPDX-License-Identifier: Apache-2.0
"""Friction that is larger forward than backward, or a constant torque: the duration explains it."""

from __future__ import annotations

from diffbot_ident.torque.columns import ONE
from diffbot_ident.torque.effects.effect import Effect

DIRECTION = Effect(
    "direction",
    ((ONE,), (ONE,)),
    "friction differs by direction, or a torque acts that is not reported: the estimate takes it "
    "into account; check the zero of the torques, and gears that run harder one way",
)
