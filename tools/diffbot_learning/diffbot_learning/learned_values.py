# SPDX-License-Identifier: Apache-2.0
"""One value from many stretches: a random-effects mean whose interval counts what scatters.

Each stretch i tells x_i with a standard deviation s_i. Between stretches the robot (its load, its
temperature, the floor) differs by an unknown variance tau^2 (DerSimonian and Laird 1986), and older
stretches count less:

    w_i = a^(n - i) / (s_i^2 + tau^2),    x = sum w_i x_i / sum w_i

The variance of x is scaled by the scatter that remains (Hartung and Knapp 2001), moderated with the
scatter that the s_i promise (Smyth 2004) by PRIOR degrees of freedom times the fraction of the
variance that the s_i explain. A defect common to all
stretches does not average out: more than MOST_AVERAGED stretches make an interval no narrower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

# Factor by which a stretch counts less with each that follows.
FORGETTING = 0.95
# Degrees of freedom with which the stretches' own deviations are believed.
PRIOR = 3.0
# Number of stretches of which the errors may be independent.
MOST_AVERAGED = 9.0


@dataclass(frozen=True)
class LearnedValue:
    """A parameter as all stretches tell it.

    Attributes:
        name: As `identify` or `calibrate` names it, with its axis or side.
        value: In `unit`.
        half_width: Half the width of the 95 % interval, in `unit`.
        unit: "1": dimensionless.
        stretches: Number of stretches that told it.
        last: Start of the newest of these, s since 1970.
        coverage: How much of the motions that tell it was driven, 0 to 1.
        more: The motion that would tell more; empty if enough was driven.
        baseline: Value of the first stretches of all; None: not known yet.
    """

    name: str
    value: float
    half_width: float
    unit: str
    stretches: int
    last: float
    coverage: float = 1.0
    more: str = ""
    baseline: float | None = None


class Combined(NamedTuple):
    """Mean, its standard deviation, and half the width of its 95 % interval."""

    value: float
    std: float
    half_width: float


def combine(values: ArrayLike, stds: ArrayLike) -> Combined:
    """Return what stretches tell together; see the module.

    Args:
        values: In the order of time, shape (n,), n >= 1.
        stds: Standard deviations, > 0, shape (n,).

    Raises:
        ValueError: The shapes differ, or a number is not finite, or a deviation not above 0.

    Example:
        >>> mean = combine([2.0, 2.2, 1.9], [0.1, 0.1, 0.1])
        >>> f"{mean.value:.2f} +- {mean.half_width:.2f}"
        '2.03 +- 0.27'
    """
    x, s = np.atleast_1d(np.asarray(values, float)), np.atleast_1d(np.asarray(stds, float))
    if x.shape != s.shape or x.ndim != 1 or not x.size:
        raise ValueError(f"values {x.shape} and stds {s.shape}: must be (n,), n >= 1")
    if not (np.isfinite(x).all() and np.isfinite(s).all() and (s > 0.0).all()):
        raise ValueError("values and stds: must be finite, and the stds above 0")
    count = len(x)
    age = FORGETTING ** np.arange(count - 1, -1, -1)
    whole = s**2 + _between(x, s)
    weights = age / whole
    total = float(weights.sum())
    mean = float(weights @ x) / total
    # With weights that age, the variance of the mean of errors of variance age / weight.
    variance = float(weights @ (age * np.ones(count))) / total**2
    left = float((weights / age) @ (x - mean) ** 2)
    prior = PRIOR * float(np.mean(s**2 / whole))
    freedom = prior + count - 1.0
    variance *= max(1.0, (prior + left) / freedom)
    floor = float(np.median(s)) ** 2 / MOST_AVERAGED
    std = math.sqrt(max(variance, floor))
    return Combined(mean, std, float(scipy.special.stdtrit(freedom, 0.975)) * std)


def _between(x: np.ndarray, s: np.ndarray) -> float:
    """Return DerSimonian and Laird's variance between stretches."""
    w = 1.0 / s**2
    mean = float(w @ x) / float(w.sum())
    excess = float(w @ (x - mean) ** 2) - (len(x) - 1.0)
    size = float(w.sum()) - float(w @ w) / float(w.sum())
    return max(0.0, excess / size) if size > 0.0 else 0.0
