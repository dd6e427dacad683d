# SPDX-License-Identifier: Apache-2.0
"""Wheels that differ: the other axis's torque and products of velocities.

By (41) of Lages (2017), with a right radius larger than the left by the share delta and odometry
that takes both for r, to first order, S and D the torques' sum and difference:

    dv/dt     = K5 omega^2 + K7 S + delta [(K5 / b - b K6 / 2) v omega + (K7 - b K8) / 2 D]
    domega/dt = K6 v omega + K8 D
                + delta [(b K6 / 2 - K5 / (2 b)) omega^2 + K6 v^2 / (2 b) - (K7 - b K8) / (2 b) S]

A wrongly reported torque, or a centre of mass beside the middle, requires the same columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.samples.series import pseudo_inverse
from diffbot_ident.torque.columns import (
    ACTING_DIFFERENCE,
    ACTING_SUM,
    OMEGA_SQUARED,
    V_OMEGA,
    AxisFit,
    ExtraColumns,
    new_columns,
)
from diffbot_ident.torque.effects.effect import Effect, StepMotion

# Relative difference of the wheels' torque gains from which on one of them has no effect.
MOST_UNEVEN = 1.0
(V_SQUARED,) = new_columns("v squared")


def _fill(steps: Array, motion: StepMotion) -> None:
    steps[:, V_SQUARED] = motion.gap * motion.v_squared


def _said(estimate: Estimate, size: Pair | None) -> str | None:
    difference = estimate.torque_difference[0]
    if not abs(difference) < MOST_UNEVEN:
        return None
    ratio = (1.0 - difference) / (1.0 + difference)
    return (
        f"a torque of the left wheel has {ratio:.4g} times the effect of one of the right wheel; a "
        "scale that both torques, or both radii, have in common stays unseen in K7 and K8"
    )


def unlike_radii(axes: Sequence[AxisFit], extra: ExtraColumns, half_track: float) -> float:
    """Return the root mean square of delta by the products of velocities; infinite: not known.

    `axes`: [linear, angular], with `extra` columns, UNEVEN among them; `half_track`: b, m.
    """
    k5, k6, b = (*(float(fitted.theta[0]) for fitted in axes), half_track)
    # By a delta of 1: of v omega in dv/dt; of omega^2 and v^2 in domega/dt.
    expected = [k5 / b - 0.5 * b * k6], [0.5 * (b * k6 - k5 / b), 0.5 * k6 / b]
    weight = weighted = 0.0
    for fitted, columns, own, unit in zip(axes, extra, UNEVEN.columns, expected, strict=True):
        at = [6 + columns.index(column) for column in own[1:]]
        toward = np.array(unit) @ pseudo_inverse(fitted.covariance[np.ix_(at, at)])
        weight += float(toward @ unit)
        weighted += float(toward @ fitted.theta[at])
    if weight <= 0.0:
        return math.inf
    return math.hypot(weighted / weight, 1.0 / math.sqrt(weight))


UNEVEN = Effect(
    "unlike wheels",
    ((ACTING_DIFFERENCE, V_OMEGA), (ACTING_SUM, OMEGA_SQUARED, V_SQUARED)),
    "the wheels are not alike: their radii or the scales of their torques differ, or the centre of "
    "mass lies beside the middle; the estimate takes it into account; compare the radii (diffbot "
    "calibrate) and the torques of both motors",
    _fill,
    said=_said,
    of_torques=True,
)
