#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reliability of the estimates: errors, coverage, identifiability, delay and wiring over seeds.

Runs on the ideal engine with wheel friction, PRBS10 with a hold of 20 control periods of
10 ms. Parts:

errors    95th percentile of |error| in % of K5, K6, K7, K8 at 5, 20 and 60 s; --fast lets the
          excitation use the robot's own speed limits, which improves K5 and K6.
coverage  share of the runs of 20 s whose 95 % intervals contain the truth, for each of K5..K8.
axle      share of the runs reported as "not identifiable": with the centre of mass on the axle,
          straight ones, and good ones.
delay     share of the runs in which a torque delay of 0 to 3 control periods is identified.
wiring    time until swapped wheels or a flipped sign are reported.

Reference for the errors: 95th percentiles of 60 runs of a prototype without speed limits,
K5/K6/K7/K8 in %:

    counts, torque noise | 5 s              | 20 s             | 60 s
    4096, 1 %            | 1.2/3.0/.19/.18  | .32/.76/.09/.08  | .13/.23/.05/.04
    4096, 5 %            | 5.5/9.4/.68/.58  | 1.4/3.3/.36/.30  | .65/1.2/.17/.15
    2000, 5 %            | 5.3/11/.76/.70   | 1.5/3.2/.31/.36  | .67/1.1/.17/.18

--random N uses N random robots (diffbot_study.random_robots) instead, 20 s each. For each of K5..K8
and each friction, prints the coverage of the intervals, with its own 95 % interval, and the errors;
Coulomb friction relative to the excitation's amplitude, viscous friction relative to the amplitude
per top speed.

    ./diffbot python benchmarks/trust.py --random 200 [--engine mujoco] [--unmodelled stribeck]
    ./diffbot python benchmarks/trust.py --random 60 --turning --estimators integral
    ./diffbot python benchmarks/trust.py errors [--fast] [--robots twil agv] [--seeds 60]
    ./diffbot python benchmarks/trust.py coverage --seeds 200
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from made_recordings.excited_runs import RecordedRun, RunSetting, record, record_runs
from made_recordings.random_runs import UNMODELLED
from random_robots import table

from diffbot_ident.excitation.signals import LEVELS
from diffbot_ident.torque.estimate import NORMAL_95, Estimate, EstimateState
from diffbot_ident.torque.estimators import ESTIMATORS, make_estimator
from diffbot_ident.torque.wiring import Wiring
from diffbot_sim.engines import ENGINES
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

TIMES = (5.0, 20.0, 60.0)  # s
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
WIRINGS = (
    ("l", "r"),
    ("-l", "-r"),
    ("-l", "r"),
    ("l", "-r"),
    ("r", "l"),
    ("-r", "-l"),
    ("-r", "l"),
    ("r", "-l"),
)


@dataclass(frozen=True)
class TrustResult:
    """Estimates of one run at several times, by estimator, and the truth."""

    truth: np.ndarray
    estimates: dict[str, list[Estimate]]


def learn(run: RecordedRun, estimators: tuple[str, ...], times: tuple[float, ...]) -> TrustResult:
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
    return TrustResult(run.truth, results)


def some_runs(
    seeds: list[int], setting: RunSetting, estimators: tuple[str, ...], times: tuple[float, ...]
) -> list[TrustResult]:
    """Record and identify some runs."""
    runs = record_runs(setting, seeds, times[-1])
    return [learn(run, estimators, times) for run in runs]


def all_runs(cluster: Cluster, seeds: range, **work: object) -> list[TrustResult]:
    """Run some_runs in parallel."""
    count = max(2, len(seeds) // 15)
    parts = [part.tolist() for part in np.array_split(np.array(seeds), count) if len(part)]
    return [run for result in cluster.map(partial(some_runs, **work), parts) for run in result]


def first_named(seed: int, setting: RunSetting, seconds: float) -> tuple[float, str, str]:
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


def errors(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table of the errors."""
    for robot in arguments.robots:
        for counts, noise in SENSORS:
            setting = RunSetting(robot, counts, noise, fast=arguments.fast)
            runs = all_runs(
                cluster,
                arguments.range,
                setting=setting,
                estimators=arguments.estimators,
                times=arguments.times,
            )
            for name in arguments.estimators:
                cells = []
                for i in range(len(arguments.times)):
                    values = np.array([run.estimates[name][i].values for run in runs])
                    off = 100.0 * np.abs(values / [run.truth for run in runs] - 1.0)
                    cells.append(" ".join(f"{x:6.3f}" for x in np.percentile(off, 95.0, axis=0)))
                yield " | ".join((f"{robot:4} {counts} {noise:4.2f} {name:8}", *cells))


def inside(estimates: list[Estimate], truths: np.ndarray) -> np.ndarray:
    """Return whether the 95 % intervals contain the truth, one row per run."""
    values = np.array([estimate.values for estimate in estimates])
    deviations = np.sqrt([estimate.variances for estimate in estimates])
    return np.abs(values - truths) <= NORMAL_95 * deviations


def coverage(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table of the coverage of the intervals."""
    for robot in arguments.robots:
        for title, setting in COVERAGE.items():
            setting = replace(setting, robot=robot, fast=arguments.fast)
            runs = all_runs(
                cluster,
                arguments.range,
                setting=setting,
                estimators=arguments.estimators,
                times=(TIMES[1],),
            )
            truths = np.array([run.truth for run in runs])
            for name in arguments.estimators:
                last = [run.estimates[name][-1] for run in runs]
                shares = 100.0 * inside(last, truths).mean(axis=0)
                cells = " ".join(f"{fraction:5.1f}" for fraction in shares)
                yield f"{robot:4} {title:33} {name:8} | {cells} % of {len(runs)} runs"


def axle(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table of parameters reported as not identifiable."""
    for robot in arguments.robots:
        for title, setting in AXLE.items():
            setting = replace(setting, robot=robot, fast=arguments.fast)
            integral = ("integral",)
            runs = all_runs(
                cluster, arguments.range, setting=setting, estimators=integral, times=(TIMES[1],)
            )
            last = [run.estimates["integral"][-1] for run in runs]
            vague = np.mean([np.isinf(estimate.variances) for estimate in last], axis=0)
            cells = " ".join(f"{100.0 * fraction:5.1f}" for fraction in vague)
            reasons = sorted({reason for e in last for reason in e.parameter_reasons if reason})
            yield f"{robot:4} {title:28} | not identifiable in {cells} % | {reasons[:1]}"


def delay(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table of identified delays."""
    for robot in arguments.robots:
        for periods in range(4):
            setting = RunSetting(robot, noise=0.05, delay=periods, fast=arguments.fast)
            integral = ("integral",)
            runs = all_runs(
                cluster, arguments.range, setting=setting, estimators=integral, times=(2.0, 5.0)
            )
            cells = [
                sum(run.estimates["integral"][i].delay == periods for run in runs) for i in (0, 1)
            ]
            yield f"{robot:4} delay {periods} | found at 2 s, 5 s in {cells} of {len(runs)} runs"


def wiring(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table of times until wrong wiring is reported."""
    for robot in arguments.robots:
        for wires in WIRINGS:
            setting = RunSetting(robot, noise=0.05, wiring=wires, fast=arguments.fast)
            work = partial(first_named, setting=setting, seconds=5.0)
            runs = cluster.map(work, arguments.range)
            times, reasons, before = zip(*runs, strict=True)
            late = f"named first {min(times):.2f} s, last {max(times):.2f} s"
            yield f"{robot:4} wheels get {wires} | {late} | {sorted(set(reasons))}"
            yield from (f"     before that: {reason}" for reason in sorted({*before} - {""})[:3])


PARTS: dict[str, Callable[[Cluster, argparse.Namespace], Iterator[str]]] = {
    "errors": errors,
    "coverage": coverage,
    "axle": axle,
    "delay": delay,
    "wiring": wiring,
}


def print_random(arguments: argparse.Namespace) -> None:
    """Print the tables of random robots, one for each estimator."""
    seeds = range(arguments.first, arguments.first + arguments.random)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for name in arguments.estimators:
            lines = table(
                cluster,
                seeds,
                engine=arguments.engine,
                estimator=name,
                friction=not arguments.frictionless,
                unmodelled=arguments.unmodelled,
                turning=arguments.turning,
                levels=arguments.levels,
            )
            for line in lines:
                print(line, flush=True)


def main() -> None:
    """Print the tables of the requested parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="only these parts")
    parser.add_argument("--seeds", type=int, default=60, help="runs per row")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--robots", nargs="+", default=["twil", "agv"])
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS)
    parser.add_argument(
        "--times", nargs="+", type=float, default=TIMES, help="times of the errors, s"
    )
    parser.add_argument(
        "--fast", action="store_true", help="excite up to the robot's own speed limits"
    )
    parser.add_argument("--random", type=int, metavar="N", help="N random robots, no other part")
    parser.add_argument(
        "--engine", default="ideal", choices=ENGINES, help="engine of random robots"
    )
    parser.add_argument(
        "--unmodelled", choices=UNMODELLED, help="effect outside the model on random robots"
    )
    parser.add_argument(
        "--frictionless", action="store_true", help="random robots without friction"
    )
    parser.add_argument("--turning", action="store_true", help="random robots with skid steer")
    parser.add_argument(
        "--levels", type=int, default=2, choices=LEVELS, help="torque levels of random robots"
    )
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    arguments.times = tuple(arguments.times)
    arguments.range = range(arguments.first, arguments.first + arguments.seeds)
    if arguments.random is not None and arguments.random < 1:
        parser.error(f"--random {arguments.random}: must be 1 or more robots")
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; choose of {', '.join(PARTS)}")
    if arguments.random is not None:
        print_random(arguments)
        return
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for part in arguments.parts:
            print(f"--- {part}", flush=True)
            for line in PARTS[part](cluster, arguments):
                print(line, flush=True)


if __name__ == "__main__":
    main()
