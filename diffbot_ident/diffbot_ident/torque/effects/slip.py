# SPDX-License-Identifier: Apache-2.0
"""Wheels that slip in proportion to their torque: wheel speeds times torques.

Such a wheel rolls faster than it moves by kappa |w| T, w its speed and T its torque without
friction and what turns the wheel, which the other wheel's torque does as well: a column each.
"""

from __future__ import annotations

import numpy as np

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.samples.series import differences, halves
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, EffectFit, StepMotion
from diffbot_ident.torque.effects.evidence import along_the_torque

# Relative deviation of K5..K8: changes are known for typical tyres only (beyond_the_model.py).
SLIP_FLOOR = 1e-3
# Smallest slip to report, at the typical torque.
LEAST_SLIP = 3e-3
# Gains in the slip by a wheel's own torque, and by the other wheel's.
SLIP_RATES = new_columns("slip left", "slip right", "slip left beside", "slip right beside")
SLIP_LINEAR, SLIP_ANGULAR = new_columns("slip in omega squared", "slip in v omega")


def _fill(steps: Array, motion: StepMotion) -> None:
    speeds, at = motion.wheels.middle, motion.at
    driven = motion.torques - motion.response.friction[:2] * speeds
    drive = driven - motion.dry * np.sign(speeds)
    size = np.abs(speeds)
    slip, beside = size * drive, size * drive[:, ::-1]
    steps[:, SLIP_RATES[0] : SLIP_RATES[-1] + 1] = differences(
        np.concatenate((slip, beside), axis=1)
    )[at]
    steps[:, SLIP_LINEAR : SLIP_ANGULAR + 1] = motion.changed_products(
        halves(speeds)[at], halves(slip)[at]
    )


def _size(effect_fit: EffectFit) -> Pair:
    """Return the slip at the typical torque, as a share of the speed."""
    left, right = (effect_fit.torque * np.abs(effect_fit.of_angles()[0])).tolist()
    return left, right


def _said(estimate: Estimate, size: Pair | None) -> str | None:
    if size is None:
        return None
    return f"left {100.0 * size[0]:.2g} %, right {100.0 * size[1]:.2g} % at the typical torque"


SLIP = Effect(
    "slip",
    ((*SLIP_RATES, SLIP_LINEAR), (*SLIP_RATES, SLIP_ANGULAR)),
    "the wheels slip in proportion to their torque: the estimate takes it into account; lower the "
    "torques, or improve the grip of the wheels",
    _fill,
    least=SLIP_FLOOR,
    evidence=along_the_torque,
    size=_size,
    least_size=LEAST_SLIP,
    said=_said,
    like_a_delay=True,  # it changes the speed with the torque
)
