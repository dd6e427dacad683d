# SPDX-License-Identifier: Apache-2.0
"""Numbers within a range: checks of input, whose errors state name, value and limit, and clamps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def check_finite(what: str, **values: float) -> None:
    """Raise a ValueError, which names `what` and the value, for one that is not finite."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check its source")


def check_positive(what: str, **values: float) -> None:
    """Raise a ValueError, which names `what` and the value, for one that is not finite and > 0."""
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{what}: {name} = {value}: must be finite and > 0")


def check_limit(what: str, **values: float) -> None:
    """Raise a ValueError, which names `what` and the value, for one not > 0; infinite: no limit."""
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{what}: {name} = {value}: must be > 0")


def within(value: float, limit: float) -> float:
    """Return the value clamped to +-limit."""
    return max(-limit, min(limit, value))


def within_each(values: Array, low: Array | float, high: Array | float) -> Array:
    """Return the values clamped to [low, high]; on short arrays much faster than np.clip."""
    return np.minimum(np.maximum(values, low), high)
