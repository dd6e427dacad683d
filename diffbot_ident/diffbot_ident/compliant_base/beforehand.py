"""What is known of the parameters before anything moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.compliant_base import parameters as order

Array = NDArray[np.float64]

# By which factor positive parameters may be off, either way.
FACTOR = 2.0
# How far the arm's base may be off, m, and the deviation of products of inertia from zero, kg m^2.
ARM_BASE, PRODUCT = 0.1, 0.05


@dataclass(frozen=True)
class Beforehand:
    """Values to start with.

    Attributes:
        start: shape (22,).
        deviation: how far they may be off, standard deviations, shape (22,).
    """

    start: Array
    deviation: Array


def rough(truth: Array, seed: int, factor: float = FACTOR) -> Beforehand:
    """A rough guess for a simulated base, drawn from the seed.

    Positive parameters are off by up to `factor` either way, evenly in the logarithm, the place of
    the arm's base by up to ARM_BASE along each axis, and products of inertia are taken for zero.
    The deviations are those of these draws.

    Args:
        truth: shape (22,).
        seed: >= 0.
        factor: > 1.

    Raises:
        ValueError: the factor is not above 1.
    """
    if not factor > 1.0:
        raise ValueError(f"factor = {factor}: must be > 1")
    random = np.random.default_rng(seed)
    width = math.log(factor)
    start = truth * np.exp(random.uniform(-width, width, order.SIZE))
    deviation = start * width / math.sqrt(3.0)
    start[order.PRODUCTS], deviation[order.PRODUCTS] = 0.0, PRODUCT
    start[order.ARM_BASE] = truth[order.ARM_BASE] + random.uniform(-ARM_BASE, ARM_BASE, 3)
    deviation[order.ARM_BASE] = ARM_BASE / math.sqrt(3.0)
    return Beforehand(start, deviation)
