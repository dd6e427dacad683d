#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""URDF and xacro files: conversion to robots, and their identification on both engines.

Prints one row per file: detected wheels, radius, track, mass, centre of mass ahead of the axle; the
number of replaced and of assumed values of the URDF; then for each engine, over all seeds and
K5..K8, the largest error in standard deviations of the estimate, how many of the 95 % intervals
contain the closed form, the mean error of K8, and parameters that the motion could not identify.
The row of a rejected file contains the reason. Details of one file: ./diffbot describe FILE.

    ./diffbot python benchmarks/described_robots.py FILE [FILE ...] [--robots 3] [--seed 0]
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from benchmark_tables import Table, contains, options
from ensemble import Ensemble, ensemble

from diffbot_description import Robot, load_robot
from diffbot_description.described_robot import described_from
from diffbot_ident.estimate import NAMES
from diffbot_study.simulated_identification import IdentificationRun, simulate_identification

ENGINES = ("ideal", "mujoco")


def run(robot: Robot, engine: str, seconds: float, seed: int) -> IdentificationRun:
    """Identify a robot."""
    return simulate_identification(robot, engine, seed, seconds)


def identified(runs: list[IdentificationRun]) -> str:
    """Return the largest error in standard deviations and the coverage of the intervals."""
    known = np.isfinite([run.estimate.variances for run in runs])
    errors = np.array([run.normalised_errors for run in runs])[known]
    absent = [name for name, there in zip(NAMES, known.all(axis=0), strict=True) if not there]
    unknown = f", not identifiable: {' '.join(absent)}" if absent else ""
    inside = np.count_nonzero(contains(errors, 1.0, 0.0))
    k8 = np.array([run.errors[3] for run in runs])
    bias = f"K8 {k8.mean():+.3f} +- {k8.std() / np.sqrt(len(k8)):.3f} %"
    largest = np.abs(errors).max()
    return f"{largest:.1f} sigma, {inside} of {errors.size} inside, {bias}{unknown}"


def row(seeds: Ensemble, path: Path, seconds: float) -> list[object]:
    """Return the row of a file."""
    try:
        described = described_from(path.absolute())
    except ValueError as error:
        return [f"refused: {str(error).removeprefix(f'{path.absolute()}: ')}"]
    description, robot = described.description, load_robot(path)
    return [
        ", ".join(robot.joints.names),
        f"{robot.wheels.radius:.4g} m",
        f"{robot.wheels.separation:.4g} m",
        f"{robot.body.mass + 2 * robot.wheels.mass:.4g} kg",
        f"{1000 * robot.body.center_of_mass.x:.3g} mm",
        f"{len(description.corrected)} replaced, {len(description.assumed)} assumed",
        *(identified(seeds.map(run, robot, engine, seconds)) for engine in ENGINES),
    ]


def main() -> None:
    """Print the rows."""
    parser = options(__doc__, robots=3, cluster=True)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of the excitation, s")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # warnings of robots from a URDF
    table = Table(
        "file", "wheels", "radius", "track", "mass", "ahead", "values", *ENGINES, width=40
    )
    with ensemble(arguments) as seeds:
        for path in arguments.files:
            table.row(str(path), *row(seeds, path, arguments.seconds))


if __name__ == "__main__":
    main()
