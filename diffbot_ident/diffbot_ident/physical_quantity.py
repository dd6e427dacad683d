"""A derived quantity with its 95 % interval, and how intervals are made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import NORMAL_95

TRANSFORMED = "transformed end points"
DELTA = "linearised (delta method)"
FIELLER = "Fieller"
NONE = "not identifiable"

Interval = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class PhysicalQuantity:
    """A quantity that follows from the identified parameters.

    Attributes:
        symbol: its name in equations.
        unit: its unit.
        value: estimate; NaN when there is none.
        std: standard deviation to first order; infinite when not identifiable.
        interval: [lo, hi] that holds the true value with 95 %; an end is infinite where the data
            do not bound it.
        method: how the interval was made: TRANSFORMED (exact for one monotonic parameter), DELTA,
            FIELLER (exact for the ratio of two normal variables) or NONE.
    """

    symbol: str
    unit: str
    value: float
    std: float
    interval: Interval
    method: str


def normal(symbol: str, unit: str, value: float, variance: float, method: str) -> PhysicalQuantity:
    """A quantity whose estimate is normal: value ± 1.96 standard deviations."""
    if not (math.isfinite(value) and math.isfinite(variance)):
        return nothing(symbol, unit)
    std = math.sqrt(max(variance, 0.0))
    interval = (value - NORMAL_95 * std, value + NORMAL_95 * std)
    return PhysicalQuantity(symbol, unit, value, std, interval, method)


def nothing(symbol: str, unit: str) -> PhysicalQuantity:
    """A quantity that the data do not fix."""
    return PhysicalQuantity(symbol, unit, math.nan, math.inf, EVERYTHING, NONE)


def fieller(
    symbol: str, unit: str, pair: tuple[float, float], spread: tuple[float, float, float]
) -> PhysicalQuantity:
    """The ratio of two normal variables (Fieller, 1954).

    All ratios q with |a - q c| <= 1.96 std(a - q c) belong to it: a quadratic inequality.

    Args:
        symbol: of the ratio.
        unit: of the ratio.
        pair: numerator a and denominator c.
        spread: variance of a, variance of c, covariance.
    """
    a, c = map(np.float64, pair)
    square = NORMAL_95**2
    leading = c * c - square * spread[1]
    ratio = a / c
    variance = (spread[0] - 2.0 * ratio * spread[2] + ratio**2 * spread[1]) / c**2
    if not (np.isfinite(ratio) and np.isfinite(variance)):
        return nothing(symbol, unit)
    std = math.sqrt(max(variance, 0.0))
    if leading <= 0.0:  # The denominator may be 0: nothing bounds the ratio.
        return PhysicalQuantity(symbol, unit, float(ratio), std, EVERYTHING, FIELLER)
    middle = a * c - square * spread[2]
    root = math.sqrt(max(middle**2 - leading * (a * a - square * spread[0]), 0.0))
    interval = (float((middle - root) / leading), float((middle + root) / leading))
    return PhysicalQuantity(symbol, unit, float(ratio), std, interval, FIELLER)
