# SPDX-License-Identifier: Apache-2.0
"""What is known of the 22 parameters: guesses beforehand, estimates, and how far they may be off.

Both estimators start from a guess with its deviations, x = start + deviation * theta,
theta ~ N(0, I), and take in the rows A x = F of (4). All channels are noisy, those in A as well.

Kalman filter (section 3 and Fig. 5 of the paper). The parameters are constant, so Q = 0, and it is
least squares that weighs each row by R, the variance of the row's noise; noise in the regressors
counts in R with the parameters as they are estimated so far. But it also biases the estimate:
random motion looks like motion that has no effect, so damping, stiffness and inertia come out too
small, and the filter's covariance, which takes A for exact, knows nothing of it.

Errors in variables. The noise of the channels is white with known variance V (the sensors' data
sheets). With e(x) = A x - F = D(x) y, y the 24 channels of a moment and D linear in x, the noise in
e has the covariance S(x) = D V D', and the parameters are those that make small

    (1/2) sum e' S(x)^-1 e + (1/2) theta' theta

S within the sum is what removes the bias: its expectation, (1/2) sum (A0 x - F0)' S^-1 (A0 x - F0)
and a constant, A0 and F0 without noise, is least at the true x for noise of any distribution. This
is the profile likelihood of x over the true channels. The information about x is A0' S^-1 A0, which
A' S^-1 A exceeds by the noise's own share, and that is subtracted:

    J = I + sum (A' S^-1 A - E[dA' S^-1 dA])

Where the difference would leave less than was known beforehand, along a direction that nothing has
excited, the guess counts alone. The deviations are those of J^-1.

Rows are means over some samples (`window`): motion is slow against the sampling, and the equations
are linear. For the filter the window decides how large the bias is; 1 is the paper's way. The other
needs it only to be small against the motion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from diffbot_papers.compliant_base import model
from diffbot_papers.compliant_base.model import SIZE, Array, channel_rows, row_covariance, rows

# A drawn prior: by which factor positive parameters may be off, either way; how far the arm's base
# may be off, m; the deviation of products of inertia from zero, kg m^2.
FACTOR = 2.0
ARM_BASE, PRODUCT = 0.1, 0.05


@dataclass(frozen=True)
class ParameterPrior:
    """What is known of the parameters before anything moves.

    Attributes:
        start: values, shape (22,).
        deviation: how far they may be off, standard deviations, > 0, shape (22,).

    Raises:
        ValueError: a shape or a deviation is not as said.
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
    """A rough guess for a simulated base, drawn from the seed.

    Positive parameters are off by up to `factor` either way, evenly in the logarithm, the place of
    the arm's base by up to `arm_base` along each axis, and products of inertia are taken for zero.
    The deviations are those of these draws.

    Args:
        truth: shape (22,).
        seed: >= 0.
        factor: > 1.
        arm_base: m, > 0.
        product: deviation of the products of inertia, kg m^2, > 0.

    Raises:
        ValueError: the factor is not above 1, or another number not above 0.
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


class ParameterEstimator(Protocol):
    """What the experiment and the planner need of an estimator."""

    @property
    def estimate(self) -> Array:
        """Parameters, shape (22,)."""

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate, shape (22,)."""

    @property
    def information(self) -> Array:
        """Inverse covariance in units of the deviations beforehand, shape (22, 22)."""

    def update(self, measured: Array, noise: Array) -> None:
        """Take in n samples of all modes.

        Args:
            measured: channels, shape (3 modes, n, 8, 3), n a multiple of the window.
            noise: standard deviations of the channels, shape (8, 3).

        Raises:
            ValueError: n is not a multiple of the window.
        """


# Variance of a row that is taken for exact, as a share of the row's mean square.
EXACT = 1e-12


@dataclass(frozen=True)
class PublishedFilter:
    """What the paper leaves open of its Kalman filter.

    Attributes:
        drift: of the parameters as Q assumes, in deviations beforehand per square root of an
            update, >= 0.
        outputs_only: R is the noise of F alone.
        caution: standard deviations that R has for one of the noise, > 0.

    Raises:
        ValueError: the drift or the caution is not finite, or too small.
    """

    drift: float = 0.0
    outputs_only: bool = False
    caution: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.drift) and self.drift >= 0.0):
            raise ValueError(f"drift = {self.drift}: must be finite and >= 0")
        if not (math.isfinite(self.caution) and self.caution > 0.0):
            raise ValueError(f"caution = {self.caution}: must be finite and > 0")


class _Scaled:
    """An estimate in units of the deviations beforehand.

    Args:
        prior: what it begins with.
        window: samples whose rows are averaged, >= 1.

    Raises:
        ValueError: the window is not >= 1.
    """

    def __init__(self, prior: ParameterPrior, window: int) -> None:
        self._prior, self._window = prior, _checked(window)
        self._theta: Array = np.zeros(SIZE)
        self._information: Array = np.eye(SIZE)

    @property
    def estimate(self) -> Array:
        """Parameters, shape (22,)."""
        return self._prior.start + self._prior.deviation * self._theta

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate, shape (22,)."""
        return _deviation(self._prior, self._information)

    @property
    def information(self) -> Array:
        """Inverse covariance in units of the deviations beforehand, shape (22, 22)."""
        return self._information


class ParameterKalmanFilter(_Scaled):
    """The paper's filter; all rows of an update at once, which is the same without drift.

    Args:
        prior: what it begins with.
        window: samples whose rows are averaged, >= 1.
        kind: of filter.

    Raises:
        ValueError: the window is not >= 1.
    """

    def __init__(
        self, prior: ParameterPrior, window: int = 1, kind: PublishedFilter = PublishedFilter()
    ) -> None:
        super().__init__(prior, window)
        self._kind = kind

    def update(self, measured: Array, noise: Array) -> None:
        """See `ParameterEstimator.update`."""
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


# Steps of Gauss and Newton per update, halvings of a step, and the step, in deviations of the
# estimate, that ends them.
_STEPS, _HALVINGS, _SMALL = 20, 12, 1e-4


class ErrorsInVariables(_Scaled):
    """Parameters from rows in which everything is noisy, see above.

    What is kept of the rows are their second moments, one set per update, so the time of an update
    does not depend on the number of samples.

    Args:
        prior: what it begins with.
        window: samples whose rows are averaged, >= 1.

    Raises:
        ValueError: the window is not >= 1.
    """

    def __init__(self, prior: ParameterPrior, window: int = 1) -> None:
        super().__init__(prior, window)
        self._channels = self._in_units(channel_rows())
        self._moments = np.zeros((0, 6, 6, SIZE + 1, SIZE + 1))
        self._variances, self._floors = np.zeros((0, 1, 24)), np.zeros((0, 6, 6))
        self._counts = np.zeros(0)

    def update(self, measured: Array, noise: Array) -> None:
        """See `ParameterEstimator.update`."""
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
        """[A, -F] for [theta, 1] from that for [x, 1]: (..., 23) -> (..., 23)."""
        offset = z[..., :SIZE] @ self._prior.start + z[..., SIZE]
        return np.concatenate((z[..., :SIZE] * self._prior.deviation, offset[..., None]), axis=-1)

    def _solve(self) -> None:
        """Gauss-Newton from the last estimate, each step halved until it lessens the cost."""
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
        """Cost, its gradient, shape (22,), and J, shape (22, 22)."""
        x, channels = np.append(theta, 1.0), self._channels
        gain = channels @ x
        spread = gain * self._variances
        inverse = np.linalg.inv(spread @ gain.T + self._floors)
        once = self._moments @ x
        squares = once @ x  # sum of e e', shape (updates, 6, 6)
        weighted = inverse @ squares @ inverse
        cost = 0.5 * float((inverse * squares).sum() + theta @ theta)
        # Of A, and of the noise that e shows to be in it.
        own = np.tensordot(inverse, once, 3)
        noise = np.tensordot((weighted @ spread).sum(axis=0), channels, ((0, 1), (0, 1)))
        gram = np.tensordot(inverse, self._moments, 3)
        share = (self._counts[:, None, None] * inverse)[..., None] * self._variances[:, None]
        flat = channels.swapaxes(0, 1)
        excess = (flat.swapaxes(1, 2) @ share.sum(axis=0).transpose(2, 0, 1) @ flat).sum(axis=0)
        values, axes = np.linalg.eigh((gram - excess)[:SIZE, :SIZE])
        information = np.eye(SIZE) + (axes * np.maximum(values, 0.0)) @ axes.T
        return cost, (own - noise)[:SIZE] + theta, information


def _checked(window: int) -> int:
    if window < 1:
        raise ValueError(f"window = {window}: must be 1 or more samples")
    return window


def _deviation(prior: ParameterPrior, information: Array) -> Array:
    return np.asarray(prior.deviation * np.sqrt(np.diag(np.linalg.inv(information))))


def averaged(values: Array, window: int) -> Array:
    """Means over windows along the second axis: (modes, n, ...) -> (modes, n / window, ...).

    Raises:
        ValueError: n is not a multiple of the window.
    """
    count = values.shape[1]
    if count % window:
        raise ValueError(f"{count} samples: must be a multiple of the window, {window}")
    cut = values.reshape(len(values), count // window, window, *values.shape[2:])
    return np.asarray(cut.mean(axis=2))


def pseudo_inverse(measured: Array) -> Array:
    """Least squares over all rows at once, (A'A)^-1 A'F, shape (22,); columns of equal length.

    Args:
        measured: channels, shape (..., 8, 3).

    Raises:
        ValueError: the rows do not fix all parameters.
    """
    a, f = rows(measured)
    a, f = a.reshape(-1, SIZE), f.ravel()
    scale = np.linalg.norm(a, axis=0)
    if not (scale > 0.0).all():
        raise ValueError("a parameter has no effect in the motion: let all axes move")
    x, _, rank, _ = np.linalg.lstsq(a / scale, f, rcond=None)
    if rank < SIZE:
        raise ValueError(f"the motion fixes {rank} of {SIZE} parameters: excite it more richly")
    return np.asarray(x / scale)
