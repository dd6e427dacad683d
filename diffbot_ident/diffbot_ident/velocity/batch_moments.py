# SPDX-License-Identifier: Apache-2.0
"""Least squares for each point of a grid of a nonlinear parameter, block by block.

The covariance follows from the disagreement of the blocks (Liang and Zeger, 1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry.number_range import Array

Mask = NDArray[np.bool_]

# Least number of blocks for an estimate, and most that are stored.
LEAST_BATCHES, MOST_BATCHES = 6, 64
# Ridge on scaled moments, for columns that are always 0.
RIDGE = 1e-12


@dataclass(frozen=True)
class GridFit:
    """Least squares at the points of a grid, p columns.

    Attributes:
        best: Point with the least sum of squares.
        coefficients: Coefficients at that point, shape (p,); `covariance`: theirs.
        moments: Moments of all columns there, those of the values last, shape (p + 1, p + 1).
        squares: Sum of squares at each point, shape (points,).
        last: Last coefficient at each point, shape (points,).
        cost: Growth of the sum of squares by the square of an error of that, shape (points,).
        noise: Variance of a residual at the best point.
        colour: How much larger the covariance is than for independent residuals, >= 1.
    """

    best: int
    coefficients: Array
    covariance: Array
    moments: Array
    squares: Array
    last: Array
    cost: Array
    noise: float
    colour: float

    def variance_of(self, slope: Array) -> float:
        """Return the variance of a function of the coefficients with this slope, shape (p,)."""
        return float(slope @ self.covariance @ slope)


class BatchMoments:
    """Moments of blocks at each point of a grid, forgotten with the time constant `memory`, s."""

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self._batches: list[Array] = []
        self._samples = 0.0

    def add(self, rows: Array, seconds: float) -> bool:
        """Add a block of so many seconds; return whether its moments are finite.

        `rows`: columns and values at each point, less their means, shape (points, p + 1, n).
        """
        with np.errstate(over="ignore", invalid="ignore"):
            moments = np.einsum("kin,kjn->kij", rows, rows)
        if not np.isfinite(moments).all():
            return False
        keep = math.exp(-seconds / self._memory)
        self._batches = [keep * batch for batch in self._batches]
        self._batches.append(moments)
        if len(self._batches) > MOST_BATCHES:
            self._batches[:2] = [self._batches[0] + self._batches[1]]
        self._samples = keep * self._samples + rows.shape[2] - 1
        return True

    def fit(self, valid: Callable[[Array], Mask] | None = None) -> GridFit | None:
        """Return the least squares; None: too few blocks, or no point `valid`, (points, p)."""
        if len(self._batches) < LEAST_BATCHES:
            return None
        batches = np.array(self._batches)
        moments = batches.sum(axis=0)
        if not np.all(np.einsum("kii->ki", moments) > 1e-30):
            return None
        p = moments.shape[1] - 1
        free = self._samples - p - len(batches)
        if free < 1.0:
            return None
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", moments[:, :p, :p]), 1e-300))
        scaled = moments[:, :p, :p] / (scale[:, :, None] * scale[:, None, :]) + RIDGE * np.eye(p)
        products = moments[:, :p, p]
        theta = np.linalg.solve(scaled, (products / scale)[:, :, None])[:, :, 0] / scale
        squares = moments[:, p, p] - np.einsum("ki,ki->k", theta, products)
        counts = np.ones(len(squares), bool) if valid is None else valid(theta)
        if not counts.any():
            return None
        best = int(np.argmin(np.where(counts, squares, math.inf)))
        inverses = np.linalg.inv(scaled)
        inverse = inverses[best] / np.outer(scale[best], scale[best])
        noise = max(float(squares[best]), 0.0) / free
        pulls = (batches[:, best, :p, p] - batches[:, best, :p, :p] @ theta[best]) @ inverse
        apart = len(batches) - float(p)
        few = (1.0 + 1.21 / apart) ** 2 * len(batches) / apart
        sandwich, plain = few * pulls.T @ pulls, noise * inverse
        return GridFit(
            best,
            theta[best],
            at_least(sandwich, plain),
            moments[best],
            squares,
            theta[:, -1],
            scale[:, -1] ** 2 / np.maximum(inverses[:, -1, -1], 1e-300),
            noise,
            max(float(np.max(np.diag(sandwich) / np.maximum(np.diag(plain), 1e-300))), 1.0),
        )


def at_least(one: Array, other: Array) -> Array:
    """Return `one`, enlarged so that no coefficient has a smaller variance than in `other`."""
    below, above = np.diag(one), np.diag(other)
    factor = np.sqrt(np.maximum(above / np.maximum(below, 1e-300), 1.0))
    return one if (factor == 1.0).all() else one * np.outer(factor, factor)
