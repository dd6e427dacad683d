# SPDX-License-Identifier: Apache-2.0
"""The paper's two tests: constant excitation, and one that is chosen again every 0.4 s.

The truth is used only by the simulation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from diffbot_ident.estimate import NORMAL_95
from diffbot_papers.compliant_base import model
from diffbot_papers.compliant_base.estimation import (
    FACTOR,
    ErrorsInVariables,
    ParameterEstimator,
    ParameterKalmanFilter,
    ParameterPrior,
    draw_prior,
)
from diffbot_papers.compliant_base.model import Array, BaseParameters, mean_error
from diffbot_papers.compliant_base.planning import METRICS, ExcitationPlanner, shares
from diffbot_papers.compliant_base.simulation import (
    CONSTANT,
    REST,
    ArmMotion,
    CompliantBase,
    ExperimentSettings,
    Sinusoid,
    changed,
)

# A state of the base, in the order that predictions use.
STATE = (model.POSITION, model.ANGLE, model.VELOCITY, model.RATE)


@dataclass(frozen=True)
class Run:
    """An experiment with k intervals and n samples in total.

    Attributes:
        times: Ends of the intervals, s, shape (k,).
        estimates, deviations: At these times, shape (k, 22).
        shares: I / I_max of (15) and (16), shape (k, 22).
        motion: Of the arm at all samples, each (n,).
        measured: Channels, see model.QUANTITIES, shape (3 modes, n, 8, 3).
        noise: Standard deviations of the channels in each interval, shape (k, 8, 3).
    """

    prior: ParameterPrior
    times: Array
    estimates: Array
    deviations: Array
    shares: Array
    motion: ArmMotion
    measured: Array
    noise: Array

    def estimate_again(self, estimator: ParameterEstimator) -> None:
        """Feed the measurements to another, new estimator."""
        parts = np.split(self.measured, len(self.times), axis=1)
        for part, noise in zip(parts, self.noise, strict=True):
            estimator.update(part, noise)


def run(
    truth: BaseParameters,
    prior: ParameterPrior,
    metric: str | None,
    seed: int,
    settings: ExperimentSettings,
) -> Run:
    """Excite, measure and estimate; seed >= 0.

    `metric`: a name of METRICS (else ValueError), or None for the constant excitation (24).
    """
    if metric is not None and metric not in METRICS:
        raise ValueError(f"metric = {metric!r}: must be None or one of {list(METRICS)}")
    random = np.random.default_rng([seed, 0])
    base = CompliantBase(truth, settings.arm, REST, settings.period)
    estimator: ParameterEstimator = (
        ErrorsInVariables(prior, settings.window)
        if settings.published_filter is None
        else ParameterKalmanFilter(prior, settings.window, settings.published_filter)
    )
    planner = None
    if metric is not None:
        planner = ExcitationPlanner(METRICS[metric], prior, REST, settings, seed)
    old, new = _settle(base, settings)
    largest, state = np.zeros((8, 3)), np.zeros((3, 12))
    times = settings.period * np.arange(1.0, settings.samples + 1)
    motions, measurements = [], []
    estimates, deviations, known, noises = [], [], [], []
    for _ in range(settings.intervals):
        if planner is not None:
            new = planner.choose(old, estimator, state, largest)
        motion = changed(old, new, times, settings.blend)
        true = base.follow(motion)
        largest = np.maximum(largest, np.abs(true).max(axis=(0, 1)))
        measured = settings.noise.disturb(true, largest, random)
        noises.append(settings.noise.deviation(largest))
        estimator.update(measured, noises[-1])
        state = measured[:, -1, STATE].reshape(3, 12)
        motions.append(motion)
        measurements.append(measured)
        estimates.append(estimator.estimate)
        deviations.append(estimator.deviation)
        known.append(shares(estimator.information))
        old = new = new.later(settings.interval)
    return Run(
        prior=prior,
        times=settings.interval * np.arange(1.0, settings.intervals + 1),
        estimates=np.array(estimates),
        deviations=np.array(deviations),
        shares=np.array(known),
        motion=ArmMotion(*(np.concatenate(parts) for parts in zip(*motions, strict=True))),
        measured=np.concatenate(measurements, axis=1),
        noise=np.array(noises),
    )


def _settle(base: CompliantBase, settings: ExperimentSettings) -> tuple[Sinusoid, Sinusoid]:
    """Return the motion so far, without measuring, and (24) from now on."""
    count = round(settings.settled / settings.period)
    still = Sinusoid(REST, 0.0, 0.0)
    if count == 0:
        return still, CONSTANT
    times = settings.period * np.arange(1.0, count + 1)
    base.follow(changed(still, CONSTANT, times, 0.5 * times[-1]))
    later = CONSTANT.later(float(times[-1]))
    return later, later


@dataclass(frozen=True)
class Ensemble:
    """Runs of several seeds, with the true parameters, shape (22,).

    Attributes:
        starts, errors: Mean errors of the guesses and at the end, %, shape (seeds,).
    """

    runs: tuple[Run, ...]
    starts: Array
    errors: Array
    truth: Array

    @property
    def parameter_errors(self) -> Array:
        """Mean of each |error| at the end, in the parameters' units, shape (22,)."""
        errors = np.array([np.abs(run.estimates[-1] - self.truth) for run in self.runs])
        return np.asarray(errors.mean(axis=0))

    @property
    def scores(self) -> Array:
        """Errors at the end in the estimator's deviations, shape (seeds, 22)."""
        ends = [(run.estimates[-1] - self.truth) / run.deviations[-1] for run in self.runs]
        return np.asarray(ends)

    @property
    def coverage(self) -> Array:
        """Fraction of the runs whose 95 % interval contains the truth, shape (22,)."""
        return np.asarray((np.abs(self.scores) < NORMAL_95).mean(axis=0))


def trust(scores: Array) -> tuple[float, float]:
    """Return the coverage of 95 % intervals, and the rms of the scores, 1 if they are right."""
    covered = float((np.abs(scores) < NORMAL_95).mean())
    return covered, float(np.sqrt(np.square(scores).mean()))


def ensemble(
    truth: Array,
    metric: str | None,
    seeds: Iterable[int],
    settings: ExperimentSettings,
    factor: float = FACTOR,
) -> Ensemble:
    """Run every seed; the same seed starts with the same guess, whatever the metric."""
    priors = {seed: draw_prior(truth, seed, factor) for seed in seeds}
    base = BaseParameters.from_array(truth)
    runs = tuple(run(base, prior, metric, seed, settings) for seed, prior in priors.items())
    starts = mean_error(np.array([prior.start for prior in priors.values()]), truth)
    errors = mean_error(np.array([each.estimates[-1] for each in runs]), truth)
    return Ensemble(runs, starts, errors, truth)


def equal_sensors(truth: Array, settings: ExperimentSettings) -> ExperimentSettings:
    """Return settings whose sensors' full scale is their maximum under the constant excitation."""
    times = settings.period * np.arange(1.0, settings.samples * settings.intervals + 1)
    base = CompliantBase(BaseParameters.from_array(truth), settings.arm, REST, settings.period)
    true = base.follow(changed(*_settle(base, settings), times, settings.blend))
    largest = np.abs(true).max(axis=(0, 1))
    return replace(settings, noise=replace(settings.noise, full_scale=largest))


def true_channels(truth: Array, motion: ArmMotion, settings: ExperimentSettings) -> Array:
    """Return the readings of noise-free sensors in a run, shape (3 modes, n, 8, 3)."""
    base = CompliantBase(BaseParameters.from_array(truth), settings.arm, REST, settings.period)
    _settle(base, settings)
    return base.follow(motion)
