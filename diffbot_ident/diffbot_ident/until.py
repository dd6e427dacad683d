# SPDX-License-Identifier: Apache-2.0
"""The text of `until`: half widths of intervals at which an excitation ends; no NumPy is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping

TORQUE_EXAMPLE = "K5 5% K6 5% K7 1% K8 1%"
VELOCITY_UNITS = {"time_constant": "%", "gain": "%", "dead_time": "ms"}
VELOCITY_EXAMPLE = "time_constant 2% gain 1% dead_time 10ms"
UNITS = {"%": 0.01, "ms": 0.001}
"""Units of half widths, and their sizes: of the value itself, and s."""


def torque_limits(text: str) -> dict[str, float] | None:
    """Read half widths of K5 to K8, relative to the value, as `_limits`."""
    return _limits(text, dict.fromkeys(("K5", "K6", "K7", "K8"), "%"), TORQUE_EXAMPLE)


def velocity_limits(text: str) -> dict[str, float] | None:
    """Read half widths of an axis's quantities, relative or in s, as `_limits`."""
    return _limits(text, VELOCITY_UNITS, VELOCITY_EXAMPLE)


def _limits(text: str, units: Mapping[str, str], example: str) -> dict[str, float] | None:
    """Read half widths such as `example`; None where the text is empty or "none".

    Args:
        units: Unit of each name that may be asked for.

    Returns:
        By name, in lower case: the half width relative to the value, or in s.

    Raises:
        ValueError: The text does not consist of these names, each with a number > 0 and its unit.
    """
    if text.strip() in ("", "none"):
        return None

    def refused(why: str) -> ValueError:
        return ValueError(f"until = {text!r}: {why}; for example {example!r}")

    spaced = text.replace("=", " ").replace(",", " ")
    for unit in UNITS:
        spaced = spaced.replace(unit, f" {unit} ")
    known = {name.lower(): unit for name, unit in units.items()}
    words, limits = spaced.split(), dict[str, float]()
    while words:
        name, number, given = [*words, "", ""][:3]
        key = name.lower()
        if key not in known or key in limits:
            raise refused(f"{name!r} must be one of {', '.join(units)}, each once")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        unit = known[key]
        if not 0.0 < value < math.inf:
            raise refused(f"{number!r} after {name} must be a number > 0, in {unit}")
        if given != unit:
            raise refused(f"{name} {number} must have the unit {unit}: write {name} {number}{unit}")
        limits[key] = value * UNITS[unit]
        del words[:3]
    return limits or None
