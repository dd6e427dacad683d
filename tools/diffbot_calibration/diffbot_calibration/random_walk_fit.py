# SPDX-License-Identifier: Apache-2.0
"""Least squares of a few parameters with a random walk, and the likeliest noise levels.

    r_k = H_k dz_k + J_k dbeta + noise of covariance R_k      (m,)
    0   = w_k + F_k dz_k - B_k dz_(k-1) + noise of Q_k        (n,), k >= 1

See docs/theory/calibration.md#parameters-with-a-random-walk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from diffbot_calibration.noise_levels import Mask, Noise, Sensors, WalkSteps, bounds, informations
from diffbot_recordings.sensor_readings import Array

# Share of the diagonal that is added to it, for components that nothing measures.
RIDGE = 1e-12


@dataclass(frozen=True)
class LinearProblem:
    """One linearisation: r (K, m), h (K, m, n), j (K, m, p), w (K - 1, n), f and b (K - 1, n, n).

    Attributes:
        prior: Prior information on beta, (p,), 1 / variance; 0: none.
        prior_r: Prior mean minus current beta, (p,).
    """

    r: Array
    h: Array
    j: Array
    w: Array
    f: Array
    b: Array
    prior: Array
    prior_r: Array


@dataclass(frozen=True)
class Solution:
    """Solution of a linear problem.

    Attributes:
        beta: Step of the parameters, (p,).
        z: Step of the walk, (K, n).
        information: Information on beta with unknown walk, (p, p).
        cost: -2 log of the restricted likelihood, up to a constant.
    """

    beta: Array
    z: Array
    information: Array
    cost: float

    @property
    def covariance(self) -> Array:
        """Covariance of beta, (p, p); directions without information have a huge variance."""
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.information), 1e-300))
        unit = self.information * np.outer(scale, scale)
        values, vectors = np.linalg.eigh(0.5 * (unit + unit.T))
        inverse = (vectors / np.maximum(values, 1e-14)) @ vectors.T
        covariance: Array = inverse * np.outer(scale, scale)
        return covariance


def solve(
    problem: LinearProblem, r_information: Array, q_information: Array, logs: float
) -> Solution:
    """Solve for the steps of parameters and walk; LinAlgError if it is not positive definite.

    Args:
        r_information: Inverse covariances of the measurements, diagonal, (K, m); 0: left out.
        q_information: Inverse covariances of the walk's steps, (K - 1, n, n); 0: it may jump.
        logs: Sum of the log determinants of all noise covariances.
    """
    h, j, n = problem.h, problem.j, problem.h.shape[2]
    weighted = (h * r_information[:, :, None]).transpose(0, 2, 1)
    diagonal = weighted @ h
    qf, qb = q_information @ problem.f, q_information @ problem.b
    f, b = problem.f.transpose(0, 2, 1), problem.b.transpose(0, 2, 1)
    diagonal[1:] += f @ qf
    diagonal[:-1] += b @ qb
    below = -f @ qb  # rows z_k, columns z_(k-1)
    right = np.concatenate((j, problem.r[:, :, None]), axis=2)
    walls = weighted @ right
    moved = q_information @ problem.w[:, :, None]
    walls[1:, :, -1] -= (f @ moved)[:, :, 0]
    walls[:-1, :, -1] += (b @ moved)[:, :, 0]
    banded = _banded(diagonal, below)
    banded[0] += RIDGE * banded[0] + RIDGE
    factor = scipy.linalg.cholesky_banded(banded, lower=True, check_finite=False)
    flat = walls.reshape(-1, walls.shape[2])
    solved = scipy.linalg.cho_solve_banded((factor, True), flat, check_finite=False)
    white = (right * np.sqrt(r_information)[:, :, None]).reshape(-1, right.shape[2])
    whole = white.T @ white - flat.T @ solved
    information = whole[:-1, :-1] + np.diag(problem.prior)
    pull = whole[:-1, -1] + problem.prior * problem.prior_r
    squares = (
        whole[-1, -1]
        + float(np.sum(problem.w * moved[:, :, 0]))
        + float(problem.prior @ problem.prior_r**2)
    )
    cost = logs + 2.0 * float(np.sum(np.log(factor[0])))
    if len(pull):
        scale = 1.0 / np.sqrt(np.diag(information) + 1e-300)
        unit = information * np.outer(scale, scale) + 1e-12 * np.eye(len(pull))
        root = scipy.linalg.cho_factor(unit, lower=True)
        beta = scale * scipy.linalg.cho_solve(root, scale * pull)
        cost += 2.0 * float(np.sum(np.log(np.diag(root[0])) - np.log(scale)))
    else:
        beta = pull
    z = (solved[:, -1] - solved[:, :-1] @ beta).reshape(-1, n)
    return Solution(beta, z, information, cost + float(squares - pull @ beta))


def _banded(diagonal: Array, below: Array) -> Array:
    """Return the lower band of a symmetric block tridiagonal matrix for LAPACK, (2 n, K n)."""
    count, n, _ = diagonal.shape
    band = np.zeros((2 * n, count, n))
    for column in range(n):
        for row in range(column, n):
            band[row - column, :, column] = diagonal[:, row, column]
        for row in range(n):
            band[n + row - column, :-1, column] = below[:, row, column]
    return band.reshape(2 * n, count * n)


@dataclass(frozen=True)
class NoiseLikelihood:
    """Solutions and likelihoods of one linear problem, by noise levels."""

    problem: LinearProblem
    steps: WalkSteps
    used: Mask
    sensors: Sensors

    def solution(self, noise: Noise) -> Solution:
        """Return the solution. Raises LinAlgError if there is none."""
        return solve(self.problem, *informations(noise, self.steps, self.used, self.sensors))

    def best(self, noise: Noise) -> Noise:
        """Return the noise levels that maximise the restricted likelihood, sought from `noise`."""
        limits = [bounds(name) for name in self.sensors.levels]
        result = scipy.optimize.minimize(
            self._cost,
            np.clip(self._logarithms(noise), *np.transpose(limits)),
            args=(noise,),
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": 20, "ftol": 1e-8, "eps": 1e-3},
        )
        return self._with(noise, result.x)

    def stds(self, noise: Noise) -> dict[str, float]:
        """Return each log level's standard deviation, from the likelihood's curvature."""
        at = self._logarithms(noise)
        best, step, result = self._cost(at, noise), 0.2, {}
        for i, name in enumerate(self.sensors.levels):
            move = np.zeros(len(at))
            move[i] = step
            curvature = (
                self._cost(at + move, noise) + self._cost(at - move, noise) - 2.0 * best
            ) / step**2
            result[name] = math.sqrt(2.0 / curvature) if curvature > 0.02 else math.inf
        return result

    def slip_covariance(self, noise: Noise) -> Array:
        """Return the derivative of the parameters' covariance by the path noise's logarithm."""
        step = 0.2
        less, more = (
            self.solution(replace(noise, path=noise.path * factor)).covariance
            for factor in (math.exp(-step), math.exp(step))
        )
        slope: Array = (more - less) / (2.0 * step)
        return slope

    def _cost(self, logarithms: Array, noise: Noise) -> float:
        levels = self._with(noise, logarithms)
        cost = self.solution(levels).cost
        return cost + (levels.improbability() if self.sensors.gyro else 0.0)

    def _logarithms(self, noise: Noise) -> Array:
        logarithms: Array = np.log([getattr(noise, name) for name in self.sensors.levels])
        return logarithms

    def _with(self, noise: Noise, logarithms: Array) -> Noise:
        levels = zip(self.sensors.levels, np.exp(logarithms).tolist(), strict=True)
        return replace(noise, **dict(levels))
