# SPDX-License-Identifier: Apache-2.0
"""Evidence of effects, by fits of both axes with their columns.

An effect is accepted once its columns explain more than chance would: Wald's test of both axes
together, with the covariance of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from diffbot_ident.torque.columns import ExtraColumns
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.fitted_axis import AxisFit
from diffbot_ident.torque.symmetric import LEAST, pseudo_inverse

# Wald's statistic beyond which an effect is accepted, and the surplus per column: by chance
# this happens in fewer than one of 10 000 runs.
SIGNIFICANT, SIGNIFICANT_COLUMN = 18.0, 2.0
# Standard deviations by which an extra friction of a wheel may be below 0.
LIKELY_FRICTION = 3.0
# Share of a wheel's effect by which the other one may seem to have its reverse.
OTHER_WHEEL = 0.5


def beyond_chance(fits: Sequence[AxisFit], own: ExtraColumns, variance: float = 1.0) -> float:
    """Return by how much Wald's statistic of an effect's columns exceeds its threshold.

    Args:
        fits: Fits of both axes, whose last columns are those of the effect.
        own: Columns of the effect.
        variance: Factor on the variances of the parameters.
    """
    return statistic(fits, own) / variance - SIGNIFICANT - SIGNIFICANT_COLUMN * sum(map(len, own))


def statistic(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return Wald's statistic of the last columns, over both axes."""
    return sum(_wald(fitted, len(more)) for fitted, more in zip(fits, own, strict=True))


def _wald(fitted: AxisFit, count: int) -> float:
    """Return the squared norm of the last parameters, in standard deviations."""
    if not count:
        return 0.0
    own, spread = fitted.theta[-count:], fitted.covariance[-count:, -count:]
    if count == 1:
        return float(own[0] ** 2 / spread[0, 0]) if spread[0, 0] > 0.0 else 0.0
    if count == 2:
        return _wald_of_two(*own.tolist(), *spread.ravel().tolist())
    scale = np.sqrt(spread.diagonal())
    if not (scale > 0.0).all():
        return 0.0
    scaled = own / scale
    return float(scaled @ pseudo_inverse(spread / (scale[:, None] * scale)) @ scaled)


def _wald_of_two(x: float, y: float, a: float, b: float, _: float, d: float) -> float:
    """Return `_wald` of x and y with the covariance [[a, b], [b, d]].

    Scaled to 1, it has the eigenvalues 1 + r and 1 - r, of the sum and of the difference.
    """
    if not (a > 0.0 and d > 0.0):
        return 0.0
    x, y, r = x / math.sqrt(a), y / math.sqrt(d), b / math.sqrt(a) / math.sqrt(d)
    least = LEAST * (1.0 + abs(r))
    pairs = ((x + y, 1.0 + r), (x - y, 1.0 - r))
    return sum(0.5 * own * own / value for own, value in pairs if abs(value) > least)


def along_the_torque(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return `beyond_chance` of effects that drive both wheels along with their torque."""
    return _driven(fits, own, 1.0)


def against_the_torque(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return `beyond_chance` of effects that drive both wheels against their torque."""
    return _driven(fits, own, -1.0)


def _driven(fits: Sequence[AxisFit], own: ExtraColumns, direction: float) -> float:
    """Return `beyond_chance` of effects along the torque (direction 1) or against it (-1).

    The first two columns are those of the left and of the right wheel. What drives a wheel forward
    moves the robot forward, and the left one turns it to the right. One wheel may have the effect
    alone: the other one may then seem to be driven the other way by what the columns miss of it.
    """
    directions = np.array([direction, direction]), np.array([-direction, direction])
    for fitted, columns, signs in zip(fits, own, directions, strict=True):
        first = len(fitted.theta) - len(columns)
        result = signs * fitted.theta[first:][:2]
        least = -np.sqrt(fitted.covariance.diagonal()[first:][:2])
        if not (result > np.minimum(least, -OTHER_WHEEL * result.max())).all():
            return -math.inf
    return beyond_chance(fits, own)


def of_resistance(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return `beyond_chance` of a column of each axis that resists the motion, or does nothing.

    What stiction leaves of itself looks like a drag that pushes.
    """
    if any(fitted.theta[-1] > math.sqrt(fitted.covariance[-1, -1]) for fitted in fits):
        return -math.inf
    return beyond_chance(fits, own)


def resisting(fits: Sequence[AxisFit]) -> Iterator[tuple[float, Array, Array, Array]]:
    """Yield of each axis the gain of the torque, and of frictions [left, right] the parameters.

    With the inverse of their covariance, which is 0 where the rows do not tell them, and the signs
    of their effects. The last two columns of the fits are those of the frictions.
    """
    directions = np.array([-1.0, -1.0]), np.array([-1.0, 1.0])
    for fitted, direction in zip(fits, directions, strict=True):
        result, spread = fitted.theta[-2:], fitted.covariance[-2:, -2:]
        scale = np.sqrt(np.diag(spread))
        inverse = np.zeros((2, 2))
        if (scale > 0.0).all():
            shape = np.outer(scale, scale)
            inverse = pseudo_inverse(spread / shape) / shape
        yield float(fitted.theta[1]), result, inverse, direction


def of_both_wheels(fits: Sequence[AxisFit]) -> float:
    """Return the equal extra friction of both wheels in its columns, in standard deviations.

    Friction s of each wheel gives its columns the parameters -K7 s and -K7 s in dv/dt, -K8 s and
    K8 s in domega/dt: one number instead of four, and never below 0.
    """
    weight = weighted = 0.0
    for gain, result, inverse, direction in resisting(fits):
        expected = gain * direction
        weight += float(expected @ inverse @ expected)
        weighted += float(expected @ inverse @ result)
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def of_each_wheel(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return by how much the evidence of extra frictions, two numbers >= 0, exceeds its threshold.

    Frictions s of the wheels give their columns the parameters -K7 s_l and -K7 s_r in dv/dt,
    -K8 s_l and K8 s_r in domega/dt: two numbers instead of four.

    Args:
        fits: Fits of both axes, whose last two columns are those of the frictions.
        own: Those columns.
    """
    weight, weighted = np.zeros((2, 2)), np.zeros(2)
    for gain, result, inverse, direction in resisting(fits):
        weight += gain**2 * direction[:, None] * inverse * direction
        weighted += gain * direction * (inverse @ result)
    if not (weight.diagonal() > 0.0).all():
        return -math.inf
    frictions = pseudo_inverse(weight) @ weighted
    # A friction below 0 is another effect.
    if (frictions * np.sqrt(weight.diagonal()) < -LIKELY_FRICTION).any():
        return -math.inf
    return float(frictions @ weighted) - SIGNIFICANT - SIGNIFICANT_COLUMN * len(frictions)
