"""Declaration of one field of a robot file: its unit, its meaning and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

METADATA_KEY = "quantity"


@dataclass(frozen=True)
class Quantity:
    """What a robot file may hold in one field.

    ``above`` is an exclusive lower limit; ``minimum`` and ``maximum`` are inclusive. The maxima
    are far above any robot that rolls on a floor: they catch millimetres and grams.
    """

    unit: str
    meaning: str
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None

    def violation(self, value: float) -> str | None:
        """Return the limit that ``value`` breaks, in words, or None."""
        if self.above is not None and not value > self.above:
            return f"must be above {self.above:g}"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum:g}"
        return None

    def show(self, value: object) -> str:
        """Return the value with its unit."""
        return f"{value} {self.unit}".rstrip()


def quantity(unit: str, meaning: str, **limits: float) -> Any:
    """Return a dataclass field that carries a `Quantity` (``above``, ``minimum``, ``maximum``)."""
    return field(metadata={METADATA_KEY: Quantity(unit, meaning, **limits)})
