# SPDX-License-Identifier: Apache-2.0
"""Choice of the arm's next motion: the most informative one about the 22 parameters.

Measures, prediction and choice: docs/theory/compliant_base.md#choice-of-the-excitation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import expm
from scipy.optimize import differential_evolution
from scipy.special import ndtr, xlogy

from diffbot_ident.excitation.information import joint_bits, sum_of_bits
from diffbot_papers.compliant_base import model
from diffbot_papers.compliant_base.estimation import ParameterEstimator, ParameterPrior, averaged
from diffbot_papers.compliant_base.model import (
    GRAVITY,
    MODES,
    SIZE,
    Arm,
    Array,
    BaseParameters,
    cross,
    cross_matrix,
    row_covariance,
    small_motion_rows,
)
from diffbot_papers.compliant_base.simulation import (
    ArmMotion,
    ExperimentSettings,
    Sinusoid,
    changed,
    coupled_mass,
)

# Measures.

Metric = Callable[[Array, Array], Array]
"""(J0 of shape (p, p), J1 of shape (k, p, p)) -> cost of k candidates, shape (k,)."""

# I_max = 10 bits, section 6.1.
MOST_BITS = 10
# The sensor of (15) covers -RANGE to +RANGE prior deviations.
RANGE = 3.0


def reading_information(deviation: Array, most_bits: int = MOST_BITS) -> Array:
    """(11), (14), (15): return the bits about a parameter in a reading of it, 0 to most_bits.

    For deviations of the estimate over half the range, > 0, of any shape, in the middle state.
    """
    states = 2**most_bits
    edges = np.linspace(-1.0, 1.0, states + 1) - 1.0 / states
    cumulated = ndtr(edges / np.asarray(deviation, dtype=float)[..., None])
    q = np.diff(cumulated, axis=-1) / (cumulated[..., -1:] - cumulated[..., :1])
    return np.asarray(most_bits + xlogy(q, q).sum(axis=-1) / np.log(2.0))


# (15) is slow for thousands of candidates.
_LOG_DEVIATION = np.linspace(-5.0, 1.0, 601)
_READING = reading_information(10.0**_LOG_DEVIATION)


def shares(information: Array) -> Array:
    """Return I / I_max of (16) from the information: (..., p, p) -> (..., p)."""
    variances = np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
    position = 0.5 * np.log10(variances) - np.log10(RANGE)
    return np.asarray(np.interp(position, _LOG_DEVIATION, _READING) / MOST_BITS)


def condition_number(_now: Array, after: Array) -> Array:
    """Return log10 of the condition number of A, in prior deviations, without the prior's part."""
    values = np.linalg.eigvalsh(after)
    least = np.maximum(values[..., 0] - 1.0, 1e-9)
    return np.asarray(0.5 * np.log10((values[..., -1] - 1.0) / least))


def published(_now: Array, after: Array) -> Array:
    """Return (16) without its factor 1/2, as printed."""
    rho = shares(after)
    return np.asarray((1.0 - rho + rho**2).sum(axis=-1))


METRICS: dict[str, Metric] = {
    "sum of bits": lambda now, after: -sum_of_bits(now, after),
    "joint bits": lambda now, after: -joint_bits(now, after),
    "condition number": condition_number,
    "published": published,
    "published, rising": lambda _now, after: ((1.0 - shares(after)) ** 2).sum(axis=-1),
}


# Prediction.

# Fraction of the prior values that estimates are raised to.
LEAST = 0.1


def plausible(estimate: Array, start: Array) -> Array:
    """Return the nearest parameters with which motion can be predicted, shape (22,).

    By LEAST of the prior's positive values, and a positive definite tensor.
    """
    x = estimate.copy()
    positive = np.ones(SIZE, dtype=bool)
    positive[model.PRODUCTS] = positive[model.ARM_BASE] = False
    x[positive] = np.maximum(x[positive], LEAST * start[positive])
    least = x[model.INERTIA][:3].min()
    for _ in range(20):
        if np.linalg.eigvalsh(BaseParameters.from_array(x).inertia)[0] > 0.1 * least:
            break
        x[model.PRODUCTS] *= 0.7
    return x


class Foresight:
    """The linear model for given estimates at one instant.

    Args:
        estimate: Plausible parameters, shape (22,).
        rest, angle: Of the arm when the sensors were zeroed, and now, rad.
        state: Measured [r, theta, r', theta'], shape (3 modes, 12).
        step: Step of the prediction, s.
    """

    def __init__(
        self, estimate: Array, arm: Arm, rest: float, angle: float, state: Array, step: float
    ) -> None:
        self._arm, self._state = arm, state
        self._base = base = BaseParameters.from_array(estimate)
        self._rest = arm.centre(np.array(rest))
        centre = base.arm_base + arm.centre(np.array(angle))
        mass = coupled_mass(base, arm, centre, arm.inertia(np.array(angle)))
        springs = np.broadcast_to(np.diag(base.stiffness), (MODES, 6, 6)).copy()
        tilt = cross_matrix(GRAVITY)
        springs[:, :3, 3:] -= (base.mass + arm.mass) * tilt
        springs[:, 3:, 3:] -= arm.mass * cross_matrix(centre) @ tilt
        inverse = np.linalg.inv(mass)
        system = np.zeros((MODES, 24, 24))
        system[:, :6, 6:12] = np.eye(6)
        system[:, 6:12, :6] = -inverse @ springs
        system[:, 6:12, 6:12] = -inverse * base.damping
        system[:, 6:12, 12:18] = inverse
        system[:, 12:18, 18:] = np.eye(6) / step
        self._accelerate = system[:, 6:12, :18]
        self._advance = np.stack([expm(step * each)[:12] for each in system])

    def sense(self, motion: ArmMotion) -> Array:
        """Return noise-free readings, (3 modes, n, k, 8, 3), of k candidates after the present."""
        push, base = self._push(motion), self._base
        states, push = self._states(push), push[:, 1:]
        whole = np.concatenate((states, push), axis=-1)
        acceleration = whole @ self._accelerate.swapaxes(-1, -2)[:, None]
        # By (4).
        rest = -base.stiffness * states[..., :6] - base.damping * states[..., 6:]
        tilt = cross(GRAVITY, states[..., 3:6])
        force = rest[..., :3] + base.mass * (tilt - acceleration[..., :3])
        moment = rest[..., 3:] - acceleration[..., 3:] @ base.inertia
        moment += cross(force, base.arm_base)
        r, theta, v, omega = np.split(states, 4, -1)
        a, alpha = np.split(acceleration, 2, -1)
        return np.stack((force, moment, r, v, a, theta, omega, alpha), axis=-2)

    def _states(self, push: Array) -> Array:
        """Return [q, q'] after each step under Q: (3 modes, n + 1, k, 6) -> (3 modes, n, k, 12)."""
        advance = self._advance.swapaxes(-1, -2)
        change = np.concatenate((push[:, :-1], np.diff(push, axis=1)), axis=-1)
        driven = change @ advance[:, None, 12:]
        states: Array = np.empty_like(driven)
        state = np.repeat(self._state[:, None], push.shape[2], axis=1)
        for at in range(driven.shape[1]):
            state = states[:, at] = state @ advance[:, :12] + driven[:, at]
        return states

    def _push(self, motion: ArmMotion) -> Array:
        """Return Q(t): changes of force and moment on a base at rest, (3 modes, n + 1, k, 6)."""
        angle, speed, change = (np.swapaxes(each, 0, 1) for each in motion)
        r3 = self._arm.centre(angle)
        mass = self._arm.mass
        force = mass * (speed[..., None] ** 2 * r3 - change[..., None] * self._arm.tangent(angle))
        weight = mass * cross(r3 - self._rest[:, None, None], GRAVITY)
        axis = np.eye(MODES)[:, None, None]
        moment = cross(self._base.arm_base + r3, force) + weight
        moment = moment - self._arm.across * change[..., None] * axis
        return np.concatenate((force, moment), axis=-1)


def information(values: Array, covariance: Array, unit: Array, window: int) -> Array:
    """Return the information about the parameters in predicted channels, shape (k, 22, 22).

    Args:
        values: Channels, shape (3 modes, n, k, 8, 3); n a multiple of the window.
        covariance: Of one sample's six rows, shape (k, 6, 6).
        unit: Units of the parameters, shape (22,).
    """
    a = small_motion_rows(averaged(values, window))
    a = np.linalg.inv(np.linalg.cholesky(covariance / window)) @ (a * unit)
    stacked = np.moveaxis(a, 2, 0).reshape(a.shape[2], -1, SIZE)
    return np.asarray(stacked.swapaxes(-1, -2) @ stacked)


# Choice.

# Larger than any measure; it grows with the excess.
FORBIDDEN = 1e6


class ExcitationPlanner:
    """Predicts the information from each motion, and chooses the best."""

    def __init__(
        self,
        metric: Metric,
        prior: ParameterPrior,
        rest: float,
        settings: ExperimentSettings,
        seed: int,
    ) -> None:
        self._metric, self._prior, self._rest = metric, prior, rest
        self._settings = settings
        self._random = np.random.default_rng(seed)
        step = settings.period * settings.thin
        self._step = step
        self._steps = step * np.arange(settings.samples // settings.thin + 1.0)
        self._samples = settings.period * np.arange(1.0, settings.samples + 1)

    def choose(
        self, old: Sinusoid, estimator: ParameterEstimator, state: Array, largest: Array
    ) -> Sinusoid:
        """Return the motion that replaces the old one, whose time is counted from now.

        `state`: measured [r, theta, r', theta'], (3 modes, 12); `largest`: of each channel, (8, 3).
        """
        settings, now = self._settings, estimator.information
        estimate = plausible(estimator.estimate, self._prior.start)
        angle = float(old.motion(np.zeros(1)).angle[0])
        foresight = Foresight(estimate, settings.arm, self._rest, angle, state, self._step)

        def cost(unit: Array) -> Array:
            candidates = self._candidates(unit.reshape(3, -1), old)
            excess = settings.limits.excess(changed(old, candidates, self._samples, settings.blend))
            motion = changed(old, candidates, self._steps, settings.blend)
            gained = self._information(foresight, motion, estimate, largest)
            costs = self._metric(now, now + gained)
            return np.where(excess > 0.0, FORBIDDEN * (1.0 + excess), costs)

        best = differential_evolution(
            cost, [(0.0, 1.0)] * 3, vectorized=True, updating="deferred", polish=False, tol=0.0,
            popsize=settings.population, maxiter=settings.generations, seed=self._random,
        )  # fmt: skip
        # If no change is within the limits.
        return self._candidates(best.x, old) if best.fun < FORBIDDEN else old

    def _candidates(self, unit: Array, old: Sinusoid) -> Sinusoid:
        return Sinusoid(*self._settings.limits.sinusoid(unit), old.phase)

    def _information(
        self, foresight: Foresight, motion: ArmMotion, estimate: Array, largest: Array
    ) -> Array:
        settings = self._settings
        values = foresight.sense(motion)
        reached = np.maximum(largest, np.abs(values).max(axis=(0, 1)))
        covariance = row_covariance(settings.noise.deviation(reached), estimate) / settings.thin
        return information(values, covariance, self._prior.deviation, settings.foreseen_window)
