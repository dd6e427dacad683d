"""What K5..K8 say about masses, once the wheel radius r and the half track b are known.

From the closed form of (41) of Lages (2017), with M_e the equivalent mass, I_e the equivalent yaw
inertia, m_b the body's mass and d how far its centre of mass lies ahead of the axle:

    K5 = m_b d / M_e    K6 = -m_b d / I_e    K7 = 1 / (r M_e)    K8 = -b / (r I_e)

K5 alone does not give d. But M_e = m_b + 2 m_w + 2 J / r^2 is at least the total mass, so the
centre of mass of the whole robot lies at least K5 ahead of the axle.
"""

from __future__ import annotations

from collections.abc import Sequence

from arc_odometry import WheelGeometry
from diffbot_bringup.report.formatting import supported
from diffbot_bringup.report.quantity import Interval, Quantity
from diffbot_bringup.report.samples import ESTIMATED, UNESTIMATED


def physical_quantities(
    parameters: Sequence[Quantity], geometry: WheelGeometry
) -> dict[str, Quantity]:
    """Equivalent mass M_e (kg) and equivalent yaw inertia I_e (kg m^2) with 95 % intervals.

    Both are monotonic in one parameter, so the interval's ends are mapped exactly; the std is that
    of the linear approximation. The geometry counts as exact.

    Args:
        parameters: K5..K8.
        geometry: wheel radii and track, m.
    """
    _, _, k7, k8 = parameters
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    return {
        "equivalent_mass": _reciprocal("M_e", "kg", k7, 1.0 / radius),
        "equivalent_inertia": _reciprocal("I_e", "kg m²", k8, -geometry.half_track / radius),
    }


def _reciprocal(symbol: str, unit: str, k: Quantity, factor: float) -> Quantity:
    """Factor / k as a quantity; only its positive branch is physical."""

    def positive(x: float | None) -> float | None:
        return factor / x if x is not None and x * factor > 0.0 else None

    value, true = positive(k.value), positive(k.closed_form)
    if value is None or k.std is None:
        return Quantity(symbol, unit, value, None, (None, None), true, _unless_valid(k))
    ends = [positive(end) for end in k.interval95]
    # A larger |k| is a smaller factor / k, so the ends swap unless k itself is negative.
    interval: Interval = (ends[1], ends[0]) if factor > 0.0 else (ends[0], ends[1])
    return Quantity(symbol, unit, value, value * k.std / abs(k.value), interval, true, k.state)


def _unless_valid(k: Quantity) -> str:
    return UNESTIMATED if k.state == ESTIMATED else k.state


def meanings(parameters: Sequence[Quantity], geometry: WheelGeometry | None) -> dict[str, str]:
    """A short plain phrase for each of K5..K8, for example "equivalent mass 5.04 kg".

    Args:
        parameters: K5..K8.
        geometry: wheel radii and track, m; None gives the general meaning only.
    """
    general = {
        "K5": "forward push of turning, m d / M",
        "K6": "turning slowed by driving, -m d / I",
        "K7": "acceleration per torque, 1 / (r M)",
        "K8": "turning per torque, -b / (r I)",
    }
    if geometry is None:
        return general
    physical = physical_quantities(parameters, geometry)
    mass, inertia = physical["equivalent_mass"], physical["equivalent_inertia"]
    found = {
        "K5": _centre_of_mass(parameters[0]),
        "K6": _first_moment(parameters[1], inertia),
        "K7": _phrase("equivalent mass", mass),
        "K8": _phrase("yaw inertia", inertia),
    }
    # Numbers that must not be used yet get no meaning.
    usable = {quantity.symbol for quantity in parameters if quantity.state == ESTIMATED}
    return {
        symbol: (found[symbol] if symbol in usable else "") or phrase
        for symbol, phrase in general.items()
    }


def _phrase(name: str, quantity: Quantity) -> str:
    if quantity.std is None or None in quantity.interval95:
        return ""
    return f"{name} {supported(quantity.value, quantity.std)} {quantity.unit}"


def _centre_of_mass(k5: Quantity) -> str:
    if k5.value is None or k5.std is None:
        return ""
    low, high = k5.interval95
    if low <= 0.0 <= high:
        return "centre of mass near the axle"
    least = 1e3 * min(abs(low), abs(high))
    side = "ahead of" if k5.value > 0.0 else "behind"
    return f"centre of mass > {least:.0f} mm {side} the axle"


def _first_moment(k6: Quantity, inertia: Quantity) -> str:
    if k6.std is None or inertia.std is None:
        return ""
    # The spread of I_e is small against that of K6.
    moment, std = -k6.value * inertia.value, k6.std * inertia.value
    return f"first moment of mass {supported(moment, std)} kg m"
