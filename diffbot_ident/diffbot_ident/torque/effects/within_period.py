# SPDX-License-Identifier: Apache-2.0
"""Torques that change within a period.

A command that acts late by the share a of a period gives it the mean torque a tau_before + (1 - a)
tau. From the middle of one period to that of the next the integral of such means grows by

    (m + m_next) / 2 - c (tau_next - 2 tau + tau_before),    c = a (1 - a) / 2

Second differences of the means approximate that: BENT_SUM for small a, NEXT_BENT_SUM for a near 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import differences
from diffbot_ident.samples.wheel_speeds import SUM_AND_DIFFERENCE
from diffbot_ident.torque.columns import AxisFit, ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion

BENT_SUM, BENT_DIFFERENCE = new_columns("bent sum", "bent difference")
NEXT_BENT_SUM, NEXT_BENT_DIFFERENCE = new_columns("next bent sum", "next bent difference")
# Columns that tell c alone.
BENT: ExtraColumns = ((BENT_SUM,), (BENT_DIFFERENCE,))


def _fill(steps: Array, motion: StepMotion) -> None:
    fine, first = motion.fine, motion.reach + motion.first - 1
    impulse = motion.impulse[first * fine : (first + len(steps) + 3) * fine]
    whole = (impulse @ SUM_AND_DIFFERENCE).reshape(-1, fine, 2).sum(axis=1)
    bent = differences(differences(whole))
    steps[:, BENT_SUM : BENT_DIFFERENCE + 1] = bent[:-1]
    steps[:, NEXT_BENT_SUM : NEXT_BENT_DIFFERENCE + 1] = bent[1:]


def bend(fits: Sequence[AxisFit]) -> float:
    """Return c in its standard deviations, by fits of both axes whose last columns are BENT."""
    weight = weighted = 0.0
    for fitted in fits:
        gain, variance = float(fitted.theta[1]), float(fitted.covariance[-1, -1])
        if variance > 0.0:
            weight += gain**2 / variance
            weighted -= gain * float(fitted.theta[-1]) / variance
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


WITHIN = Effect(
    "within a period",
    ((BENT_SUM, NEXT_BENT_SUM), (BENT_DIFFERENCE, NEXT_BENT_DIFFERENCE)),
    fill=_fill,
    of_torques=True,
)
