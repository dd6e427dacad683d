# SPDX-License-Identifier: Apache-2.0
"""Torques whose gain depends on their size, as of a driver that rounds them: their cubes.

Errors that are a function of the torque have, by chance, about as much power in one function of it
as in another. What is seen of them beyond a scale, by the torques times their sizes and their
cubes, is therefore what has to be expected of the scale, which nothing tells.
"""

from __future__ import annotations

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import halves
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.effects.gear_loss import loads_vary
from diffbot_ident.torque.effects.saturation import LARGE_LEFT, LARGE_RIGHT

CUBE_LEFT, CUBE_RIGHT = new_columns("cube left", "cube right")
_COLUMNS = (LARGE_LEFT, LARGE_RIGHT, CUBE_LEFT, CUBE_RIGHT)


def _fill(steps: Array, motion: StepMotion) -> None:
    cubes = motion.torques**3 * motion.period[:, None]
    steps[:, CUBE_LEFT : CUBE_RIGHT + 1] = halves(cubes)[motion.at]


ROUNDING = Effect(
    "rounding",
    (_COLUMNS, _COLUMNS),
    "torques of different sizes have different gains, as of a driver that rounds them: K7 and K8 "
    "may be wrong by as much, which the intervals include; report measured torques",
    _fill,
    possible=loads_vary,
)
