#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time that excitations need for a given precision of K5..K8, within an arena.

All kinds have the same torque, speed limits and arena, and predict with K5..K8 that are wrong by up
to 30 % each, drawn per seed. For each kind, prints the 95th percentiles over the seeds of the
errors in %, the smallest distance of any part of the robot to the walls by the true pose, the share
of replaced torques, and the predicted and achieved bits. Then, for several precisions, the time
after which the 95th percentile stays below, for all four together ("all") and for each.

    ./diffbot python benchmarks/excitation.py [--robots 60] [--type twil] [--torque-noise 0.05]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from benchmark_tables import Table, options, percent
from ensemble import ensemble

from diffbot_description import load_robot
from diffbot_description.arena import Arena
from diffbot_description.robot import Friction
from diffbot_ident.excitation.body_model import BodyPrior
from diffbot_ident.excitation.excitations import nominal_prior
from diffbot_study.simulated_identification import IdentificationRun, simulate_identification

# Kind and hold in control periods; the first is the reference for the others.
EXCITATIONS = {"prbs10": ("prbs", 10), "multisine20": ("multisine", 20)}
EXCITATIONS["optimised20"] = ("optimised", 20)
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


def time_below(times: np.ndarray, below: np.ndarray) -> float:
    """Return the first time from which `below` stays true, s; infinite without one."""
    beyond = np.flatnonzero(~below)
    after = 0 if len(beyond) == 0 else beyond[-1] + 1
    return float(times[after]) if after < len(times) else np.inf


def run(arguments: argparse.Namespace, kind: str, seed: int) -> IdentificationRun:
    """Return a run with its own prior."""
    robot, (excitation, hold) = load_robot(arguments.type), EXCITATIONS[kind]
    friction = Friction((arguments.viscous,) * 2, (arguments.coulomb,) * 2)
    return simulate_identification(
        replace(robot, friction=friction),
        arguments.engine,
        seed,
        arguments.seconds,
        arguments.counts,
        arguments.torque_noise,
        excitation=excitation,
        arena=Arena(arguments.arena, arguments.arena),
        hold=hold,
        register=REGISTER,
        prior=perturbed_prior(nominal_prior(robot), seed),
        record=arguments.record,
        estimator=arguments.estimator,
    )


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, robots=10, cluster=True)
    parser.add_argument("--seconds", type=float, default=40.0, help="robot time of a run, s")
    parser.add_argument("--type", default="twil", help="robot of all runs")
    parser.add_argument("--engine", default="mujoco")
    parser.add_argument("--estimator", default="integral", help="integral or rls")
    parser.add_argument("--counts", type=int, default=4096, help="encoder counts per revolution")
    parser.add_argument("--torque-noise", type=float, default=0.0, help="relative to the torque")
    parser.add_argument("--record", type=float, default=0.1, help="resolution of the times, s")
    parser.add_argument("--viscous", type=float, default=0.0, help="of both wheels, N m s/rad")
    parser.add_argument("--coulomb", type=float, default=0.0, help="of both wheels, N m")
    parser.add_argument("--arena", type=float, default=3.0, help="length and width, m")
    parser.add_argument("--only", nargs="+", choices=EXCITATIONS, default=list(EXCITATIONS))
    arguments = parser.parse_args()
    below: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    table = Table(
        "p95 of errors, %", "at 5 s", "20 s", "the end", "bits", "predicted", "farthest, m",
        "outside", "|v| |omega|, % of limits", "replaced, %",
    )  # fmt: skip
    with ensemble(arguments) as seeds:
        for name in arguments.only:
            runs = seeds.map(run, arguments, name)
            times = runs[0].times
            errors = [100.0 * np.abs(each.history / each.truth - 1.0) for each in runs]
            p95 = np.percentile(errors, 95.0, axis=0)
            below[name] = times, p95
            looks = (min(5.0, times[-1]), min(20.0, times[-1]), times[-1])
            table.row(
                name,
                *p95[[int(np.searchsorted(times, at - 1e-9)) for at in looks]],
                float(np.mean([each.information for each in runs])),
                float(np.mean([each.predicted_information for each in runs])),
                float(np.max([each.extent for each in runs])),
                sum(np.max(each.extent) > 0.5 * arguments.arena for each in runs),
                percent(np.max([each.speeds for each in runs], axis=0)),
                percent(np.mean([each.guarded for each in runs])),
            )
    table = Table("s until p95 stays below", "% of K5..K8", "all K5 K6 K7 K8", "ratio to the first")
    for precision in PRECISIONS:
        first = None
        for name, (times, p95) in below.items():
            inside = p95 <= np.array(precision)
            needed = np.array([time_below(times, e) for e in (inside.all(axis=1), *inside.T)])
            first = needed if first is None else first
            with np.errstate(invalid="ignore"):
                table.row(name, precision, needed, needed / first)


if __name__ == "__main__":
    main()
