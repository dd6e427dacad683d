# SPDX-License-Identifier: Apache-2.0
"""Evidence of effects, by fits of both axes with their columns: Wald's test of both together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import LEAST_EIGENVALUE, pseudo_inverse
from diffbot_ident.torque.columns import AxisFit, ExtraColumns

# Wald's statistic beyond which an effect is accepted, plus that per column: by chance in fewer than
# one of 10 000 runs.
SIGNIFICANT, SIGNIFICANT_COLUMN = 18.0, 2.0
# Standard deviations by which an extra friction of a wheel may be below 0.
LIKELY_FRICTION = 3.0
# Deviations up to this stem from rounding, and are no information: their squares overflow.
NO_NOISE = 1e-100
# Share of a wheel's effect by which the other one may seem to have its reverse.
OTHER_WHEEL = 0.5


def beyond_chance(fits: Sequence[AxisFit], own: ExtraColumns, variance: float = 1.0) -> float:
    """Return by how much the statistic exceeds its threshold; `variance` scales the covariance."""
    return statistic(fits, own) / variance - SIGNIFICANT - SIGNIFICANT_COLUMN * sum(map(len, own))


def statistic(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return Wald's statistic of the last columns, over both axes."""
    return sum(_wald(fitted, len(more)) for fitted, more in zip(fits, own, strict=True))


def _wald(fitted: AxisFit, count: int) -> float:
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
    """Return `_wald` of x and y with covariance [[a, b], [b, d]]; eigenvalues 1 + r and 1 - r."""
    if not (a > 0.0 and d > 0.0):
        return 0.0
    x, y, r = x / math.sqrt(a), y / math.sqrt(d), b / math.sqrt(a) / math.sqrt(d)
    least = LEAST_EIGENVALUE * (1.0 + abs(r))
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

    The first two columns are [left, right]; a wheel without it may seem to have its reverse.
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
    """Return `beyond_chance` of a column of each axis, unless it drives, as stiction's rest may."""
    if any(fitted.theta[-1] > math.sqrt(fitted.covariance[-1, -1]) for fitted in fits):
        return -math.inf
    return beyond_chance(fits, own)


def resisting(fits: Sequence[AxisFit]) -> Iterator[tuple[float, Array, Array, Array]]:
    """Yield of each axis: gain, the frictions' theta (the last 2), its information, signs."""
    directions = np.array([-1.0, -1.0]), np.array([-1.0, 1.0])
    for fitted, direction in zip(fits, directions, strict=True):
        result, spread = fitted.theta[-2:], fitted.covariance[-2:, -2:]
        scale = np.sqrt(np.diag(spread))
        inverse = np.zeros((2, 2))
        if (scale > NO_NOISE).all():
            shape = np.outer(scale, scale)
            inverse = pseudo_inverse(spread / shape) / shape
        yield float(fitted.theta[1]), result, inverse, direction


def of_both_wheels(fits: Sequence[AxisFit]) -> float:
    """Return the equal extra friction of both wheels in its columns, in standard deviations.

    Friction s has the parameters -K7 s, -K7 s in dv/dt and -K8 s, K8 s in domega/dt.
    """
    weight = weighted = 0.0
    for gain, result, inverse, direction in resisting(fits):
        expected = gain * direction
        weight += float(expected @ inverse @ expected)
        weighted += float(expected @ inverse @ result)
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def of_each_wheel(fits: Sequence[AxisFit], own: ExtraColumns) -> float:
    """Return the evidence, beyond its threshold, of frictions >= 0; see `of_both_wheels`."""
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
