# SPDX-License-Identifier: Apache-2.0
"""Results of searches within a range: a minimum at an end of it is none.

Unless that end is a limit of the quantity itself (`natural`), such as a dead time of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

# Share of the range within which a value lies at an end.
AT_END = 1e-6


@dataclass(frozen=True)
class BoundedSearch:
    """Result of a search.

        >>> found = BoundedSearch("dead time", 1.0, 0.0, 1.0, natural_low=True)
        >>> found.inside, found.std(0.1)
        (False, inf)

    Attributes:
        natural_low, natural_high: Whether the quantity itself cannot be beyond that end.
        margin: Distance within which the value counts as at an end, such as a step.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str = "s"
    natural_low: bool = False
    natural_high: bool = False
    margin: float = 0.0

    @property
    def inside(self) -> bool:
        """Whether the value is a result: inside the range, or at an end that is natural."""
        return not (self.at_low or self.at_high)

    @property
    def at_low(self) -> bool:
        """Whether the search ended at a lower end that is not natural."""
        return not self.natural_low and not self.value > self.low + self._near

    @property
    def at_high(self) -> bool:
        """Whether the search ended at an upper end that is not natural."""
        return not self.natural_high and not self.value < self.high - self._near

    @property
    def _near(self) -> float:
        # The last but one point of a grid is inside.
        return max(0.999 * self.margin, AT_END * (self.high - self.low))

    def std(self, deviation: float) -> float:
        """Return the standard deviation of the value: as given, or infinite if it is no result."""
        return deviation if self.inside else math.inf

    def __str__(self) -> str:
        end = self.low if self.at_low else self.high
        where = "" if self.inside else f", at the end of the search, {end:.3g} {self.unit}"
        return f"{self.name} {self.value:.3g} {self.unit}{where}"


def search_further(
    search: Callable[[float], T],
    result: Callable[[T], BoundedSearch],
    reach: float,
    most: float,
    factor: float = 2.0,
) -> T:
    """Repeat a search with a longer reach until it ends inside, up to `most`; factor > 1."""
    match = search(reach)
    while result(match).at_high and reach < most:
        reach = min(factor * reach, most) if reach > 0.0 else most
        match = search(reach)
    return match
