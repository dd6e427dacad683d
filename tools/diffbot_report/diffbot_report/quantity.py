# SPDX-License-Identifier: Apache-2.0
"""A number with its unit, uncertainty and true value; as numbers and as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffbot_description import RobotModel
from diffbot_description.files import finite
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState, FrictionEstimate
from diffbot_ident.interpretation.physical import (
    PhysicalQuantity,
    turning_quantities,
)
from diffbot_ident.interpretation.physical import friction_quantities as identified_friction
from diffbot_ident.interpretation.physical import physical_quantities as identified_quantities
from diffbot_ident.interpretation.physical import smallest_torque as identified_smallest_torque
from diffbot_report.controller_topics import TORQUE

UNITS = dict(zip(TORQUE.parameters, TORQUE.parameter_units, strict=True))

NOT_IDENTIFIABLE = "not identifiable"

Interval = tuple[float | None, float | None]
UNBOUNDED: Interval = (None, None)


@dataclass(frozen=True)
class Quantity:
    """An identified quantity, for example with the symbol "K7".

    Attributes:
        value: The estimate; None if there is none.
        std: Standard deviation, in the unit; None if not identifiable.
        interval95: [lo, hi]; None for an unbounded end.
        closed_form: True value if a simulator provides it.
        reason: Why the state is not ESTIMATED; may be empty.
    """

    symbol: str
    unit: str
    value: float | None
    std: float | None
    interval95: Interval
    closed_form: float | None = None
    state: EstimateState = EstimateState.ESTIMATED
    reason: str = ""

    def entry(self) -> dict[str, Any]:
        """Return the entry for summary.json."""
        return {
            "value": self.value,
            "std": self.std,
            "interval95": list(self.interval95),
            "closed_form": self.closed_form,
            "state": self.state.name.lower(),
            "reason": self.reason,
            "unit": self.unit,
        }

    @property
    def lack(self) -> str:
        """Why it may not be used, in a word or two; empty if it has an interval."""
        if self.state is EstimateState.INVALID:
            return "invalid"
        return NOT_IDENTIFIABLE if self.std is None else ""

    @property
    def lack_in_full(self) -> str:
        """Why it may not be used, with the reason; empty if it has an interval."""
        return f"{self.lack}: {self.reason or 'no finite variance'}" if self.lack else ""

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval; None if unbounded."""
        low, high = self.interval95
        return None if low is None or high is None else 0.5 * (high - low)

    @property
    def error_percent(self) -> float | None:
        """100 (value - closed_form) / |closed_form|; None if unknown."""
        if self.value is None or not self.closed_form:
            return None
        return 100.0 * (self.value - self.closed_form) / abs(self.closed_form)

    @property
    def error_sigma(self) -> float | None:
        """(value - closed_form) / std; None if unknown."""
        if self.value is None or self.closed_form is None or not self.std:
            return None
        return (self.value - self.closed_form) / self.std


def parameter_quantities(
    estimate: Estimate | None, closed_form: Sequence[float] | None = None
) -> tuple[Quantity, ...]:
    """Return K5..K8 with normal 95 % intervals, and true values; without variance UNESTIMATED."""
    quantities = []
    for i, (symbol, unit) in enumerate(UNITS.items()):
        true = finite(closed_form[i]) if closed_form is not None else None
        if estimate is None:
            unknown = Quantity(symbol, unit, None, None, UNBOUNDED, true, EstimateState.UNESTIMATED)
            quantities.append(unknown)
            continue
        value, variance = finite(estimate.values[i]), estimate.variances[i]
        state, reason = estimate.parameter_states[i], estimate.parameter_reasons[i]
        std, interval = None, UNBOUNDED
        if value is not None and 0.0 <= variance < math.inf:
            std = math.sqrt(variance)
            interval = (value - NORMAL_95 * std, value + NORMAL_95 * std)
        elif state is EstimateState.ESTIMATED:
            state = EstimateState.UNESTIMATED
        quantities.append(Quantity(symbol, unit, value, std, interval, true, state, reason))
    return tuple(quantities)


def physical_quantities(
    estimate: Estimate | None,
    model: RobotModel,
    closed_form: Sequence[float] | None = None,
) -> dict[str, Quantity]:
    """Return masses and inertias with 95 % intervals, by key; empty without an estimate."""
    if estimate is None:
        return {}
    known = [quantity.std is not None for quantity in parameter_quantities(estimate)]
    result = identified_quantities(estimate.values, estimate.covariance, known, model)
    true: dict[str, float | None] = dict.fromkeys(result)
    if closed_form is not None:
        exact = identified_quantities(closed_form, np.zeros((4, 4)), (True,) * 4, model)
        true = {key: finite(quantity.value) for key, quantity in exact.items()}
    return {key: _reported(result[key], estimate.state, true[key]) for key in result}


def friction_quantities(estimate: Estimate | None) -> dict[str, Quantity]:
    """Return friction of wheels and, in turning, of the floor, by key; empty if not modelled."""
    if estimate is None or estimate.friction is None:
        return {}
    result = identified_friction(estimate.friction) | turning_quantities(estimate.turning)
    return {key: _reported(quantity, estimate.state) for key, quantity in result.items()}


def smallest_torque(friction: FrictionEstimate, state: EstimateState) -> Quantity:
    """Return the equal torque of both wheels that just moves the robot."""
    return _reported(identified_smallest_torque(friction), state)


def _reported(
    quantity: PhysicalQuantity, state: EstimateState, true: float | None = None
) -> Quantity:
    std, (low, high) = finite(quantity.std), quantity.interval
    return Quantity(
        quantity.symbol,
        quantity.unit.replace("^2", "²"),
        finite(quantity.value),
        std,
        (finite(low), finite(high)),
        true,
        EstimateState.UNESTIMATED if std is None and state is EstimateState.ESTIMATED else state,
    )


MISSING = "–"
MEANING = "physical meaning"
UNBOUNDED_TEXT = "(−∞, ∞)"


def significant(value: float, digits: int = 3) -> str:
    """Format with this many significant digits, without an exponent for usual magnitudes."""
    if value == 0.0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if not -6 <= decimals <= 9:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, decimals)
    return f"{rounded:.{max(decimals, 0)}f}"


def supported(value: float, std: float) -> str:
    """Format with the digits that the standard deviation supports, two or three."""
    if value == 0.0 or std <= 0.0:
        return significant(value)
    digits = 2 + math.floor(math.log10(abs(value) / (2.0 * std)))
    return significant(value, min(max(digits, 2), 3))


def with_uncertainty(value: float | None, half_width: float | None) -> tuple[str, str]:
    """Return value and half width (two digits) as text, with equal decimals; a dash: missing."""
    if value is None:
        return MISSING, MISSING
    if half_width is None:
        return significant(value, 2), UNBOUNDED_TEXT
    if half_width == 0.0:
        return significant(value, 6), "0"
    decimals = 1 - math.floor(math.log10(half_width))
    most = 6 - math.floor(math.log10(abs(value))) if value else decimals
    if decimals > min(most, 9) or decimals < -6:
        return significant(value, 7), f"{half_width:.1e}"
    decimals = max(decimals, 0)
    return f"{value:.{decimals}f}", f"{half_width:.{decimals}f}"


GENERAL = {
    "K5": "forward push of turning, m d / M",
    "K6": "turning slowed by driving, -m d / I",
    "K7": "acceleration per torque, 1 / (r M)",
    "K8": "turning per torque, -b / (r I)",
}


def meanings(parameters: Sequence[Quantity], physical: Mapping[str, Quantity]) -> dict[str, str]:
    """Return a short phrase for each of K5..K8, for example "equivalent mass 5.04 kg"."""
    phrases = {}
    for quantity in parameters:
        symbol = quantity.symbol
        # Others get the general meaning.
        usable = physical and quantity.state is EstimateState.ESTIMATED and quantity.std is not None
        phrases[symbol] = (_phrase(symbol, physical) if usable else None) or GENERAL[symbol]
    return phrases


def _phrase(symbol: str, physical: Mapping[str, Quantity]) -> str | None:
    """Return the meaning of a usable parameter, or None."""
    if symbol == "K5":
        return _centre_of_mass(physical["com_offset"])
    key, name = {
        "K6": ("first_moment", "first moment of mass"),
        "K7": ("equivalent_mass", "equivalent mass"),
        "K8": ("equivalent_inertia", "yaw inertia"),
    }[symbol]
    quantity = physical[key]
    if quantity.value is None or quantity.std is None or None in quantity.interval95:
        return None
    return f"{name} {supported(quantity.value, quantity.std)} {quantity.unit}"


def _centre_of_mass(offset: Quantity) -> str | None:
    low, high = offset.interval95
    if offset.value is None or offset.std is None or low is None or high is None:
        return None
    if low <= 0.0 <= high:
        return "centre of mass near the axle"
    side = "ahead of" if offset.value > 0.0 else "behind"
    millimetres = supported(1e3 * abs(offset.value), 1e3 * offset.std)
    return f"centre of mass {millimetres} mm {side} the axle"


def quantities(group: Any, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield names, joined by dots, and entries of all quantities."""
    if not isinstance(group, Mapping):
        return
    for name, entry in group.items():
        full = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(entry, Mapping) and "value" in entry:
            yield full, entry
        else:
            yield from quantities(entry, full)


def half_width(entry: Mapping[str, Any]) -> float | None:
    """Return half the width of the 95 % interval."""
    low, high = interval_of(entry)
    if isinstance(low, int | float) and isinstance(high, int | float):
        return 0.5 * (high - low)
    return None


def interval_of(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return both ends of the 95 % interval, as in summary.json."""
    if isinstance(entry.get("interval95"), Sequence) and len(entry["interval95"]) == 2:
        low, high = entry["interval95"]
        return low, high
    return entry.get("lower"), entry.get("upper")
