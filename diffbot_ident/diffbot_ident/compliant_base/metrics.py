"""How good an excitation is: five measures of the same information, all to be made small.

J0 and J1 are the information about the parameters now and after a foreseen motion, in units of
what was not known beforehand (see information.py, which has the bits).

    sum of bits         -sum_i (1/2) log2(var0_i / var1_i)
    joint bits          -(1/2) log2(det J1 / det J0)                       (D-optimality)
    condition number    log10 of that of A's columns, from J1 without the start's share
    published           sum_i (1 - rho_i + rho_i^2), rho_i = I_i / I_max                   (16)
    published, rising   sum_i (1 - rho_i)^2

I_i is the published mutual information (15) between parameter i and a reading of it by a sensor of
n = 2^I_max states. (16) is smallest at rho = 1/2: beyond half of the bits it prefers less
information. The last measure is the paper's idea, a square that weighs uncertain parameters more,
without this fault.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from diffbot_ident.information import joint_bits, sum_of_bits

Array = NDArray[np.float64]
Metric = Callable[[Array, Array], Array]
"""(J0 of shape (p, p), J1 of shape (k, p, p)) -> cost of k candidates, shape (k,)."""

# I_max = 10 bits, section 6.1.
MOST_BITS = 10
# The sensor of (15) reads from -RANGE to +RANGE deviations beforehand.
RANGE = 3.0


def reading_information(deviation: Array, most_bits: int = MOST_BITS) -> Array:
    """(11), (14) and (15): bits about a parameter in a reading of it, 0 to most_bits.

    The prior is even over n = 2^most_bits states. The reading has a normal error, cut off at the
    range's ends; it is taken in the middle of the range's middle state, as where the parameter lies
    is no merit of an excitation.

    Args:
        deviation: of the estimate, as a share of the range's half, > 0, shape (...).
        most_bits: I_max, >= 1.
    """
    states = 2**most_bits
    edges = np.linspace(-1.0, 1.0, states + 1) - 1.0 / states
    cumulated = ndtr(edges / np.asarray(deviation, dtype=float)[..., None])
    q = np.diff(cumulated, axis=-1) / (cumulated[..., -1:] - cumulated[..., :1])
    return most_bits + xlogy(q, q).sum(axis=-1) / np.log(2.0)


# Evaluating (15) for thousands of candidates takes long; it is a smooth function of one number.
_LOG_DEVIATION = np.linspace(-5.0, 1.0, 601)
_READING = reading_information(10.0**_LOG_DEVIATION)


def shares(information: Array) -> Array:
    """I / I_max of (16) for every parameter, from their information: (..., p, p) -> (..., p)."""
    variances = np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
    position = 0.5 * np.log10(variances) - np.log10(RANGE)
    return np.interp(position, _LOG_DEVIATION, _READING) / MOST_BITS


def lost_bits(now: Array, after: Array) -> Array:
    """Sum of the bits gained about each parameter, with the sign changed."""
    return -sum_of_bits(now, after)


def lost_joint_bits(now: Array, after: Array) -> Array:
    """Joint bits gained, with the sign changed: D-optimality."""
    return -joint_bits(now, after)


def condition_number(_now: Array, after: Array) -> Array:
    """log10 of the condition number of A, its columns in units of the parameters' deviations.

    The start's share, the unit matrix, belongs to no motion. It is taken off but for a trace that
    keeps the number finite while some parameter has not moved anything.
    """
    values = np.linalg.eigvalsh(after)
    least = np.maximum(values[..., 0] - 1.0, 1e-9)
    return 0.5 * np.log10((values[..., -1] - 1.0) / least)


def published(_now: Array, after: Array) -> Array:
    """(16) without its factor 1/2, as printed."""
    rho = shares(after)
    return (1.0 - rho + rho**2).sum(axis=-1)


def published_rising(_now: Array, after: Array) -> Array:
    """(1 - rho)^2 in the place of (16)'s 1 - rho + rho^2."""
    return ((1.0 - shares(after)) ** 2).sum(axis=-1)


METRICS: dict[str, Metric] = {
    "sum of bits": lost_bits,
    "joint bits": lost_joint_bits,
    "condition number": condition_number,
    "published": published,
    "published, rising": published_rising,
}
