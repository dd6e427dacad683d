# SPDX-License-Identifier: Apache-2.0
"""A floor that resists turning, as with skid steer: the direction of the yaw rate.

Which rows tell anything depends on it, so the estimator begins again when it is found.
"""

from __future__ import annotations

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.torque.columns import ExtraColumns, new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion

(SIGN_OMEGA,) = new_columns("sign omega")
TURNING_COLUMNS: ExtraColumns = ((), (SIGN_OMEGA,))


def _fill(steps: Array, motion: StepMotion) -> None:
    rising, falling = motion.yaw.sign_integrals()
    steps[:, SIGN_OMEGA] = (rising[:-1] + falling[1:])[motion.at, 0]


def _said(estimate: Estimate, size: Pair | None) -> str | None:
    if estimate.turning is None:
        return None
    viscous, coulomb = estimate.turning.values
    return f"{coulomb:.2g} N m, and {viscous:.2g} N m s/rad times the yaw rate"


TURNING = Effect(
    "turning",
    TURNING_COLUMNS,
    "the floor resists turning, as with skid steer: the estimate takes it into account; describe "
    "the robot by turning in its file",
    _fill,
    said=_said,
)
