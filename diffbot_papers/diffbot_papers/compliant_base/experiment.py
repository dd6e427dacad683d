"""The paper's two tests: constant excitation, and one that is chosen anew every 0.4 s.

All choices rest on the estimates and on what was measured; the truth is in the simulation alone.
How noisy the sensors are is known, as from their data sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffbot_papers.compliant_base import model as channel
from diffbot_papers.compliant_base.excitation import (
    CONSTANT,
    ArmMotion,
    CompliantBase,
    Setting,
    Sinusoid,
    changed,
)
from diffbot_papers.compliant_base.model import BaseParameters, SensorNoise, mean_error
from diffbot_papers.compliant_base.planning import (
    FACTOR,
    METRICS,
    Beforehand,
    ExcitationPlanner,
    KalmanEstimator,
    rough,
    shares,
)

Array = NDArray[np.float64]

# What a state of the base is made of, in the order that predictions take it.
STATE = (channel.POSITION, channel.ANGLE, channel.VELOCITY, channel.RATE)


@dataclass(frozen=True)
class Run:
    """An experiment with k intervals of n samples in all.

    Attributes:
        times: ends of the intervals, s, shape (k,).
        estimates: of the parameters then, shape (k, 22).
        deviations: their standard deviations as the filter has them, shape (k, 22).
        shares: I / I_max of (15) and (16), shape (k, 22).
        sinusoids: excitation of each interval.
        motion: of the arm at all samples, each (n,).
        measured: channels of `sensors.QUANTITIES`, shape (3 modes, n, 8, 3).
    """

    times: Array
    estimates: Array
    deviations: Array
    shares: Array
    sinusoids: Sequence[Sinusoid]
    motion: ArmMotion
    measured: Array


def run(
    truth: BaseParameters,
    beforehand: Beforehand,
    metric: str | None,
    seed: int,
    setting: Setting | None = None,
) -> Run:
    """Excite, measure and estimate.

    Args:
        truth: of the simulated base; nothing else sees it.
        beforehand: what the estimator and the planner start with.
        metric: a name of METRICS, or None for the constant excitation (24).
        seed: of the noise and of the optimiser, >= 0.
        setting: None for the paper's.

    Raises:
        ValueError: there is no such metric.
    """
    if metric is not None and metric not in METRICS:
        raise ValueError(f"metric = {metric!r}: must be None or one of {list(METRICS)}")
    setting = setting or Setting()
    experiment = _Experiment(truth, beforehand, metric, seed, setting)
    steps = [experiment.interval() for _ in range(setting.intervals)]
    estimates, deviations, parts, sinusoids, motions, measured = zip(*steps, strict=True)
    angle, speed, acceleration = (
        np.concatenate([getattr(each, name) for each in motions])
        for name in ("angle", "speed", "acceleration")
    )
    return Run(
        setting.interval * np.arange(1, setting.intervals + 1),
        np.array(estimates),
        np.array(deviations),
        np.array(parts),
        sinusoids,
        ArmMotion(angle, speed, acceleration),
        np.concatenate(measured, axis=1),
    )


class _Experiment:
    """One interval after the other."""

    def __init__(
        self,
        truth: BaseParameters,
        beforehand: Beforehand,
        metric: str | None,
        seed: int,
        setting: Setting,
    ) -> None:
        rest = float(CONSTANT.offset)
        self._setting = setting
        self._noise = np.random.default_rng([seed, 0])
        self._base = CompliantBase(truth, setting.arm, rest, setting.period)
        self._estimator = KalmanEstimator(beforehand.start, beforehand.deviation, setting.window)
        self._planner = None
        if metric is not None:
            self._planner = ExcitationPlanner(METRICS[metric], beforehand, rest, setting, seed)
        self._old, self._next = Sinusoid(rest, 0.0, 0.0), CONSTANT
        self._settle()
        self._largest = np.zeros((8, 3))
        self._state = np.zeros((3, 12))
        self._times = setting.period * np.arange(1, setting.samples + 1)

    def _settle(self) -> None:
        """Move as in (24) without measuring."""
        count = round(self._setting.settled / self._setting.period)
        if count == 0:
            return
        times = self._setting.period * np.arange(1, count + 1)
        self._base.follow(changed(self._old, CONSTANT, times, 0.5 * times[-1]))
        self._old = self._next = CONSTANT.later(float(times[-1]))

    def interval(self) -> tuple[Array, Array, Array, Sinusoid, ArmMotion, Array]:
        """Choose, move, measure, estimate; the parts of `Run` of this interval."""
        setting, estimator = self._setting, self._estimator
        new = self._next
        if self._planner is not None:
            new = self._planner.choose(self._old, estimator, self._state, self._largest)
        motion = changed(self._old, new, self._times, setting.blend)
        true = self._base.follow(motion)
        self._largest = np.maximum(self._largest, np.abs(true).max(axis=(0, 1)))
        measured = setting.noise.disturb(true, self._largest, self._noise)
        estimator.update(measured, setting.noise.deviation(self._largest))
        self._state = measured[:, -1, STATE].reshape(3, 12)
        self._old = self._next = new.later(setting.interval)
        parts = shares(estimator.information)
        return estimator.estimate, estimator.deviation, parts, new, motion, measured


# ---
# The same experiment over many seeds: other noise, other rough guesses to start with.


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
