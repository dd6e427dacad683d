# SPDX-License-Identifier: Apache-2.0
"""Estimates of random robots: coverage and bias by parameter and kind of robot.

`benchmarks/trust.py --random N` prints `table`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from made_recordings.random_runs import (
    record_random,
    with_turning,
    with_unmodelled_effect,
    without_friction,
)

from diffbot_description.robot import Turning
from diffbot_ident.torque.effects import EFFECTS
from diffbot_ident.torque.estimate import (
    FRICTION_NAMES,
    NORMAL_95,
    TURNING_NAMES,
    Estimate,
    EstimateState,
)
from diffbot_ident.torque.estimators import make_estimator
from diffbot_study.random_robots import RandomRobot, draw
from diffbot_study.task_cluster import Cluster

SECONDS = 20.0
PARAMETERS = ("K5", "K6", "K7", "K8", *FRICTION_NAMES, *TURNING_NAMES)
# Upper limits of the strata.
STRATA = {
    "period, ms": (5.0, 12.0, 22.0, 40.0),
    "counts": (1000.0, 4000.0, 16384.0),
    "Coulomb, % of amplitude": (10.0, 25.0, 40.0),
    "delay, periods": (0.0, 1.0, 2.0, 3.5),
}
# Minimum number of runs for results on a stratum.
FEWEST = 5


@dataclass(frozen=True)
class Outcome:
    """Results of one robot.

    Attributes:
        drawn: The robot.
        estimate: Estimate after SECONDS.
        errors: Errors of PARAMETERS; K5..K8 relative to the truth, viscous friction relative to the
            excitation's amplitude per top speed, Coulomb friction relative to the amplitude, the
            turning resistance likewise relative to its largest moment. NaN for values that the
            estimator does not provide.
        deviations: Standard deviations of the estimate, in the same units.
    """

    drawn: RandomRobot
    estimate: Estimate
    errors: np.ndarray
    deviations: np.ndarray

    @property
    def inside(self) -> np.ndarray:
        """Whether each 95 % interval contains the truth."""
        return np.abs(self.errors) <= NORMAL_95 * self.deviations

    @property
    def strata(self) -> tuple[float, ...]:
        """Return the robot's values in the order of STRATA."""
        drawn, robot = self.drawn, self.drawn.robot
        friction = 100.0 * max(robot.friction.coulomb) / robot.excitation.amplitude
        return 1e3 * drawn.period, float(robot.encoder.counts), friction, drawn.delay


def outcome(
    seed: int,
    engine: str,
    folder: Path,
    estimator: str,
    friction: bool,
    unmodelled: str | None,
    turning: bool,
    levels: int,
) -> Outcome:
    """Record the robot of a seed and identify it."""
    drawn = replace(draw(seed), levels=levels)
    if engine != "ideal":
        drawn = drawn.written(folder)
    if not friction:
        drawn = without_friction(drawn)
    if unmodelled is not None:
        drawn = with_unmodelled_effect(drawn, unmodelled)
    if turning:
        drawn = with_turning(drawn, None if engine == "ideal" else folder)
    run = record_random(drawn, SECONDS, engine)
    learner = make_estimator(estimator, run.geometry, run.scale, turning=turning)
    for sample in run.samples:
        learner.update(sample)
    result = learner.estimate()
    robot = drawn.robot
    amplitude = robot.excitation.amplitude
    top_speed = robot.excitation.linear_velocity / robot.wheels.radius
    resistance = robot.turning or Turning(0.0, 0.0)
    friction_left = drawn.friction_at(SECONDS)
    truth = np.array(
        [
            *run.truth,
            *friction_left.viscous,
            *friction_left.coulomb,
            resistance.viscous,
            resistance.coulomb,
        ]
    )
    values, deviations = np.full(10, math.nan), np.full(10, math.nan)
    values[:4], deviations[:4] = result.values, np.sqrt(np.diag(result.covariance))
    if result.friction is not None:
        values[4:8], deviations[4:8] = result.friction.values, np.sqrt(result.friction.variances)
    if result.turning is not None:
        values[8:], deviations[8:] = result.turning.values, np.sqrt(result.turning.variances)
    moment = 2.0 * amplitude * robot.wheels.half_track / robot.wheels.radius
    top_rate = robot.excitation.angular_velocity
    scale = [*np.abs(run.truth), *(amplitude / top_speed,) * 2, *(amplitude,) * 2]
    scale += [moment / top_rate, moment]
    return Outcome(drawn, result, (values - truth) / scale, deviations / scale)


def table(
    cluster: Cluster,
    seeds: range,
    *,
    engine: str,
    estimator: str,
    friction: bool = True,
    unmodelled: str | None = None,
    turning: bool = False,
    levels: int = 2,
) -> Iterator[str]:
    """Yield the table lines for the robots of these seeds."""
    with TemporaryDirectory() as folder:
        work = partial(
            outcome,
            engine=engine,
            folder=Path(folder),
            estimator=estimator,
            friction=friction,
            unmodelled=unmodelled,
            turning=turning,
            levels=levels,
        )
        runs = cluster.map(work, seeds)
    bad = [run for run in runs if run.estimate.state is not EstimateState.ESTIMATED]
    yield f"{len(runs)} robots on {engine}, {estimator}; not judged good: {len(bad)}"
    yield from (f"    seed {run.drawn.seed}: {run.estimate.reason}" for run in bad[:5])
    for i, name in enumerate(PARAMETERS):
        known = [run for run in runs if math.isfinite(run.errors[i] / run.deviations[i])]
        if known:
            yield _line(name, known, i)
    yield from _worst(runs)
    if estimator == "integral":
        for named in EFFECTS:
            # Some warnings end with figures.
            said = [any(w.startswith(named.warning) for w in run.estimate.warnings) for run in runs]
            yield f"named in {sum(said):3} runs: {named.warning.split(':')[0]}"
        changed = sum(math.isfinite(run.estimate.since) for run in runs)
        yield f"named in {changed:3} runs: the robot changed"
        drifts = sum(any(" over the run" in w for w in run.estimate.warnings) for run in runs)
        yield f"named in {drifts:3} runs: torques or friction drift"


def _line(name: str, runs: list[Outcome], i: int) -> str:
    fraction, (low, high) = _fraction(runs, i)
    errors = 100.0 * np.array([run.errors[i] for run in runs])
    spread = float(np.std(errors)) / math.sqrt(len(errors))
    normalised = np.array([run.errors[i] / run.deviations[i] for run in runs])
    return (
        f"{name:14} inside {fraction:5.1f} % ({low:.0f} to {high:.0f})  error: median "
        f"{np.median(errors):+7.3f} %, mean {errors.mean():+7.3f} +- {spread:.3f} %, median size "
        f"{np.median(np.abs(errors)):6.3f} %, rms {np.sqrt(np.mean(normalised**2)):5.2f} sigma"
    )


def _fraction(runs: list[Outcome], i: int) -> tuple[float, tuple[float, float]]:
    """Return the share of the runs inside in %, with the 95 % interval of Wilson."""
    n, z = len(runs), NORMAL_95
    fraction = float(np.mean([run.inside[i] for run in runs]))
    middle = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(fraction * (1 - fraction) / n + (z / (2 * n)) ** 2)
    return 100.0 * fraction, (100.0 * (middle - half), 100.0 * (middle + half))


def _worst(runs: list[Outcome]) -> Iterator[str]:
    """Yield the stratum of each kind with the lowest coverage."""
    for k, (name, ends) in enumerate(STRATA.items()):
        results = []
        for low, high in zip((-math.inf, *ends[:-1]), ends, strict=True):
            own = [run for run in runs if low < run.strata[k] <= high]
            if len(own) >= FEWEST:
                shares = [100.0 * np.mean([run.inside[i] for run in own]) for i in range(8)]
                results.append((min(shares), PARAMETERS[int(np.argmin(shares))], high, len(own)))
        if results:
            fraction, parameter, high, count = min(results)
            yield f"worst of {name}: up to {high:g}, {parameter} {fraction:.0f} % of {count} robots"
