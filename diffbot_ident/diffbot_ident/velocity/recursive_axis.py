# SPDX-License-Identifier: Apache-2.0
"""Recursive least squares of one axis of (3) of Siwek et al. (2023), block by block.

Theory, forgetting and disturbances: docs/theory/velocity_robots.md#online-fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.velocity.causal_rows import SLOWEST, CausalRows
from diffbot_ident.velocity.constant_commands import integral_of_velocity

# Weight of the assumed noise, in samples.
PRIOR_SAMPLES = 20.0
# Factor on the expected mean square beyond which a block is unexplained.
SURPRISE = 4.0
# Samples after which a new load can be detected.
SETTLED_SAMPLES = 500.0
# Distance of a reading from both its neighbours, in deviations, beyond which it is a spike.
SPIKE = 20.0
# Initial deviation of unknown parameters, over the larger of 1 / inertia, drag / inertia.
UNKNOWN = 10.0
# Relative deviation that is added to a and c with a new load.
REOPENED = 0.5
# Largest ratio of period and time constant for which the integrals hold.
COARSE = 0.35


@dataclass(frozen=True)
class AxisBatch:
    """n samples of one axis between two instants.

    Attributes:
        time: Stamps, s, increasing, shape (n,).
        asked: Integral of the acting command from the first sample on, m or rad, shape (n,).
        velocity: Measured velocity, m/s or rad/s, shape (n,).
    """

    time: Array
    asked: Array
    velocity: Array

    @property
    def seconds(self) -> float:
        return float(self.time[-1] - self.time[0])

    @property
    def columns(self) -> Array:
        """Regressors int command and -int v, and v, shape (3, n)."""
        driven = integral_of_velocity(self.time, self.velocity)
        return np.stack((self.asked, -driven, self.velocity))


@dataclass(frozen=True)
class _FilteredRows:
    """Rows of a block, shape (n, 2) and (n,), its duration in s, and the rate of their filter."""

    phi: Array
    y: Array
    seconds: float
    rate: float


def covariance_of_sigma(theta: Array, covariance: Array) -> Array:
    """Return the covariance of [inertia in s, drag], shape (2, 2), from that of [a, c]."""
    a, c = theta
    if a == 0.0:
        return np.full((2, 2), math.inf)
    slope = np.array([[-1.0 / a**2, 0.0], [-c / a**2, 1.0 / a]])
    result: Array = slope @ covariance @ slope.T
    return result


class RecursiveAxis:
    """Estimates (inertia, drag) of one axis.

    Args:
        start: Initial (inertia in s, drag); with no covariance (2, 2) not known.
        noise: Initially assumed standard deviation of the measured velocity.
        memory: Time constant of forgetting, s of excited motion; math.inf: never.
        excitation: Minimum rms of a direction of the regressors in a block, m or rad.
    """

    def __init__(
        self,
        start: tuple[float, float],
        covariance: Array | None,
        noise: float,
        memory: float,
        excitation: float,
    ) -> None:
        inertia, drag = start
        self.theta = np.array([1.0 / inertia, drag / inertia])
        if covariance is None:
            self.p = np.eye(2) * (UNKNOWN * self.theta.max()) ** 2
        else:
            slope = np.array([[-1.0 / inertia**2, 0.0], [-drag / inertia**2, 1.0 / inertia]])
            self.p = slope @ covariance @ slope.T
        self._memory, self._excitation = memory, excitation
        self._assumed_noise = noise
        self._squares, self._products, self._samples = noise**2 * PRIOR_SAMPLES, 0.0, PRIOR_SAMPLES
        self._period = 0.0
        self._causal = CausalRows()
        self._aside: _FilteredRows | None = None
        self.surprises = 0

    @property
    def noise_variance(self) -> float:
        return self._squares / self._samples

    @property
    def period(self) -> float:
        return self._period

    @property
    def too_fast(self) -> bool:
        """Whether the axis changes too much between two samples."""
        return bool(self._period * self.theta[1] > COARSE)

    @property
    def spread(self) -> Array:
        """Covariance of [a, c], (2, 2), by the correlation r of neighbouring residuals."""
        r = min(max(self._products / max(self._squares, 1e-300), 0.0), 0.98)
        result: Array = self.p * ((1.0 + r) / (1.0 - r))
        return result

    def values_of(self, theta: Array) -> tuple[float, float]:
        """Return inertia in s and drag of [a, c]; trapezoids have c = (2 / T) tanh(T / (2 tau))."""
        a, c = theta.tolist()
        if a == 0.0:
            return math.inf, math.inf
        x = 0.5 * self._period * c
        exact = math.atanh(x) / x if 1e-6 < abs(x) < 0.99 else 1.0
        return 1.0 / (a * exact), c / a

    def without_spikes(self, velocity: Array, asked: float) -> Array:
        """Replace velocities, (n,), far outside both neighbours by the median of the three.

        `asked`: range of the commands times the period, m or rad, as quick robots may reverse.
        """
        padded = np.pad(velocity, 1, mode="edge")
        median = np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)
        # A precise sensor may have less.
        noise = max(self._assumed_noise, math.sqrt(self.noise_variance))
        fastest = max(float(self.theta[0]), 0.0) + 2.0 * math.sqrt(max(float(self.p[0, 0]), 0.0))
        spikes = np.abs(velocity - median) > SPIKE * noise + fastest * asked
        return np.where(spikes, median, velocity)

    def update(self, batch: AxisBatch) -> None:
        """Process a block; one without excitation only updates the noise.

        Raises:
            ValueError: The block contains a number that is not finite or overflows.
        """
        self._period = batch.seconds / (len(batch.time) - 1)
        rate = max(float(self.theta[1]), SLOWEST)
        filtered = self._causal.take(batch.time, batch.columns, rate)
        rows = _FilteredRows(filtered[:2].T, filtered[2], batch.seconds, rate)
        aside, self._aside = self._aside, None
        if self._explains(rows):
            self._take(rows)
        elif aside is None:
            self._aside = rows
            self._causal.interrupt()  # what went wrong must not reach into the next block
        else:
            if self._samples >= SETTLED_SAMPLES:
                self.surprises += 1
                self.p = self.p + np.diag((REOPENED * self.theta) ** 2)
            self._take(aside)
            self._take(rows)

    def _explains(self, rows: _FilteredRows) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            gram = rows.phi.T @ rows.phi
            missed = rows.y - rows.phi @ self.theta
            squares = float(missed @ missed)
            expected = self.noise_variance * len(rows.y) + float(np.trace(gram @ self.p))
        if not (np.isfinite(gram).all() and math.isfinite(squares)):
            raise ValueError("a block of velocities or commands: must be finite and of usual size")
        return squares < SURPRISE * expected

    def _take(self, taken: _FilteredRows) -> None:
        phi, y = taken.phi, taken.y
        n = len(y)
        powers, directions = np.linalg.eigh(phi.T @ phi)
        sizes = np.sqrt(np.maximum(powers, 0.0) / n)
        # The integrated noise is a random walk; motion must exceed three times its deviation.
        steps = 0.5 / (self._period * taken.rate)
        walk = 3.0 * self._period * math.sqrt(self.noise_variance * steps)
        least = max(self._excitation, walk)
        rows = [
            (math.sqrt(power) * w, float(w @ (phi.T @ y)) / math.sqrt(power), w)
            for power, w, size in zip(powers, directions.T, sizes, strict=True)
            if size > least
        ]
        if rows:
            forget = math.exp(-taken.seconds / self._memory)
            self._forget([w for _, _, w in rows], forget)
            for row, value, _ in rows:
                self._step(row, value)
        self._learn_noise(y - phi @ self.theta, all_known=len(rows) == 2 or not rows)

    def _step(self, phi: Array, y: float) -> None:
        p_phi = self.p @ phi
        scale = self.noise_variance + float(phi @ p_phi)
        gain = p_phi / scale
        self.theta = self.theta + gain * (y - float(phi @ self.theta))
        # Joseph's form keeps P positive.
        left = np.eye(2) - np.outer(gain, phi)
        self.p = left @ self.p @ left.T + self.noise_variance * np.outer(gain, gain)

    def _forget(self, directions: list[Array], keep: float) -> None:
        information = np.linalg.inv(self.p)
        for w in directions:
            known = information @ w
            information -= (1.0 - keep) * np.outer(known, known) / float(w @ known)
        p = np.linalg.inv(information)
        self.p = 0.5 * (p + p.T)

    def _learn_noise(self, residual: Array, all_known: bool) -> None:
        less = float(residual @ residual) < self.noise_variance * len(residual)
        if not all_known and not less:
            return  # an error in a direction without excitation is no noise
        # Changes of the noise are tracked over some thousand samples.
        keep = 1.0 if self._samples < 5000.0 else 0.95
        self._squares = keep * self._squares + float(residual @ residual)
        self._products = keep * self._products + float(residual[1:] @ residual[:-1])
        self._samples = keep * self._samples + len(residual) - 1
