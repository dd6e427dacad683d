# SPDX-License-Identifier: Apache-2.0
"""Motors that give less than is reported: the torques times their sizes."""

from __future__ import annotations

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import halves
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.effects.evidence import against_the_torque
from diffbot_ident.torque.effects.gear_loss import loads_vary

LARGE_LEFT, LARGE_RIGHT = new_columns("large left", "large right")


def _fill(steps: Array, motion: StepMotion) -> None:
    large = motion.torques * np.abs(motion.torques) * motion.period[:, None]
    steps[:, LARGE_LEFT : LARGE_RIGHT + 1] = halves(large)[motion.at]


SATURATION = Effect(
    "saturation",
    ((LARGE_LEFT, LARGE_RIGHT), (LARGE_LEFT, LARGE_RIGHT)),
    "large torques have less effect than reported, as of motors that saturate: lower the torques, "
    "or report measured ones",
    _fill,
    floor=4.5e-3,
    evidence=against_the_torque,
    possible=loads_vary,
    one_robot=True,  # a load that needs larger torques looks like motors that saturate
    refused=True,
)
