# SPDX-License-Identifier: Apache-2.0
"""Gears that have play: the torques' directions.

The encoder, on the motor, is half of the play ahead of its wheel or behind it, by the direction of
the torque. It is crossed within milliseconds of a reversal, the faster the larger the torque.
"""

from __future__ import annotations

import math

import numpy as np

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.samples.series import differences, halves, moving_sum
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion
from diffbot_ident.torque.effects.evidence import along_the_torque
from diffbot_ident.torque.torque_delay import delayed

# Relative deviation of K5..K8: reversals are known for typical gears only (beyond_the_model.py).
PLAY_FLOOR = 1e-3
# Smallest play to report, rad: three minutes of arc, as of the best gears.
LEAST_PLAY = math.radians(3.0 / 60.0)
# Gains in the side that touches; in one that is new; in that times the torque's size; in one that
# was new before.
PLAY_PLACES = new_columns(
    *(f"play {which} {side}" for which in ("side", "new", "pushed", "before") for side in "lr")
)
# What they change in the products of velocities.
PLAY_LINEAR, PLAY_ANGULAR = new_columns("play in omega squared", "play in v omega")


def _fill(steps: Array, motion: StepMotion) -> None:
    fine, first, response = motion.fine, motion.first, motion.response
    torque = delayed(motion.impulse.T, response.delay * fine, response.lag * fine).T
    side = np.sign(torque)
    turned = np.zeros_like(side)
    turned[1:] = differences(side)
    before = moving_sum(turned, fine)  # in the samples before each, from sample `fine` on
    # At the last sample of each period of the steps, and of two before.
    at = (motion.reach + first - 1 + np.arange(len(steps) + 2)) * fine + fine - 1
    new = turned[at]
    size = np.abs(torque[at]) / motion.sampling
    rates = differences(np.concatenate((side[at], new, new * size, before[at - fine]), axis=1))
    rates /= motion.period[first : first + len(rates), None]
    steps[:, PLAY_PLACES[0] : PLAY_PLACES[-1] + 1] = differences(rates)
    steps[:, PLAY_LINEAR : PLAY_ANGULAR + 1] = motion.changed_products(
        halves(motion.wheels.middle)[motion.at], halves(rates[:, :2])
    )


def _size(effect_fit: EffectFit) -> Pair:
    """Return the play, rad: the side changes from -1/2 of it to 1/2."""
    left, right = (2.0 * np.abs(effect_fit.of_angles()[0])).tolist()
    return left, right


def in_degrees(estimate: Estimate, size: Pair | None) -> str | None:
    """Return angles of the wheels, rad, in words."""
    if size is None:
        return None
    left, right = map(math.degrees, size)
    return f"left {left:.2g}, right {right:.2g} degrees"


BACKLASH = Effect(
    "backlash",
    ((*PLAY_PLACES, PLAY_LINEAR), (*PLAY_PLACES, PLAY_ANGULAR)),
    "gears have backlash between the encoders and the wheels: the estimate takes it into account; "
    "reduce the play, or read the angles at the wheels",
    _fill,
    least=PLAY_FLOOR,
    evidence=along_the_torque,
    size=_size,
    least_size=LEAST_PLAY,
    said=in_degrees,
    like_a_delay=True,  # it changes the speed with the torque
)
