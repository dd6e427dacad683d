#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gains from synthetic SysId logs with backlash, slip, 20 ms filters and dead time, truth known.

    ./diffbot python benchmarks/sysid_logs.py [--robots 200] [--seed 1000] [--rigid] [--unfiltered]

Evaluates the left side, the right side and the forward axis of random robots
(made_recordings.sysid_logs.drawn): errors of ks, kv and ka (95th percentile), coverage of their
95 % intervals, and the number of refused results. Then runs every robot three times with different
noise, battery and grip, and counts how often all three intervals of a gain overlap pairwise. With
--rigid, robots have no backlash and never slip; with --unfiltered, velocities are those of the
row's time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmark_tables import INTERVALS, Table, interval_cells, options, percent
from ensemble import ensemble
from made_recordings.sysid_logs import MadeDrivetrain, drawn, make_logs, repeated

from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.sysid_log import TESTS, SysIdLog, read_sysid
from diffbot_recordings.verdict import AnalysisVerdict
from diffbot_recordings.voltage_analysis import analyse_voltages

NAMES = ("ks", "kv", "ka")
SUBJECTS = ("left side", "right side", "forward axis")
# Runs of each robot in the second table.
REPEATS = 3


def main() -> None:
    """Print both tables."""
    parser = options(__doc__, robots=200, seed=1000, cluster=True)
    parser.add_argument(
        "--repeated", type=int, default=40, help="number of robots that run three times"
    )
    parser.add_argument("--rigid", action="store_true", help="neither backlash nor slip")
    parser.add_argument(
        "--late", type=float, default=0.0, help="longest additional dead time of a robot, s"
    )
    parser.add_argument(
        "--own", action="store_true", help="each test of a robot has such a dead time of its own"
    )
    parser.add_argument("--unfiltered", action="store_true", help="velocities are not averaged")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    robots = [drawn(rng) for _ in range(arguments.robots)]
    if arguments.rigid:
        robots = [replace(robot, backlash=0.0, grip=math.inf) for robot in robots]
    if arguments.unfiltered:
        robots = [replace(robot, window=0.0) for robot in robots]
    logs = late_logs(robots, rng, arguments)
    with ensemble(arguments) as seeds:
        verdicts = seeds.cluster.map(analysed, logs)
        accuracy(robots, verdicts)
        again = robots[: arguments.repeated]
        if not again:
            return
        runs = [verdicts[: len(again)]]
        for k in range(1, REPEATS):
            others = [repeated(robot, rng) for robot in again]
            runs.append(seeds.cluster.map(analysed, make_logs(others, arguments.seed + k)))
        repeats(runs)


def late_logs(
    robots: Sequence[MadeDrivetrain], rng: np.random.Generator, arguments: argparse.Namespace
) -> list[Mapping[str, object]]:
    """Return the logs, with additional dead times of each robot, or of each of its tests."""
    if not arguments.late:
        return list(make_logs(robots, arguments.seed))
    logs: list[dict[str, object]] = [{} for _ in robots]
    more = rng.uniform(0.0, arguments.late, (len(robots), len(TESTS)))
    for k, test in enumerate(TESTS):
        late = more[:, k if arguments.own else 0]
        moved = [
            replace(robot, dead_time=robot.dead_time + float(each))
            for robot, each in zip(robots, late, strict=True)
        ]
        for log, made in zip(logs, make_logs(moved, arguments.seed), strict=True):
            log.update(made if not log else {test: made[test]})
    return list(logs)


def analysed(log: Mapping[str, object]) -> dict[str, AnalysisVerdict]:
    """Return the verdicts by subject."""
    return {result.verdict.subject: result.verdict for result in analyse_voltages([as_read(log)])}


def as_read(log: Mapping[str, object]) -> SysIdLog:
    """Return the log as it is read from its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text(json.dumps(log))
        return read_sysid(path)


def truth(robot: MadeDrivetrain, subject: str, name: str) -> float:
    """Return a true gain of a side, or of the forward axis, v = (V - ks) / kv as their mean."""
    left, right = getattr(robot, name)
    if subject != "forward axis":
        return float(left if subject == "left side" else right)
    # With equal voltages, the speed is the mean of both sides: 1 / kv and 1 / ka are means, and ks
    # is weighted by 1 / kv.
    if name == "ks":
        return float(np.average((left, right), weights=1.0 / np.array(robot.kv)))
    return 2.0 / (1.0 / left + 1.0 / right)


def accuracy(
    robots: Sequence[MadeDrivetrain], results: Sequence[Mapping[str, AnalysisVerdict]]
) -> None:
    """Print errors, intervals and refusals."""
    table = Table("errors in %", *INTERVALS, "refused")
    for subject in SUBJECTS:
        usable = [verdicts[subject].usable for verdicts in results]
        for name in NAMES:
            errors, deviations = [], []
            for robot, verdicts in zip(robots, results, strict=True):
                if verdicts[subject].usable:
                    value, true = verdicts[subject].value(name), truth(robot, subject, name)
                    errors.append(value.value / true - 1.0)
                    deviations.append(value.std / true)
            cells = interval_cells(errors, deviations)
            table.row(f"{subject} {name}", *cells, usable.count(False))


def repeats(runs: Sequence[Sequence[Mapping[str, AnalysisVerdict]]]) -> None:
    """Print how often three runs of a robot agree: their 95 % intervals overlap pairwise."""
    table = Table(f"{len(runs)} runs each", "overlap, %", "robots")
    for subject in SUBJECTS:
        for name in NAMES:
            agree = []
            for of_one in zip(*runs, strict=True):
                values = [v[subject].value(name) for v in of_one if v[subject].usable]
                agree.append(
                    all(
                        abs(a.value - b.value) <= NORMAL_95 * (a.std + b.std)
                        for a, b in itertools.combinations(values, 2)
                    )
                )
            table.row(f"{subject} {name}", percent(np.mean(agree)), len(agree))


if __name__ == "__main__":
    main()
