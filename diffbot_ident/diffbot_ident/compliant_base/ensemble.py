"""The same experiment over many seeds: other noise, other rough guesses to start with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.compliant_base.beforehand import FACTOR, rough
from diffbot_ident.compliant_base.experiment import Run, run
from diffbot_ident.compliant_base.parameters import BaseParameters, mean_error
from diffbot_ident.compliant_base.sensors import SensorNoise
from diffbot_ident.compliant_base.setting import Setting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ensemble:
    """Runs and what they are measured against.

    Attributes:
        runs: one per seed.
        starts: mean errors of the rough guesses, %, shape (seeds,).
        errors: mean errors at the end, %, shape (seeds,).
        truth: shape (22,).
    """

    runs: tuple[Run, ...]
    starts: Array
    errors: Array
    truth: Array

    @property
    def parameter_errors(self) -> Array:
        """Mean over the runs of each |error| at the end, in the parameters' units, shape (22,)."""
        return np.mean([np.abs(run.estimates[-1] - self.truth) for run in self.runs], axis=0)


def ensemble(
    truth: Array,
    metric: str | None,
    seeds: Iterable[int],
    setting: Setting,
    factor: float = FACTOR,
) -> Ensemble:
    """Run every seed; the same seed begins with the same guess whatever the metric.

    Args:
        truth: shape (22,).
        metric: a name of METRICS, or None for the constant excitation.
        seeds: >= 0 each.
        setting: of all runs.
        factor: of `rough`.
    """
    guesses = {seed: rough(truth, seed, factor) for seed in seeds}
    base = BaseParameters.from_array(truth)
    runs = tuple(run(base, guess, metric, seed, setting) for seed, guess in guesses.items())
    starts = mean_error(np.array([guess.start for guess in guesses.values()]), truth)
    errors = mean_error(np.array([each.estimates[-1] for each in runs]), truth)
    return Ensemble(runs, starts, errors, truth)


def equal_sensors(truth: Array, setting: Setting) -> Setting:
    """The setting with sensors whose full scale is what the constant excitation makes of them.

    Their noise is then the same whatever the arm does.

    Args:
        truth: shape (22,).
        setting: with the noise's share.
    """
    silent = replace(setting, noise=SensorNoise(0.0))
    (one,) = ensemble(truth, None, [0], silent).runs
    largest = np.abs(one.measured).max(axis=(0, 1))
    return replace(setting, noise=SensorNoise(setting.noise.share, largest))
