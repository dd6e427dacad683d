"""A number with its unit, its uncertainty and what it should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffbot_bringup.report.samples import ESTIMATED, UNESTIMATED, ParameterSample

# Half width of the 95 % interval of a normal distribution, in standard deviations.
NORMAL_95 = 1.959964

UNITS = {"K5": "m", "K6": "1/m", "K7": "1/(kg m)", "K8": "1/(kg m²)"}

Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class Quantity:
    """An identified quantity.

    Attributes:
        symbol: its name, for example "K7".
        unit: its unit.
        value: the estimate; None when there is none.
        std: standard deviation, in the unit; None when not identifiable.
        interval95: [lo, hi] of the 95 % interval; None for an end that is not bounded.
        closed_form: true value when a simulator knows it, else None.
        state: "estimated", "unestimated" or "invalid".
    """

    symbol: str
    unit: str
    value: float | None
    std: float | None
    interval95: Interval
    closed_form: float | None = None
    state: str = ESTIMATED

    @property
    def error_percent(self) -> float | None:
        """100 (value - closed_form) / |closed_form|; None where unknown."""
        if self.value is None or not self.closed_form:
            return None
        return 100.0 * (self.value - self.closed_form) / abs(self.closed_form)

    @property
    def error_sigma(self) -> float | None:
        """(value - closed_form) / std; None where unknown."""
        if self.value is None or self.closed_form is None or not self.std:
            return None
        return (self.value - self.closed_form) / self.std


def parameter_quantities(
    sample: ParameterSample | None, closed_form: Sequence[float] | None = None
) -> tuple[Quantity, ...]:
    """K5..K8 with their 95 % intervals (normal, value ± 1.96 std).

    A parameter whose variance is not finite and >= 0 is "unestimated" by itself, whatever the
    state of the others.

    Args:
        sample: the estimate; None gives four unestimated quantities.
        closed_form: true [K5, K6, K7, K8], or None where unknown.
    """
    quantities = []
    for i, (symbol, unit) in enumerate(UNITS.items()):
        true = _finite(closed_form[i]) if closed_form is not None else None
        if sample is None:
            quantities.append(Quantity(symbol, unit, None, None, (None, None), true, UNESTIMATED))
            continue
        value, variance = _finite(sample.values[i]), sample.variances[i]
        if value is None or not 0.0 <= variance < math.inf:
            state = UNESTIMATED if sample.state == ESTIMATED else sample.state
            quantities.append(Quantity(symbol, unit, value, None, (None, None), true, state))
            continue
        std = math.sqrt(variance)
        interval = (value - NORMAL_95 * std, value + NORMAL_95 * std)
        quantities.append(Quantity(symbol, unit, value, std, interval, true, sample.state))
    return tuple(quantities)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
