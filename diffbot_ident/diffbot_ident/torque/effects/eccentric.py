# SPDX-License-Identifier: Apache-2.0
"""What happens once per turn: encoders off centre, wheels out of round or out of balance.

An encoder off centre reads theta + a sin(theta + phi). A wheel out of round, r (1 + e cos(theta +
phi)), has the same effect with a = -e, and the weight that it lifts varies its torque.
"""

from __future__ import annotations

import numpy as np

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.samples.series import differences
from diffbot_ident.torque.columns import ONE, new_columns
from diffbot_ident.torque.effects.backlash import LEAST_PLAY, in_degrees
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion

# Largest mean direction (a vector of length 1) of a wheel that turns far enough.
MOST_ONE_SIDED = 0.5
# Cosine and sine of each wheel's angle, and their rates.
_SIDES = ("cos left", "cos right", "sin left", "sin right")
OFF_CENTRE = new_columns(*(f"off centre {side}" for side in _SIDES))
OFF_BALANCE = new_columns(*(f"off balance {side}" for side in _SIDES))


def _circle(motion: StepMotion) -> Array:
    return np.concatenate((np.cos(motion.angles), np.sin(motion.angles)), axis=1)


def _fill_rates(steps: Array, motion: StepMotion) -> None:
    """Fill in the gains per step; those expected of the torques have no errors of the outputs."""
    around, first = _circle(motion), motion.first
    period = motion.period[first : first + len(around) - 1]
    result = differences(differences(around) / period[:, None])
    result[:, :2] += around[1:-1, 2:] * motion.unexpected
    result[:, 2:] -= around[1:-1, :2] * motion.unexpected
    steps[:, OFF_CENTRE[0] : OFF_CENTRE[-1] + 1] = result
    steps[:, OFF_BALANCE[0] : OFF_BALANCE[-1] + 1] = motion.gap[:, None] * around[1:-1]


def _turns(moments: Array) -> bool:
    mean = np.hypot(*np.reshape(moments[ONE, OFF_BALANCE[0] : OFF_BALANCE[-1] + 1], (2, 2)))
    return bool((mean < MOST_ONE_SIDED * float(moments[ONE, ONE])).all())


def _angles(effect_fit: EffectFit) -> Pair:
    """Return the amplitudes, rad."""
    left, right = np.hypot(*effect_fit.of_angles()).tolist()
    return left, right


def _torques(effect_fit: EffectFit) -> Pair:
    """Return the amplitudes, N m."""
    left, right = np.hypot(*effect_fit.of_torques()).tolist()
    return left, right


def _in_torques(estimate: Estimate, size: Pair | None) -> str | None:
    return None if size is None else f"left {size[0]:.2g} N m, right {size[1]:.2g} N m"


ECCENTRIC = Effect(
    "eccentric",
    (OFF_CENTRE, OFF_CENTRE),
    "an encoder errs once per turn (eccentric), or a wheel is out of round: the estimate takes it "
    "into account; centre the encoder's disc or magnet, and check that the wheels run true",
    _fill_rates,
    possible=_turns,
    size=_angles,
    least_size=LEAST_PLAY,
    said=in_degrees,
    once_per_turn=True,
)
UNBALANCED = Effect(
    "unbalanced",
    (OFF_BALANCE, OFF_BALANCE),
    "torque varies once per turn of a wheel: the estimate takes it into account; check for a bent "
    "axle and for wheels that are off centre or out of balance",
    possible=_turns,
    size=_torques,
    said=_in_torques,
    once_per_turn=True,
)
