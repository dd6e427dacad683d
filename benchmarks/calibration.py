#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the calibration of radii and track: ensembles of random robots with wrong files.

The radius is within 5 % of the file, radii differ by up to 2 %, the track is within 10 %. Each
robot drives a minute in 4 m x 4 m (calibration_legs), with slip of --path-noise. Sensors:

    pose   20 Hz, 1 cm, 0.5 deg, 60 ms late, mounted anywhere within 20 cm and any yaw, 2 % outliers
    gyro   bias 0.02 rad/s (1 sigma) with a walk, 0.005 rad/s noise, scale within --gyro-scale-std,
           up to 30 ms delay
    tape   UMBmark: five squares of 4 m each way, ends scatter by 1 cm; three straight legs by 3 mm

Prints the 95th percentile of the errors, the coverage of the 95 % intervals, and the reduction of
odometry drift on ten other squares compared with the file's dimensions. With --right the files are
correct, and no calibration should be refused.

    ./diffbot python benchmarks/calibration.py pose --runs 100
    ./diffbot python benchmarks/calibration.py gyro --runs 100
    ./diffbot python benchmarks/calibration.py tape --runs 300
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from made_recordings.made_readings import (
    RAMP,
    MadeDrive,
    MadeGyro,
    MadePoses,
    calibration_legs,
    simulated_drive,
)

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import Calibration, calibrate
from diffbot_calibration.umbmark import Squares, calibrate_umbmark, square_end
from diffbot_recordings.wheel_path import WheelPath
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

GIVEN = WheelGeometry(0.075, 0.075, 0.27217)
"""The robot twil's file."""
SQUARES, SIDE = 10, 2.0


def random_geometry(rng: np.random.Generator) -> WheelGeometry:
    """Return true radii and track of a robot whose file contains GIVEN."""
    radius = GIVEN.left_radius * (1.0 + rng.uniform(-0.05, 0.05))
    half = rng.uniform(-0.01, 0.01)
    track = GIVEN.separation * (1.0 + rng.uniform(-0.1, 0.1))
    return WheelGeometry(radius * (1.0 - half), radius * (1.0 + half), track)


def by_sensor(
    sensor: str, true: WheelGeometry, rng: np.random.Generator, options: argparse.Namespace
) -> Calibration:
    """Calibrate a robot with one kind of sensor."""
    if sensor == "tape":
        return by_tape(true, rng)
    drive = simulated_drive(true, calibration_legs(options.duration), rng, options.path_noise)
    gyro = poses = None
    if "gyro" in sensor:
        scale = 1.0 + rng.normal(0.0, options.gyro_scale_std)
        gyro = drive.gyro(
            MadeGyro(bias=rng.normal(0.0, 0.02), scale=scale, delay=rng.uniform(0.0, 0.03)),
            rng,
        )
    if "pose" in sensor:
        x, y = rng.uniform(-0.2, 0.2, 2)
        jumps = [100.0 + rng.uniform(5.0, 55.0) for _ in range(options.jumps)]
        mounting = (float(x), float(y), float(rng.uniform(-3.0, 3.0)))
        poses = drive.poses(MadePoses(mounting=mounting, jumps=jumps), rng)
    return calibrate(
        drive.wheels,
        geometry=GIVEN,
        gyro=gyro,
        poses=poses,
        gyro_scale_std=options.gyro_scale_std,
    )


def by_tape(true: WheelGeometry, rng: np.random.Generator) -> Calibration:
    """Calibrate with UMBmark, five runs in each direction, and three straight legs."""
    ends = [
        np.array(square_end(4.0, clockwise, GIVEN, true)) + rng.normal(0.0, 0.01, (5, 2))
        for clockwise in (True, False)
    ]
    rolled = true.body_velocity(*GIVEN.wheel_velocity(4.0, 0.0))
    chord = rolled[0] * float(np.sinc(0.5 * rolled[1] / math.pi))
    straight = np.array([(4.0, chord + rng.normal(0.0, 0.003)) for _ in range(3)])
    return calibrate_umbmark(Squares(4.0, *ends, straight), GIVEN)[0]


def held_out_squares(true: WheelGeometry, path_noise: float, rng: np.random.Generator) -> MadeDrive:
    """Drive ten squares, five in each direction, one after another."""
    turn = 0.5 * math.pi - RAMP
    legs = []
    for number in range(SQUARES):
        path = 1.0 if number % 2 else -1.0
        legs += [(0.5, 0.0, SIDE / 0.5 - RAMP), (0.0, path, turn)] * 4
    return simulated_drive(true, legs, rng, path_noise)


def drifts(drive: MadeDrive, geometry: WheelGeometry) -> tuple[float, float]:
    """Return the rms drift of odometry over ten squares: heading rad, position m."""
    ends = np.linspace(drive.wheels.stamps[0], drive.wheels.stamps[-1], SQUARES + 1)
    there, odometry = drive.truth.poses(ends), WheelPath(drive.wheels, geometry).poses(ends)
    turned = np.diff(odometry[:, 2]) - np.diff(there[:, 2])
    path = []
    for poses in (there, odometry):
        place = poses[:, 0] + 1j * poses[:, 1]
        path.append(np.diff(place) * np.exp(-1j * poses[:-1, 2]))
    off = np.abs(path[1] - path[0])
    return float(np.sqrt(np.mean(turned**2))), float(np.sqrt(np.mean(off**2)))


def sizes_of(true: WheelGeometry) -> dict[str, float]:
    """Return the true dimensions, by the names of the results."""
    mean = 0.5 * (true.left_radius + true.right_radius)
    return {
        "left_radius": true.left_radius,
        "right_radius": true.right_radius,
        "track": true.separation,
        "track_over_mean_radius": true.separation / mean,
        "radius_ratio": true.right_radius / true.left_radius,
    }


def main() -> None:
    """Print the table of one sensor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sensor", choices=("pose", "gyro", "gyro+pose", "tape"))
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--first-seed", type=int, default=20000)
    parser.add_argument(
        "--path-noise", type=float, default=1e-6, help="variance of the slip, m^2/m"
    )
    parser.add_argument("--gyro-scale-std", type=float, default=0.001)
    parser.add_argument("--duration", type=float, default=60.0, help="duration of the drive, s")
    parser.add_argument(
        "--jumps", type=int, default=0, help="number of jumps of the pose source's frame"
    )
    parser.add_argument("--right", action="store_true", help="correct robot files")
    add_cluster_options(parser, limit=None)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.runs)
    with Cluster(options.scheduler, options.workers) as cluster:
        calibrated = cluster.map(partial(one, options=options), seeds)
    print_table(calibrated, options)


@dataclass(frozen=True)
class Calibrated:
    """Results of one robot.

    Attributes:
        true: True geometry.
        result: The calibration.
        drift: Drift of heading and position per held-out square, before and after.
        seconds: Processor time, s.
    """

    true: WheelGeometry
    result: Calibration
    drift: list[tuple[float, float]]
    seconds: float


def one(seed: int, options: argparse.Namespace) -> Calibrated:
    """Draw, drive and calibrate the robot of a seed."""
    began = time.process_time()
    rng = np.random.default_rng(seed)
    true = GIVEN if options.right else random_geometry(rng)
    calibration = by_sensor(options.sensor, true, rng, options)
    squares = held_out_squares(true, options.path_noise, rng)
    drift = [drifts(squares, geometry) for geometry in (GIVEN, calibration.geometry)]
    return Calibrated(true, calibration, drift, time.process_time() - began)


def print_table(calibrated: list[Calibrated], options: argparse.Namespace) -> None:
    """Print errors, intervals and drift."""
    errors: dict[str, list[float]] = {}
    covered: dict[str, list[bool]] = {}
    outcomes: dict[str, int] = {}
    nees, left_out = [], []
    for each in calibrated:
        result = each.result
        outcomes[result.outcome.value] = outcomes.get(result.outcome.value, 0) + 1
        for name, value in sizes_of(each.true).items():
            quantity = result.quantities[name]
            errors.setdefault(name, []).append(abs(quantity.value / value - 1.0))
            if quantity.identified:
                covered.setdefault(name, []).append(quantity.holds(value))
        if result.held_out is not None:
            nees.append(result.held_out.after.nees / result.held_out.expected)
            left_out.append(result.held_out.consistent)
    done, drift = len(calibrated), np.array([each.drift for each in calibrated])
    print(f"{options.sensor}: {done} robots from seed {options.first_seed}, {outcomes}")
    for name, values in errors.items():
        there = covered.get(name)
        fraction = (
            f"{100.0 * np.mean(there):.0f} % of intervals hold it" if there else "not identified"
        )
        print(f"{name:>23}: 95 % within {100.0 * np.percentile(values, 95):.3f} %; {fraction}")
    all_covered = [value for values in covered.values() for value in values]
    print(f"all intervals together: {100.0 * np.mean(all_covered):.1f} % hold the truth")
    table = np.sqrt(np.mean(np.square(drift), axis=0))
    for i, (name, unit, factor) in enumerate(
        (("heading", "deg", 57.29578), ("position", "mm", 1e3))
    ):
        before, after = factor * table[:, i]
        each = drift[:, 0, i] / drift[:, 1, i]
        print(
            f"drift of {name} per square: {before:.3g} to {after:.3g} {unit}, {before / after:.1f} "
            f"times less (median of the robots {np.median(each):.1f})"
        )
    if nees:
        print(
            f"NEES on held-out windows over its expectation: mean {np.mean(nees):.2f}; "
            f"{np.mean(left_out):.0%} of the robots consistent"
        )
    seconds = sum(each.seconds for each in calibrated) / max(done, 1)
    print(f"{seconds:.2f} s of processor per robot")


if __name__ == "__main__":
    main()
