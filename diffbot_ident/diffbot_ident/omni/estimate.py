"""A value with its standard deviation and Student's t intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit


@dataclass(frozen=True)
class Estimate:
    """A value that was estimated.

    Attributes:
        value: in its unit.
        std: its standard deviation, in the same unit, >= 0.
        freedom: degrees of freedom behind the standard deviation, > 0; infinite: it is known.
    """

    value: float
    std: float
    freedom: float = math.inf

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval, by Student's t."""
        return float(stdtrit(self.freedom, 0.975)) * self.std

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return self.value - self.half_width, self.value + self.half_width

    def covers(self, truth: float) -> bool:
        """Whether the 95 % interval holds a value."""
        low, high = self.interval
        return low <= truth <= high

    def scaled(self, factor: Estimate | float) -> Estimate:
        """The product with an independent factor; first-order propagation of both."""
        if not isinstance(factor, Estimate):
            factor = Estimate(factor, 0.0)
        parts = (factor.value * self.std, self.value * factor.std)
        std, freedom = combined(parts, (self.freedom, factor.freedom))
        return Estimate(self.value * factor.value, std, freedom)


def combined(stds: Sequence[float], freedoms: Sequence[float]) -> tuple[float, float]:
    """Standard deviation of a sum of independent errors, and its degrees of freedom.

    The latter by Welch and Satterthwaite: variances squared over degrees of freedom add up.
    """
    squares = np.square(stds)
    total = float(squares.sum())
    share = float(np.sum(squares**2 / np.asarray(freedoms)))
    return math.sqrt(total), total**2 / share if share > 0.0 else math.inf


def mean(values: Sequence[float]) -> Estimate:
    """Mean of repeated experiments, with the spread between them as its only evidence.

    Raises:
        ValueError: there are fewer than two.
    """
    if len(values) < 2:
        raise ValueError(f"{len(values)} values: a mean with an interval needs at least 2")
    std = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), std, len(values) - 1)
