"""Checks of numbers that people give; each message names the number, its limit and its unit."""

from __future__ import annotations

import math

# What a robot has to do with, in SI units; beyond these the arithmetic would run out of numbers.
SMALLEST, LARGEST = 1e-6, 1e6


def _number(name: str, value: object, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} = {value!r}: must be a number in {unit}")
    return float(value)


def zero_or_positive(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is neither 0 nor between SMALLEST and LARGEST.
    """
    number = _number(name, value, unit)
    if math.isfinite(number) and number < 0.0:
        raise ValueError(f"{name} = {number} {unit}: must be finite and >= 0")
    return positive(name, value, unit) if number else 0.0


def finite(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is no number or not finite.
    """
    number = _number(name, value, unit)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} {unit}: must be finite")
    return number


def positive(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is not between SMALLEST and LARGEST.
    """
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} = {number} {unit}: must be finite and > 0")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(
            f"{name} = {number} {unit}: must be between {SMALLEST:g} and {LARGEST:g} {unit}"
        )
    return number
