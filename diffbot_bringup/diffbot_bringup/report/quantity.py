"""A number with its unit, its uncertainty and what it should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffbot_bringup.report.samples import ESTIMATED, UNESTIMATED, ParameterSample
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.physical import friction_quantities as identified_friction
from diffbot_ident.physical_quantity import PhysicalQuantity

UNITS = {"K5": "m", "K6": "1/m", "K7": "1/(kg m)", "K8": "1/(kg m²)"}

Interval = tuple[float | None, float | None]
UNBOUNDED: Interval = (None, None)


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
        reason: why the state is not "estimated"; empty when it is, or when nobody said.
    """

    symbol: str
    unit: str
    value: float | None
    std: float | None
    interval95: Interval
    closed_form: float | None = None
    state: str = ESTIMATED
    reason: str = ""

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval; None where it is not bounded."""
        low, high = self.interval95
        return None if low is None or high is None else 0.5 * (high - low)

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
        true = finite(closed_form[i]) if closed_form is not None else None
        if sample is None:
            quantities.append(Quantity(symbol, unit, None, None, UNBOUNDED, true, UNESTIMATED))
            continue
        value, variance, reason = finite(sample.values[i]), sample.variances[i], sample.reasons[i]
        state = sample.state if sample.states is None else sample.states[i]
        named = sample.states is not None and state == UNESTIMATED
        if value is None or named or not 0.0 <= variance < math.inf:
            state = UNESTIMATED if state == ESTIMATED else state
            quantities.append(Quantity(symbol, unit, value, None, UNBOUNDED, true, state, reason))
            continue
        std = math.sqrt(variance)
        interval = (value - NORMAL_95 * std, value + NORMAL_95 * std)
        quantities.append(Quantity(symbol, unit, value, std, interval, true, state, reason))
    return tuple(quantities)


def friction_quantities(sample: ParameterSample | None) -> dict[str, Quantity]:
    """Friction of the wheels, viscous_left to coulomb_right; empty where it is not modelled."""
    if sample is None or sample.friction is None:
        return {}
    found = identified_friction(sample.friction, sample.friction_variances)
    return {key: from_physical(quantity, sample.state) for key, quantity in found.items()}


def from_physical(quantity: PhysicalQuantity, state: str, true: float | None = None) -> Quantity:
    """The quantity for a report; its own state is worse than the set's where it is not fixed."""
    std, (low, high) = finite(quantity.std), quantity.interval
    return Quantity(
        quantity.symbol,
        quantity.unit.replace("^2", "²"),
        finite(quantity.value),
        std,
        (finite(low), finite(high)),
        true,
        UNESTIMATED if std is None and state == ESTIMATED else state,
    )


def finite(value: float) -> float | None:
    """The value, or None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None
