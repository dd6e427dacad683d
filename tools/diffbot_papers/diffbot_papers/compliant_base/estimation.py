# SPDX-License-Identifier: Apache-2.0
"""Estimation of the 22 parameters: prior guesses, estimates, and their uncertainty.

Kalman filter of the paper, and errors in variables: docs/theory/compliant_base.md#estimation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from diffbot_papers.compliant_base import model
from diffbot_papers.compliant_base.model import SIZE, Array, channel_rows, row_covariance, rows

# A drawn prior: factor; error of the arm's base, m; products of inertia, kg m^2.
FACTOR = 2.0
ARM_BASE, PRODUCT = 0.1, 0.05


@dataclass(frozen=True)
class ParameterPrior:
    """Initial values and their standard deviations > 0, shape (22,) each.

    Raises:
        ValueError: A shape or a deviation is invalid.
    """

    start: Array
    deviation: Array

    def __post_init__(self) -> None:
        shapes = self.start.shape, self.deviation.shape
        if shapes != ((SIZE,), (SIZE,)):
            raise ValueError(f"shapes {shapes[0]}, {shapes[1]}: must both be ({SIZE},)")
        if not (np.isfinite(self.deviation).all() and (self.deviation > 0.0).all()):
            raise ValueError(f"deviation = {self.deviation.tolist()}: all must be finite and > 0")


def draw_prior(
    truth: Array,
    seed: int,
    factor: float = FACTOR,
    arm_base: float = ARM_BASE,
    product: float = PRODUCT,
) -> ParameterPrior:
    """Draw a rough guess for a simulated base from the seed.

    Products of inertia are set to zero; the deviations are those of these draws.

    Args:
        truth: True parameters, shape (22,).
        factor: Largest factor, > 1, of positive parameters, uniform in the logarithm.
        arm_base: Largest error of the arm's base along each axis, m, > 0.
        product: Deviation of the products of inertia, kg m^2, > 0.

    Raises:
        ValueError: A number is outside its limits.
    """
    if not factor > 1.0:
        raise ValueError(f"factor = {factor}: must be > 1")
    random = np.random.default_rng(seed)
    width = math.log(factor)
    start = truth * np.exp(random.uniform(-width, width, SIZE))
    deviation = start * width / math.sqrt(3.0)
    start[model.PRODUCTS], deviation[model.PRODUCTS] = 0.0, product
    start[model.ARM_BASE] = truth[model.ARM_BASE] + random.uniform(-arm_base, arm_base, 3)
    deviation[model.ARM_BASE] = arm_base / math.sqrt(3.0)
    return ParameterPrior(start, deviation)


class ParameterEstimator(ABC):
    """An estimate in units of the prior deviations; rows are averaged over a window >= 1."""

    def __init__(self, prior: ParameterPrior, window: int) -> None:
        if window < 1:
            raise ValueError(f"window = {window}: must be 1 or more samples")
        self._prior, self._window = prior, window
        self._theta: Array = np.zeros(SIZE)
        self._information: Array = np.eye(SIZE)

    @property
    def estimate(self) -> Array:
        """Estimated parameters, shape (22,)."""
        return self._prior.start + self._prior.deviation * self._theta

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate, shape (22,)."""
        variances = np.diag(np.linalg.inv(self._information))
        return np.asarray(self._prior.deviation * np.sqrt(variances))

    @property
    def information(self) -> Array:
        """Inverse covariance in units of the prior deviations, shape (22, 22)."""
        return self._information

    @abstractmethod
    def update(self, measured: Array, noise: Array) -> None:
        """Process n samples of all modes, n a multiple of the window.

        `measured`: channels, (3 modes, n, 8, 3); `noise`: their standard deviations, (8, 3).
        """


# Least variance of a row over its mean square.
EXACT = 1e-12


@dataclass(frozen=True)
class PublishedFilter:
    """Choices for the Kalman filter that the paper leaves open.

    Attributes:
        drift: Of the parameters in Q, prior deviations per square root of an update, >= 0.
        outputs_only: Whether R is the noise of F alone.
        caution: Standard deviation in R over that of the noise, > 0.
    """

    drift: float = 0.0
    outputs_only: bool = False
    caution: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.drift) and self.drift >= 0.0):
            raise ValueError(f"drift = {self.drift}: must be finite and >= 0")
        if not (math.isfinite(self.caution) and self.caution > 0.0):
            raise ValueError(f"caution = {self.caution}: must be finite and > 0")


class ParameterKalmanFilter(ParameterEstimator):
    """The paper's filter, all rows of an update at once."""

    def __init__(
        self, prior: ParameterPrior, window: int = 1, kind: PublishedFilter = PublishedFilter()
    ) -> None:
        super().__init__(prior, window)
        self._kind = kind

    def update(self, measured: Array, noise: Array) -> None:
        a, f = (averaged(each, self._window) for each in rows(measured))
        known = np.zeros(SIZE) if self._kind.outputs_only else self.estimate
        variance = self._kind.caution**2 * np.diag(row_covariance(noise, known)) / self._window
        root = np.sqrt(np.maximum(variance, EXACT * (f * f).mean(axis=(0, 1))))
        surprise = ((f - a @ self.estimate) / root).ravel()
        regressors = (a * self._prior.deviation / root[:, None]).reshape(-1, SIZE)
        if self._kind.drift > 0.0:
            drifted = np.linalg.inv(self._information) + self._kind.drift**2 * np.eye(SIZE)
            self._information = np.asarray(np.linalg.inv(drifted), dtype=float)
        self._information = self._information + regressors.T @ regressors
        self._theta = self._theta + np.linalg.solve(self._information, regressors.T @ surprise)


# Gauss-Newton steps per update, halvings of a step, and the step, in deviations, that ends it.
_STEPS, _HALVINGS, _SMALL = 20, 12, 1e-4


class ErrorsInVariables(ParameterEstimator):
    """Estimate from rows in which all channels are noisy, by their second moments."""

    def __init__(self, prior: ParameterPrior, window: int = 1) -> None:
        super().__init__(prior, window)
        self._channels = self._in_units(channel_rows())
        self._moments = np.zeros((0, 6, 6, SIZE + 1, SIZE + 1))
        self._variances, self._floors = np.zeros((0, 1, 24)), np.zeros((0, 6, 6))
        self._counts = np.zeros(0)

    def update(self, measured: Array, noise: Array) -> None:
        a, f = (averaged(each, self._window) for each in rows(measured))
        z = self._in_units(np.concatenate((a, -f[..., None]), axis=-1)).reshape(-1, 6 * (SIZE + 1))
        moments = (z.T @ z).reshape(6, SIZE + 1, 6, SIZE + 1).swapaxes(1, 2)
        floor = np.diag(EXACT * (f * f).mean(axis=(0, 1)))
        variance = noise.reshape(1, -1) ** 2 / self._window
        self._moments = np.concatenate((self._moments, moments[None]))
        self._variances = np.concatenate((self._variances, variance[None]))
        self._floors = np.concatenate((self._floors, floor[None]))
        self._counts = np.append(self._counts, len(z))
        self._solve()

    def _in_units(self, z: Array) -> Array:
        """Convert [A, -F] for [x, 1] to that for [theta, 1]: (..., 23)."""
        offset = z[..., :SIZE] @ self._prior.start + z[..., SIZE]
        return np.concatenate((z[..., :SIZE] * self._prior.deviation, offset[..., None]), axis=-1)

    def _solve(self) -> None:
        theta = self._theta
        cost, gradient, information = self._expand(theta)
        for _ in range(_STEPS):
            step = np.linalg.solve(information, gradient)
            if step @ gradient < _SMALL**2:
                break
            for _ in range(_HALVINGS):
                trial = self._expand(theta - step)
                if trial[0] < cost:
                    break
                step *= 0.5
            else:
                break
            theta = theta - step
            cost, gradient, information = trial
        self._theta, self._information = theta, information

    def _expand(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the cost, its gradient, shape (22,), and J, shape (22, 22)."""
        x, channels = np.append(theta, 1.0), self._channels
        gain = channels @ x
        spread = gain * self._variances
        inverse = np.linalg.inv(spread @ gain.T + self._floors)
        once = self._moments @ x
        squares = once @ x  # sum of e e', shape (updates, 6, 6)
        weighted = inverse @ squares @ inverse
        cost = 0.5 * float((inverse * squares).sum() + theta @ theta)
        # Of A, and of the noise in it that e reveals.
        own = np.tensordot(inverse, once, 3)
        noise = np.tensordot((weighted @ spread).sum(axis=0), channels, ((0, 1), (0, 1)))
        gram = np.tensordot(inverse, self._moments, 3)
        fraction = (self._counts[:, None, None] * inverse)[..., None] * self._variances[:, None]
        flat = channels.swapaxes(0, 1)
        excess = (flat.swapaxes(1, 2) @ fraction.sum(axis=0).transpose(2, 0, 1) @ flat).sum(axis=0)
        values, axes = np.linalg.eigh((gram - excess)[:SIZE, :SIZE])
        information = np.eye(SIZE) + (axes * np.maximum(values, 0.0)) @ axes.T
        return cost, (own - noise)[:SIZE] + theta, information


def averaged(values: Array, window: int) -> Array:
    """Return means over windows: (modes, n, ...) -> (modes, n / window, ...), or ValueError."""
    count = values.shape[1]
    if count % window:
        raise ValueError(f"{count} samples: must be a multiple of the window, {window}")
    cut = values.reshape(len(values), count // window, window, *values.shape[2:])
    return np.asarray(cut.mean(axis=2))


def pseudo_inverse(measured: Array) -> Array:
    """Return least squares over all rows, (A'A)^-1 A'F, shape (22,), from channels (..., 8, 3).

    Raises:
        ValueError: The rows do not determine all parameters.
    """
    a, f = rows(measured)
    a, f = a.reshape(-1, SIZE), f.ravel()
    scale = np.linalg.norm(a, axis=0)
    if not (scale > 0.0).all():
        raise ValueError("a parameter has no effect on this motion: move all axes")
    x, _, rank, _ = np.linalg.lstsq(a / scale, f, rcond=None)
    if rank < SIZE:
        raise ValueError(f"the motion fixes only {rank} of {SIZE} parameters: use a richer one")
    return np.asarray(x / scale)
