"""Checks of numbers that come from outside; each message names the number, its value and limit."""

from __future__ import annotations

import math


def check_finite(what: str, **values: float) -> None:
    """Refuse values that are not finite.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check who sends it")


def check_positive(what: str, **values: float) -> None:
    """Refuse values that are not finite and > 0.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{what}: {name} = {value}: must be finite and > 0")


def check_limit(what: str, **values: float) -> None:
    """Refuse limits that are not > 0; an infinite one is no limit.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{what}: {name} = {value}: must be > 0")
