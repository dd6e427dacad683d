"""Checks of numbers that a law is given; each message names the number, its limit and its unit."""

from __future__ import annotations

import math


def check_finite(what: str, **values: float) -> None:
    """Refuse values that are not finite numbers.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check who sends it")


def check_positive(what: str, unbounded: bool = False, **values: float) -> None:
    """Refuse values that are not > 0; infinite ones too, but where `unbounded`.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not value > 0.0 or (math.isinf(value) and not unbounded):
            limit = "> 0" if unbounded else "finite and > 0"
            raise ValueError(f"{what}: {name} = {value}: must be {limit}")
