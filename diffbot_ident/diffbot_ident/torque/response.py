# SPDX-License-Identifier: Apache-2.0
"""What the fits tell about the response to the torques, and so when wheels reverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from diffbot_ident.torque.estimate import Four, FrictionEstimate, Pair, TurningEstimate
from diffbot_ident.torque.fitted_axis import AxisFit
from diffbot_ident.torque.judgement import MAX_RELATIVE_STD
from diffbot_ident.torque.torque_delay import TorqueDelay
from diffbot_ident.torque.wheel_speeds import TorqueResponse

# Friction counts as present beyond so many of its standard deviations.
SIGNIFICANT_FRICTION = 3.0


def known_response(
    axes: tuple[AxisFit, AxisFit],
    delay: TorqueDelay,
    friction: FrictionEstimate,
    stiction: Pair = (0.0, 0.0),
) -> TorqueResponse:
    """Return the response by fits of both axes, with 0 for what is too uncertain."""
    k7, k8 = (_known_gain(axis) for axis in axes)
    k5, k6 = (_known_gain(axis, 0) for axis in axes)
    return TorqueResponse(
        k7,
        k8,
        delay.value,
        _known_friction(friction),
        products=(k5, k6),
        gear_loss=_known_losses(friction),
        lag=delay.lag,
        stiction=stiction,
    )


def with_floor(
    response: TorqueResponse,
    turning: TurningEstimate | None,
    before: TorqueResponse,
    most_stuck: float,
) -> TorqueResponse:
    """Return the response with the estimated floor resistance against turning.

    Rows in which the floor may hold the robot corrupt the estimate for good: while the holding
    moment is uncertain it is above the dry friction, up to `most_stuck`, N m. Unknown: as before.
    """
    if turning is None:
        return response
    if math.isinf(turning.variances[1]):
        return replace(response, turning=before.turning, holding=before.holding)
    viscous, coulomb = _is_significant(turning.values, turning.variances)
    value, deviation = turning.values[1], math.sqrt(turning.variances[1])
    holding = max(value, min(value + 2.0 * deviation, most_stuck))
    return replace(response, turning=(viscous, coulomb), holding=holding)


def _known_friction(friction: FrictionEstimate) -> Four:
    result = _is_significant(friction.values, friction.variances)
    return result[0], result[1], result[2], result[3]


def _known_losses(friction: FrictionEstimate) -> Pair:
    left, right = _is_significant(friction.gear_loss, friction.gear_variances)
    return left, right


def _is_significant(values: Sequence[float], variances: Sequence[float]) -> list[float]:
    return [
        value if value > SIGNIFICANT_FRICTION * math.sqrt(variance) else 0.0
        for value, variance in zip(values, variances, strict=True)
    ]


def _known_gain(axis: AxisFit, index: int = 1) -> float:
    gain, variance = float(axis.theta[index]), float(axis.covariance[index, index])
    return gain if variance <= (MAX_RELATIVE_STD * gain) ** 2 else 0.0
