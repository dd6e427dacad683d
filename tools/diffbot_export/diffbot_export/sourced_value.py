# SPDX-License-Identifier: Apache-2.0
"""Numbers with unit, 95 % interval and source, which products propagate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_ident.torque.estimate import NORMAL_95


@dataclass(frozen=True)
class SourcedValue:
    """A value of an exported file, with its source.

    Attributes:
        value: Finite.
        unit: "1": dimensionless.
        source: As a text for the user.
        lower, upper: The 95 % interval; None: given, not identified.
        assumed: Whether the value is a rule's guess.
    """

    value: float
    unit: str
    source: str
    lower: float | None = None
    upper: float | None = None
    assumed: bool = False

    @classmethod
    def normal(cls, value: float, std: float, unit: str, source: str) -> SourcedValue:
        """Return an estimate from value and standard deviation, both finite."""
        half = NORMAL_95 * std
        return cls(value, unit, source, value - half, value + half)

    @property
    def low(self) -> float:
        """Lower end of the interval; without one, the value."""
        return self.value if self.lower is None else self.lower

    @property
    def high(self) -> float:
        """Upper end of the interval; without one, the value."""
        return self.value if self.upper is None else self.upper

    @property
    def identified(self) -> bool:
        """Whether it has an interval."""
        return self.lower is not None

    def at_least(self, limit: float) -> SourcedValue:
        """Return value and interval with everything below a limit raised to it."""
        lower, upper = (
            None if end is None else max(end, limit) for end in (self.lower, self.upper)
        )
        return replace(self, value=max(self.value, limit), lower=lower, upper=upper)

    def times(self, factor: float, unit: str, source: str) -> SourcedValue:
        """Return the product with an exact factor > 0."""
        lower, upper = (None if end is None else end * factor for end in (self.lower, self.upper))
        return SourcedValue(self.value * factor, unit, source, lower, upper, self.assumed)

    def text(self) -> str:
        """Return value, interval and unit as text."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.lower is None or self.upper is None:
            return f"{self.value:.6g}{unit} ({'assumed' if self.assumed else 'given'}, no interval)"
        return f"{self.value:.6g} [{self.lower:.6g}, {self.upper:.6g}]{unit}"

    def cited(self) -> str:
        """Return value, interval, unit and source as text."""
        return f"{self.text()}, {self.source}"


def product(
    unit: str, source: str, *factors: tuple[SourcedValue, float], scale: float = 1.0
) -> SourcedValue:
    """Return a product of powers of independent factors, not 0, with a first-order interval."""
    value, down, up = scale, 0.0, 0.0
    for quantity, power in factors:
        if quantity.value == 0.0:
            raise ValueError(f"{quantity.source} = 0: has no logarithm")
        value *= quantity.value**power
        below = power * (quantity.low - quantity.value) / quantity.value
        above = power * (quantity.high - quantity.value) / quantity.value
        down, up = math.hypot(down, min(below, above)), math.hypot(up, max(below, above))
    assumed = any(quantity.assumed for quantity, _ in factors)
    if not any(quantity.identified for quantity, _ in factors):
        return SourcedValue(value, unit, source, assumed=assumed)
    lower, upper = sorted((value * (1.0 - down), value * (1.0 + up)))
    return SourcedValue(value, unit, source, lower, upper, assumed)
