#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the identified K5..K8 against the closed form, over robots, engines and sensors.

agv is run with its friction and, as agv-, without. Prints one row per setting: over the seeds, the
root mean square and the largest error in % of the closed form, and the share of runs whose interval
of two standard deviations holds the truth.

    ./diffbot python benchmarks/identification.py [--seeds 10] [--engine gazebo]
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from diffbot_description import load_robot
from diffbot_study.identification import simulate_identification
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
HEADER = "robot engine  time counts noise |  rms error %: K5 K6 K7 K8 |  largest | inside 2 sigma %"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="runs per row")
    parser.add_argument("--engine", nargs="+", default=["ideal", "mujoco"], help="of these only")
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        print_table(cluster, range(arguments.seeds), arguments.engine)


def print_table(cluster: Cluster, seeds: range, engines: list[str]) -> None:
    """Print a row for each robot and setting."""
    print(HEADER)
    agv = load_robot("agv")
    robots = {"twil": load_robot("twil"), "agv": agv, "agv-": agv.without_friction()}
    for name, robot in robots.items():
        for engine, seconds, counts, noise in SETTINGS:
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
            columns = (np.sqrt(np.mean(errors**2, axis=0)), np.max(np.abs(errors), axis=0))
            cells = [" ".join(f"{value:6.3f}" for value in column) for column in columns]
            cells.append(" ".join(f"{100.0 * value:4.0f}" for value in inside))
            head = f"{name:5} {engine:6} {seconds:4.0f}s {counts:6d} {noise:5.2f}"
            print(head, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
