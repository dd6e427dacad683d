"""What K5..K8 say about masses, in numbers and in words; the mathematics is diffbot_ident's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from diffbot_bringup.report.formatting import supported
from diffbot_bringup.report.quantity import Quantity, finite, from_physical, parameter_quantities
from diffbot_bringup.report.samples import ESTIMATED, ParameterSample
from diffbot_description import RobotModel
from diffbot_ident.physical import physical_quantities as identified_quantities

GENERAL = {
    "K5": "forward push of turning, m d / M",
    "K6": "turning slowed by driving, -m d / I",
    "K7": "acceleration per torque, 1 / (r M)",
    "K8": "turning per torque, -b / (r I)",
}


def physical_quantities(
    sample: ParameterSample | None,
    model: RobotModel,
    closed_form: Sequence[float] | None = None,
) -> dict[str, Quantity]:
    """Masses and inertias with 95 % intervals, by key; empty without an estimate.

    Args:
        sample: the estimate.
        model: the robot's description, for its wheels and track.
        closed_form: true [K5, K6, K7, K8], or None where unknown.
    """
    if sample is None:
        return {}
    known = [quantity.std is not None for quantity in parameter_quantities(sample)]
    found = identified_quantities(sample.values, sample.covariance_matrix(), known, model)
    true: dict[str, float | None] = dict.fromkeys(found)
    if closed_form is not None:
        exact = identified_quantities(closed_form, np.zeros((4, 4)), (True,) * 4, model)
        true = {key: finite(quantity.value) for key, quantity in exact.items()}
    return {
        key: from_physical(quantity, sample.state, true[key]) for key, quantity in found.items()
    }


def meanings(parameters: Sequence[Quantity], physical: Mapping[str, Quantity]) -> dict[str, str]:
    """A short plain phrase for each of K5..K8, for example "equivalent mass 5.04 kg".

    Args:
        parameters: K5..K8.
        physical: what follows from them, see physical_quantities; empty gives general meanings.
    """
    phrases = {}
    for quantity in parameters:
        symbol = quantity.symbol
        # Numbers that must not be used yet get no meaning.
        usable = physical and quantity.state == ESTIMATED and quantity.std is not None
        phrases[symbol] = (_phrase(symbol, physical) if usable else "") or GENERAL[symbol]
    return phrases


def _phrase(symbol: str, physical: Mapping[str, Quantity]) -> str:
    if symbol == "K5":
        return _centre_of_mass(physical["com_offset"])
    key, name = {
        "K6": ("first_moment", "first moment of mass"),
        "K7": ("equivalent_mass", "equivalent mass"),
        "K8": ("equivalent_inertia", "yaw inertia"),
    }[symbol]
    quantity = physical[key]
    if quantity.value is None or quantity.std is None or None in quantity.interval95:
        return ""
    return f"{name} {supported(quantity.value, quantity.std)} {quantity.unit}"


def _centre_of_mass(offset: Quantity) -> str:
    low, high = offset.interval95
    if offset.value is None or offset.std is None or low is None or high is None:
        return ""
    if low <= 0.0 <= high:
        return "centre of mass near the axle"
    side = "ahead of" if offset.value > 0.0 else "behind"
    millimetres = supported(1e3 * abs(offset.value), 1e3 * offset.std)
    return f"centre of mass {millimetres} mm {side} the axle"
