# SPDX-License-Identifier: Apache-2.0
"""Checks of the quantities from which references are made; errors state name, value and limit."""

from __future__ import annotations

import math
from numbers import Real

# Range of positive quantities of robots, SI units; outside it, computations could overflow.
SMALLEST, LARGEST = 1e-6, 1e6


def _number(name: str, value: object, unit: str) -> float:
    if type(value) is float:  # nearly always: the check of an abstract class takes longer
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} = {value!r}: must be a number in {unit}")
    return float(value)


def zero_or_positive(name: str, value: object, unit: str) -> float:
    """Return a value that is 0 or positive, as a float, or raise a ValueError."""
    number = _number(name, value, unit)
    if math.isfinite(number) and number < 0.0:
        raise ValueError(f"{name} = {number} {unit}: must be finite and >= 0")
    return positive(name, value, unit) if number else 0.0


def finite(name: str, value: object, unit: str) -> float:
    """Return the value as a float, or raise a ValueError if it is no number or not finite."""
    number = _number(name, value, unit)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} {unit}: must be finite")
    return number


def positive(name: str, value: object, unit: str) -> float:
    """Return a value between SMALLEST and LARGEST as a float, or raise a ValueError."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} = {number} {unit}: must be finite and > 0")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(
            f"{name} = {number} {unit}: must be between {SMALLEST:g} and {LARGEST:g} {unit}"
        )
    return number
