#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the identified K5..K8 against the closed form, over robots, engines and sensors.

agv has its friction, agv- is the same robot without; carrier27 is benchmarks/robots/carrier27.yaml,
a robot with friction. Prints one row per setting: over the seeds, the mean, rms and largest error
in % of the closed form, and the share of runs whose interval of two standard deviations contains
the truth.

    ./diffbot python benchmarks/identification.py [--seeds 10] [--first 0] [--engine gazebo]
        [--robots twil agv agv- carrier27]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from diffbot_description import load_robot
from diffbot_study.simulated_identification import simulate_identification
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

# Engine, robot time in s, encoder counts per revolution, torque noise as a share of the torque.
SETTINGS = (
    ("ideal", 30.0, 0, 0.0),
    ("ideal", 30.0, 4096, 0.0),
    ("ideal", 30.0, 4096, 0.05),
    ("mujoco", 60.0, 0, 0.0),
    ("mujoco", 60.0, 4096, 0.0),
    ("gazebo", 60.0, 0, 0.0),
    ("gazebo", 60.0, 4096, 0.0),
)
SETTINGS_OF_CARRIER27 = tuple(
    (engine, 20.0, 2048, 0.02) for engine in ("ideal", "mujoco", "gazebo")
)
ROBOTS = ("twil", "agv", "agv-", "carrier27")
CARRIER27 = Path(__file__).parent / "robots" / "carrier27.yaml"
HEADER = (
    "robot     engine  time counts noise |  mean error %: K5 K6 K7 K8 |  rms |  largest "
    "| inside 2 sigma %"
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="runs per row")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument(
        "--engine", nargs="+", default=["ideal", "mujoco"], help="only these engines"
    )
    parser.add_argument(
        "--robots", nargs="+", default=ROBOTS[:3], choices=ROBOTS, help="only these robots"
    )
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    print(HEADER)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for name in arguments.robots:
            print_rows(name, cluster, seeds, arguments.engine)


def print_rows(name: str, cluster: Cluster, seeds: range, engines: list[str]) -> None:
    """Print a row for each setting of a robot."""
    carrier = name == "carrier27"
    robot = load_robot(CARRIER27 if carrier else name.removesuffix("-"))
    if name.endswith("-"):
        robot = robot.without_friction()
    for engine, seconds, counts, noise in SETTINGS_OF_CARRIER27 if carrier else SETTINGS:
        if engine not in engines:
            continue
        work = partial(
            simulate_identification,
            robot,
            engine,
            seconds=seconds,
            encoder_counts=counts,
            torque_noise=noise,
        )
        runs = cluster.map(work, seeds)
        errors = np.array([run.errors for run in runs])
        inside = np.mean([np.abs(run.normalised_errors) < 2.0 for run in runs], axis=0)
        columns = (
            np.mean(errors, axis=0),
            np.sqrt(np.mean(errors**2, axis=0)),
            np.max(np.abs(errors), axis=0),
        )
        cells = [" ".join(f"{value:6.3f}" for value in column) for column in columns]
        cells.append(" ".join(f"{100.0 * value:4.0f}" for value in inside))
        head = f"{name:9} {engine:6} {seconds:4.0f}s {counts:6d} {noise:5.2f}"
        print(head, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
