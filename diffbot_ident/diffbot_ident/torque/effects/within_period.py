# SPDX-License-Identifier: Apache-2.0
"""Torques that change within a period.

A command that acts late by the share a of a period gives the period the mean torque
m = a tau_before + (1 - a) tau, which is the reported effort. The integral of the torque, averaged
over the period, is then not m / 2 but smaller by c (tau - tau_before), with c = a (1 - a) / 2. From
the middle of one period to that of the next the integral thus grows, per second, by

    (m + m_next) / 2 - c (tau_next - 2 tau + tau_before)

Neglecting c makes K7 and K8 some tenths of a per cent too large for held commands. The second
difference of the means approximates that of the commands (BENT_SUM) while a is small. Where
commands change at any time of a period, as in a recording at 20 Hz of a robot that is controlled at
100 Hz, that of the means one period later (NEXT_BENT_SUM) is needed as well: for a near 1 it takes
the place of the first one, as the motion seen backward shows. Without it K7 and K8 were 1 to 3 %
too large.

This is no friction and needs no warning: ros2_control's hardware reports the mean torque of a
period in which a new command starts to act.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffbot_ident.torque.columns import ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.fitted_axis import AxisFit
from diffbot_ident.torque.series import differences
from diffbot_ident.torque.wheel_speeds import SUM_AND_DIFFERENCE

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
