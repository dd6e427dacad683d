#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reliability of the estimates over seeds: errors, coverage, identifiability, delay and wiring.

Runs on the ideal engine with wheel friction, PRBS10 with a hold of 20 control periods of
10 ms. Parts:

errors    95th percentile of |error| in % of K5, K6, K7, K8 at 5, 20 and 60 s; --fast lets the
          excitation use the robot's own speed limits, which improves K5 and K6.
coverage  share of the runs of 20 s whose 95 % intervals contain the truth, for each of K5..K8.
axle      share of the runs reported as "not identifiable": with the centre of mass on the axle,
          straight ones, and good ones.
delay     share of the runs in which a torque delay of 0 to 3 control periods is identified.
wiring    time until swapped wheels or a flipped sign are reported.
random    random robots (diffbot_study.random_robots) instead, 20 s each: for each of K5..K8 and
          each friction the coverage of the intervals and the errors in %; Coulomb friction relative
          to the excitation's amplitude, viscous friction relative to the amplitude per top speed.

    ./diffbot python benchmarks/trust.py random --robots 200 [--engine mujoco]
    ./diffbot python benchmarks/trust.py random --unmodelled stribeck
    ./diffbot python benchmarks/trust.py errors [--fast] [--types twil agv]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmark_tables import INTERVALS, Table, contains, interval_cells, options, percent
from ensemble import Ensemble, ensemble
from made_recordings.excited_runs import RecordedRun, RunSetting, record
from made_recordings.random_runs import (
    UNMODELLED,
    record_random,
    with_turning,
    with_unmodelled_effect,
    without_friction,
)

from diffbot_description.robot import Turning
from diffbot_ident.estimate import FRICTION_NAMES, TURNING_NAMES, Estimate, EstimateState
from diffbot_ident.estimators import ESTIMATORS, make_estimator
from diffbot_ident.excitation.prbs import LEVELS
from diffbot_ident.torque.effects import EFFECTS
from diffbot_ident.torque.wiring import Wiring
from diffbot_sim.engines import ENGINES
from diffbot_study.random_robots import RandomRobot, draw

TIMES = (5.0, 20.0, 60.0)  # s
SECONDS = 20.0
# Encoder counts per revolution, torque noise.
SENSORS = ((4096, 0.01), (4096, 0.05), (2000, 0.05))
NO_FRICTION = {"viscous": (0.0, 0.0), "coulomb": (0.0, 0.0)}
EQUAL_FRICTION = {"viscous": (0.02, 0.02), "coulomb": (0.1, 0.1)}
COVERAGE = {
    "4096 counts, 1 %, friction": RunSetting(),
    "4096 counts, 5 %, friction": RunSetting(noise=0.05),
    "2000 counts, 5 %, friction": RunSetting(counts=2000, noise=0.05),
    "4096 counts, 5 %, no friction": RunSetting(noise=0.05, **NO_FRICTION),
    "20 ms, 4096 counts, 5 %, friction": RunSetting(noise=0.05, period=0.02),
    "20 ms, 4096 counts, 1 %, friction": RunSetting(period=0.02),
    "40 ms, 4096 counts, 5 %, friction": RunSetting(noise=0.05, period=0.04),
    "40 ms, 4096 counts, 1 %, friction": RunSetting(period=0.04),
}
AXLE = {
    "centre of mass on the axle": RunSetting(noise=0.05, on_axle=True),
    "straight": RunSetting(noise=0.05, straight=True, **EQUAL_FRICTION),
    "good": RunSetting(noise=0.05),
}
WIRINGS = [
    (f"{signs[0]}{order[0]}", f"{signs[1]}{order[1]}")
    for order in ("lr", "rl")
    for signs in (("", ""), ("-", "-"), ("-", ""), ("", "-"))
]
PARAMETERS = ("K5", "K6", "K7", "K8", *FRICTION_NAMES, *TURNING_NAMES)
# Upper limits of the kinds of random robots, and the minimum number of robots of one.
STRATA = {
    "period, ms": (5.0, 12.0, 22.0, 40.0),
    "counts": (1000.0, 4000.0, 16384.0),
    "Coulomb, % of amplitude": (10.0, 25.0, 40.0),
    "delay, periods": (0.0, 1.0, 2.0, 3.5),
}
FEWEST = 5

Learnt = tuple[np.ndarray, dict[str, list[Estimate]]]
"""True K5..K8 of a run, and its estimates at several times by estimator."""


def learn(run: RecordedRun, estimators: Sequence[str], times: Sequence[float]) -> Learnt:
    """Feed one run to estimators and get the estimate of each at the times, s."""
    results: dict[str, list[Estimate]] = {}
    for name in estimators:
        estimator, left = make_estimator(name, run.geometry, run.scale), list(times)
        results[name] = []
        for sample in run.samples:
            estimator.update(sample)
            if left and sample.stamp >= left[0] - 1e-6:
                results[name].append(estimator.estimate())
                left.pop(0)
    return run.truth, results


def recorded(
    setting: RunSetting, estimators: Sequence[str], times: Sequence[float], seed: int
) -> Learnt:
    """Record and identify the run of a seed."""
    return learn(record(setting, seed, times[-1]), estimators, times)


def errors(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of the errors."""
    table = Table("robot counts noise", "estimator", *(f"{t:g} s" for t in arguments.times))
    for robot in arguments.types:
        for counts, noise in SENSORS:
            setting = RunSetting(robot, counts, noise, fast=arguments.fast)
            learnt = runs.map(recorded, setting, arguments.estimators, arguments.times)
            for name in arguments.estimators:
                values = np.array([[e.values for e in own[name]] for _, own in learnt])
                truth = np.array([truth for truth, _ in learnt])[:, None]
                off = np.percentile(100.0 * np.abs(values / truth - 1.0), 95.0, axis=0)
                table.row(f"{robot} {counts} {noise:g}", name, *off)


def coverage(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of the coverage of the intervals."""
    table = Table("robot, run", "estimator", "K5..K8 inside, %", width=40)
    for robot in arguments.types:
        for title, setting in COVERAGE.items():
            setting = replace(setting, robot=robot, fast=arguments.fast)
            learnt = runs.map(recorded, setting, arguments.estimators, (SECONDS,))
            for name in arguments.estimators:
                inside = [
                    contains(own[name][-1].values, np.sqrt(own[name][-1].variances), truth)
                    for truth, own in learnt
                ]
                table.row(f"{robot} {title}", name, percent(np.mean(inside, axis=0)))


def axle(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of parameters reported as not identifiable."""
    table = Table("robot, run", "not identifiable, %", "said", width=40)
    for robot in arguments.types:
        for title, setting in AXLE.items():
            setting = replace(setting, robot=robot, fast=arguments.fast)
            learnt = runs.map(recorded, setting, ("integral",), (SECONDS,))
            last = [own["integral"][-1] for _, own in learnt]
            vague = np.mean([np.isinf(estimate.variances) for estimate in last], axis=0)
            reasons = sorted({reason for e in last for reason in e.parameter_reasons if reason})
            table.row(f"{robot} {title}", percent(vague), "; ".join(reasons[:1]))


def delay(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of identified delays."""
    table = Table("robot, delay in periods", "found at 2 s", "at 5 s", "of")
    for robot in arguments.types:
        for periods in range(4):
            setting = RunSetting(robot, noise=0.05, delay=periods, fast=arguments.fast)
            learnt = runs.map(recorded, setting, ("integral",), (2.0, 5.0))
            known = np.array([[e.delay == periods for e in own["integral"]] for _, own in learnt])
            table.row(f"{robot} {periods}", *known.sum(axis=0), len(learnt))


def first_named(setting: RunSetting, seconds: float, seed: int) -> tuple[float, str, str]:
    """Return the time (s) until the wiring is reported, the report, and earlier invalidity."""
    run = record(setting, seed, seconds)
    estimator = make_estimator("integral", run.geometry, run.scale)
    before = ""
    for step, sample in enumerate(run.samples):
        estimator.update(sample)
        if step % 10 == 0 and (estimate := estimator.estimate()).state is EstimateState.INVALID:
            reason = estimate.reason
            if any(reason == wiring.problem for wiring in Wiring):
                return sample.stamp, reason, before
            before = before or f"{sample.stamp:.1f} s: {reason}"
    return np.inf, "", before


def wiring(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of times until wrong wiring is reported."""
    table = Table("robot, wheels get", "first, s", "last, s", "said")
    for robot in arguments.types:
        for wires in WIRINGS:
            setting = RunSetting(robot, noise=0.05, wiring=wires, fast=arguments.fast)
            times, reasons, before = zip(*runs.map(first_named, setting, 5.0), strict=True)
            said = "; ".join(sorted({*reasons} - {""}))
            table.row(f"{robot} {' '.join(wires)}", min(times), max(times), said)
            for reason in sorted({*before} - {""})[:3]:
                print(f"     before that: {reason}")


@dataclass(frozen=True)
class Outcome:
    """Results of one random robot.

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
    def strata(self) -> tuple[float, ...]:
        """Return the robot's values in the order of STRATA."""
        drawn, robot = self.drawn, self.drawn.robot
        friction = 100.0 * max(robot.friction.coulomb) / robot.excitation.amplitude
        return 1e3 * drawn.period, float(robot.encoder.counts), friction, drawn.delay


def outcome(arguments: argparse.Namespace, estimator: str, seed: int) -> Outcome:
    """Record the robot of a seed and identify it."""
    drawn, engine = replace(draw(seed), levels=arguments.levels), arguments.engine
    with TemporaryDirectory() as place:
        folder = None if engine == "ideal" else Path(place)
        if folder is not None:
            drawn = drawn.written(folder)
        if arguments.frictionless:
            drawn = without_friction(drawn)
        if arguments.unmodelled is not None:
            drawn = with_unmodelled_effect(drawn, arguments.unmodelled)
        if arguments.turning:
            drawn = with_turning(drawn, folder)
        run = record_random(drawn, SECONDS, engine)
    learner = make_estimator(estimator, run.geometry, run.scale, turning=arguments.turning)
    for sample in run.samples:
        learner.update(sample)
    result, robot = learner.estimate(), drawn.robot
    amplitude, wheels = robot.excitation.amplitude, robot.wheels
    viscous = amplitude * wheels.radius / robot.excitation.linear_velocity
    resistance, left = robot.turning or Turning(0.0, 0.0), drawn.friction_at(SECONDS)
    moment = 2.0 * amplitude * wheels.half_track / wheels.radius
    truth = np.array(
        [*run.truth, *left.viscous, *left.coulomb, resistance.viscous, resistance.coulomb]
    )
    scale = [*np.abs(run.truth), *(viscous,) * 2, *(amplitude,) * 2]
    scale += [moment / robot.excitation.angular_velocity, moment]
    values, deviations = np.full(10, math.nan), np.full(10, math.nan)
    values[:4], deviations[:4] = result.values, np.sqrt(np.diag(result.covariance))
    if result.friction is not None:
        values[4:8], deviations[4:8] = result.friction.values, np.sqrt(result.friction.variances)
    if result.turning is not None:
        values[8:], deviations[8:] = result.turning.values, np.sqrt(result.turning.variances)
    return Outcome(drawn, result, (values - truth) / scale, deviations / scale)


def random(runs: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the tables of random robots, one for each estimator."""
    for name in arguments.estimators:
        results = runs.map(outcome, arguments, name)
        bad = [run for run in results if run.estimate.state is not EstimateState.ESTIMATED]
        print(f"{len(results)} robots on {arguments.engine}, {name}; not judged good: {len(bad)}")
        for run in bad[:5]:
            print(f"    seed {run.drawn.seed}: {run.estimate.reason}")
        errors = np.array([run.errors for run in results])
        deviations = np.array([run.deviations for run in results])
        table = Table("errors in %", *INTERVALS, width=14)
        for parameter, error, deviation in zip(PARAMETERS, errors.T, deviations.T, strict=True):
            if np.isfinite(error / deviation).any():
                table.row(parameter, *interval_cells(error, deviation))
        _print_worst(results, contains(errors, deviations, 0.0)[:, :8])
        if name == "integral":
            _print_named(results)


def _print_worst(runs: list[Outcome], inside: np.ndarray) -> None:
    """Print the stratum of each kind with the lowest coverage."""
    strata = np.array([run.strata for run in runs])
    for kind, (name, ends) in enumerate(STRATA.items()):
        results = []
        for low, high in zip((-math.inf, *ends[:-1]), ends, strict=True):
            own = (low < strata[:, kind]) & (strata[:, kind] <= high)
            if np.count_nonzero(own) >= FEWEST:
                shares = 100.0 * inside[own].mean(axis=0)
                worst = int(np.argmin(shares))
                results.append((shares[worst], PARAMETERS[worst], high, np.count_nonzero(own)))
        if results:
            fraction, parameter, high, count = min(results)
            print(f"worst of {name}: up to {high:g}, {parameter} {fraction:.0f} % of {count}")


def _print_named(runs: list[Outcome]) -> None:
    """Print how many runs name each effect; some warnings end with figures."""
    texts = [(run.estimate.warnings, run.estimate.since) for run in runs]
    named: dict[str, Any] = {
        effect.warning.split(":")[0]: [
            any(w.startswith(effect.warning) for w in warnings) for warnings, _ in texts
        ]
        for effect in EFFECTS
    }
    named["the robot changed"] = [math.isfinite(since) for _, since in texts]
    named["torques or friction drift"] = [
        any(" over the run" in w for w in warnings) for warnings, _ in texts
    ]
    for what, said in named.items():
        print(f"named in {sum(said):3} runs: {what}")


PARTS = {
    "errors": errors,
    "coverage": coverage,
    "axle": axle,
    "delay": delay,
    "wiring": wiring,
    "random": random,
}


def main() -> None:
    """Print the tables of the requested parts."""
    parser = options(__doc__, robots=60, cluster=True)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--types", nargs="+", default=["twil", "agv"], help="robots of the runs")
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS)
    parser.add_argument("--times", nargs="+", type=float, default=TIMES, help="of the errors, s")
    parser.add_argument("--fast", action="store_true", help="excite up to the speed limits")
    of_random = parser.add_argument_group("random robots")
    of_random.add_argument("--engine", default="ideal", choices=ENGINES)
    of_random.add_argument("--unmodelled", choices=UNMODELLED, help="an effect beyond the model")
    of_random.add_argument("--frictionless", action="store_true")
    of_random.add_argument("--turning", action="store_true", help="skid steer")
    of_random.add_argument("--levels", type=int, default=2, choices=LEVELS, help="torque levels")
    arguments = parser.parse_args()
    if arguments.robots < 1:
        parser.error(f"--robots {arguments.robots}: must be 1 or more")
    with ensemble(arguments) as runs:
        for part in arguments.parts:
            print(f"# {part}", flush=True)
            PARTS[part](runs, arguments)


if __name__ == "__main__":
    main()
