# SPDX-License-Identifier: Apache-2.0
"""A number with its unit, its 95 % interval and where it comes from, also through products."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_ident.torque.estimate import NORMAL_95


@dataclass(frozen=True)
class SourcedValue:
    """A value that an exported file rests on.

    Attributes:
        value: in the unit; finite.
        unit: "1" for none.
        source: where it comes from, for people.
        lower: end of the 95 % interval; None: a value that was given, not identified.
        upper: as lower.
    """

    value: float
    unit: str
    source: str
    lower: float | None = None
    upper: float | None = None

    @classmethod
    def normal(cls, value: float, std: float, unit: str, source: str) -> SourcedValue:
        """An estimate with its standard deviation, in the unit; finite."""
        half = NORMAL_95 * std
        return cls(value, unit, source, value - half, value + half)

    @property
    def low(self) -> float:
        """Lower end of the interval, or the value where there is none."""
        return self.value if self.lower is None else self.lower

    @property
    def high(self) -> float:
        """Upper end of the interval, or the value where there is none."""
        return self.value if self.upper is None else self.upper

    @property
    def identified(self) -> bool:
        """Whether it has an interval."""
        return self.lower is not None

    def at_least(self, limit: float) -> SourcedValue:
        """Value and interval, none of them below a limit."""
        ends = (None if end is None else max(end, limit) for end in (self.lower, self.upper))
        return SourcedValue(max(self.value, limit), self.unit, self.source, *ends)

    def told(self, source: str) -> SourcedValue:
        """The same number from another source."""
        return replace(self, source=source)

    def text(self) -> str:
        """Value, interval and unit."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.lower is None or self.upper is None:
            return f"{self.value:.6g}{unit} (given, no interval)"
        return f"{self.value:.6g} [{self.lower:.6g}, {self.upper:.6g}]{unit}"


def product(
    unit: str, source: str, *factors: tuple[SourcedValue, float], scale: float = 1.0
) -> SourcedValue:
    """The product of powers of independent quantities, with its interval to first order.

    Args:
        unit: of the result.
        source: of the result.
        factors: quantities, none of them 0, and the power of each.
        scale: exact factor.

    Raises:
        ValueError: a quantity is 0.
    """
    value, down, up = scale, 0.0, 0.0
    for quantity, power in factors:
        if quantity.value == 0.0:
            raise ValueError(f"{quantity.source} = 0: has no logarithm")
        value *= quantity.value**power
        below = power * (quantity.low - quantity.value) / quantity.value
        above = power * (quantity.high - quantity.value) / quantity.value
        down, up = math.hypot(down, min(below, above)), math.hypot(up, max(below, above))
    if not any(quantity.identified for quantity, _ in factors):
        return SourcedValue(value, unit, source)
    ends = sorted((value * (1.0 - down), value * (1.0 + up)))
    return SourcedValue(value, unit, source, *ends)
