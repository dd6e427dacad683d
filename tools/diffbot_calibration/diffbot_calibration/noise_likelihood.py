# SPDX-License-Identifier: Apache-2.0
"""The restricted likelihood of noise levels at one linearisation of a drive, and its maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from diffbot_calibration.noise_levels import Mask, Noise, Sensors, WalkSteps, bounds, informations
from diffbot_calibration.random_walk_fit import LinearProblem, Solution, solve
from diffbot_recordings.sensor_readings import Array


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
        result = minimize(
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
