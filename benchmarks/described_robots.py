#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""URDF and xacro files: conversion to robots, and their identification on both engines.

Prints one row per file: detected wheels, radius, track, mass, centre of mass ahead of the axle; the
number of replaced and of assumed values of the URDF; then for each engine, over all seeds and
K5..K8, the largest error in standard deviations of the estimate, how many of the 95 % intervals
contain the closed form, the mean error of K8, and parameters that the motion could not identify.
The row of a rejected file contains the reason. Details of one file: ./diffbot describe FILE.

    ./diffbot python benchmarks/described_robots.py FILE [FILE ...] [--seeds 3] [--first 0]
        [--seconds 30]
"""

from __future__ import annotations

import argparse
import logging
from functools import partial
from pathlib import Path

import numpy as np

from diffbot_description import Robot, load_robot
from diffbot_description.described_robot import described_from
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_study.simulated_identification import simulate_identification
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

ENGINES = ("ideal", "mujoco")
NAMES = ("K5", "K6", "K7", "K8")


def identified(cluster: Cluster, robot: Robot, engine: str, seeds: range, seconds: float) -> str:
    """Return the largest error in standard deviations and the coverage of the intervals."""
    work = partial(simulate_identification, robot, engine, seconds=seconds)
    runs = cluster.map(work, seeds)
    known = np.isfinite([run.estimate.variances for run in runs])
    errors = np.abs([run.normalised_errors for run in runs])[known]
    absent = [name for name, there in zip(NAMES, known.all(axis=0), strict=True) if not there]
    unknown = f", not identifiable: {' '.join(absent)}" if absent else ""
    inside = np.count_nonzero(errors < NORMAL_95)
    k8 = np.array([run.errors[3] for run in runs])
    bias = f"K8 {k8.mean():+.3f} +- {k8.std() / np.sqrt(len(k8)):.3f} %"
    return f"{errors.max():.1f} sigma, {inside} of {errors.size} inside, {bias}{unknown}"


def row(cluster: Cluster, path: Path, seeds: range, seconds: float) -> str:
    """Return the row of a file."""
    try:
        described = described_from(path.absolute())
    except ValueError as error:
        return f"refused: {str(error).removeprefix(f'{path.absolute()}: ')}"
    description, robot = described.description, load_robot(path)
    x = 1000 * robot.body.center_of_mass.x
    cells = [
        robot.name,
        ", ".join(robot.joints.names),
        f"{robot.wheels.radius:.4g} m",
        f"{robot.wheels.separation:.4g} m",
        f"{robot.body.mass + 2 * robot.wheels.mass:.4g} kg",
        f"{x:.3g} mm",
        f"{len(description.corrected)} replaced",
        f"{len(description.assumed)} assumed",
        *(f"{engine}: {identified(cluster, robot, engine, seeds, seconds)}" for engine in ENGINES),
    ]
    return " | ".join(cells)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of the excitation, s")
    add_cluster_options(parser, limit=None)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # warnings of robots from a URDF
    seeds = range(options.first, options.first + options.seeds)
    with Cluster(options.scheduler, options.workers) as cluster:
        for path in options.files:
            print(f"{path}: {row(cluster, path, seeds, options.seconds)}", flush=True)


if __name__ == "__main__":
    main()
