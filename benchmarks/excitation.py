#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time that excitations need for a given precision of K5..K8, within an arena.

All kinds have the same torque, speed limits and arena, and predict with K5..K8 that are wrong by up
to 30 % each, drawn per seed. For each kind, prints the 95th percentiles over the seeds of the
errors in %, the smallest distance of any part of the robot to the walls by the true pose, the share
of replaced torques, and the predicted and achieved bits. Then, for several precisions, the time
after which the 95th percentile stays below, for all four together ("all") and for each.

    ./diffbot python benchmarks/excitation.py [--seeds 60] [--robot twil] [--torque-noise 0.05]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from diffbot_description import load_robot
from diffbot_description.robot import Friction
from diffbot_ident.excitation.body_model import BodyPrior
from diffbot_ident.excitation.excitations import nominal_prior
from diffbot_ident.excitation.safety_filter import Arena
from diffbot_study.simulated_identification import IdentificationRun, simulate_identification
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

# Kind and hold in control periods; the first is the reference for the others.
EXCITATIONS = (("prbs", 10), ("multisine", 20), ("optimised", 20))
REGISTER = 10
# Required precisions of K5, K6, K7, K8, %. The first is the default of the project.
PRECISIONS = (
    (5.0, 5.0, 1.0, 1.0),
    (1.0, 1.0, 1.0, 1.0),
    (2.0, 2.0, 0.5, 0.5),
    (1.0, 1.0, 0.3, 0.3),
    (0.5, 0.5, 0.1, 0.1),
)


def perturbed_prior(prior: BodyPrior, seed: int) -> BodyPrior:
    """Return the prior with each of K5..K8 wrong by up to its spread, uniform, by seed."""
    spread = np.array(prior.spread)
    factors = 1.0 + np.random.default_rng(seed).uniform(-spread, spread)
    return replace(prior, values=tuple(np.array(prior.values) * factors))


def percentiles(runs: list[IdentificationRun]) -> NDArray[np.float64]:
    """Return the 95th percentile over runs of the absolute errors in %, shape (times, 4)."""
    errors = [100.0 * np.abs(run.history / run.truth - 1.0) for run in runs]
    return np.percentile(errors, 95.0, axis=0)


def time_below(times: NDArray[np.float64], below: NDArray[np.bool_]) -> float:
    """Return the first time from which `below` stays true, s; infinite without one."""
    beyond = np.flatnonzero(~below)
    after = 0 if len(beyond) == 0 else beyond[-1] + 1
    return float(times[after]) if after < len(times) else np.inf


def times_needed(
    times: NDArray[np.float64], errors: NDArray[np.float64], precision: tuple[float, ...]
) -> list[float]:
    """Return the times for [all, K5, K6, K7, K8] to reach a precision, s."""
    below = errors <= np.array(precision)
    return [time_below(times, each) for each in (below.all(axis=1), *below.T)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="runs per excitation")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=40.0, help="robot time of a run, s")
    parser.add_argument("--robot", default="twil")
    parser.add_argument("--engine", default="mujoco")
    parser.add_argument("--estimator", default="integral", help="integral or rls")
    parser.add_argument("--counts", type=int, default=4096, help="encoder counts per revolution")
    parser.add_argument("--torque-noise", type=float, default=0.0, help="relative to the torque")
    parser.add_argument("--record", type=float, default=0.1, help="resolution of the times, s")
    parser.add_argument(
        "--viscous", type=float, default=0.0, help="friction of both wheels, N m s/rad"
    )
    parser.add_argument("--coulomb", type=float, default=0.0, help="friction of both wheels, N m")
    parser.add_argument("--arena", type=float, default=3.0, help="length and width, m")
    parser.add_argument("--only", nargs="+", help="kinds, for example prbs10 optimised20")
    add_cluster_options(parser, limit=None)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    errors = {}
    print("excitation  | p95 error % of K5 K6 K7 K8 at 5 s, 20 s, end | bits achieved predicted |")
    with Cluster(options.scheduler, options.workers) as cluster:
        for kind, hold in EXCITATIONS:
            name = f"{kind}{hold}"
            if options.only and name not in options.only:
                continue
            runs = cluster.map(partial(run, options, kind, hold), seeds)
            times, errors[name] = runs[0].times, percentiles(runs)
            print_runs(name, runs, times, errors[name], 0.5 * options.arena)
    print("\nseconds until p95 stays below  | all K5 K6 K7 K8 | ratio to the first excitation")
    for precision in PRECISIONS:
        first = None
        for name, p95 in errors.items():
            needed = np.array(times_needed(times, p95, precision))
            first = needed if first is None else first
            cells = " ".join(f"{value:6.1f}" for value in needed)
            with np.errstate(invalid="ignore"):
                ratios = " ".join(f"{value:5.2f}" for value in needed / first)
            print(f"{precision} % {name:12} | {cells} | {ratios}")


def run(options: argparse.Namespace, kind: str, hold: int, seed: int) -> IdentificationRun:
    """Return a run with its own prior."""
    robot = load_robot(options.robot)
    nominal = nominal_prior(robot)
    friction = Friction((options.viscous,) * 2, (options.coulomb,) * 2)
    return simulate_identification(
        replace(robot, friction=friction),
        options.engine,
        seed,
        options.seconds,
        options.counts,
        options.torque_noise,
        excitation=kind,
        arena=Arena(options.arena, options.arena),
        hold=hold,
        register=REGISTER,
        prior=perturbed_prior(nominal, seed),
        record=options.record,
        estimator=options.estimator,
    )


def print_runs(
    name: str,
    runs: list[IdentificationRun],
    times: NDArray[np.float64],
    errors: NDArray[np.float64],
    wall: float,
) -> None:
    """Print a row of the first table."""
    cells = [
        " ".join(f"{value:5.2f}" for value in errors[np.searchsorted(times, at - 1e-9)])
        for at in (min(5.0, times[-1]), min(20.0, times[-1]), times[-1])
    ]
    extent = np.max([run.extent for run in runs])
    outside = sum(np.max(run.extent) > wall for run in runs)
    speeds = np.max([run.speeds for run in runs], axis=0)
    bits = [np.mean([run.information for run in runs])]
    bits.append(np.mean([run.predicted_information for run in runs]))
    print(
        f"{name:12}| {' | '.join(cells)} | bits {bits[0]:.1f} {bits[1]:.1f} "
        f"| farthest {extent:.3f} m, outside in {outside} of {len(runs)} "
        f"| |v|, |omega| to {100 * speeds[0]:.0f} {100 * speeds[1]:.0f} % of the limits "
        f"| replaced {100 * np.mean([run.guarded for run in runs]):.1f} %",
        flush=True,
    )


if __name__ == "__main__":
    main()
