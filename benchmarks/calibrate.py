# SPDX-License-Identifier: Apache-2.0
"""Calibration of random robots with the calibration motion: errors, coverage, drift.

    ./diffbot python benchmarks/calibrate.py --engine ideal --seeds 10
    ./diffbot python benchmarks/calibrate.py --engine mujoco --seeds 10 --sensors gyro

Each seed draws a robot (mean radius +-5 %, radii that differ by up to 2 %, track +-10 %). It is
driven with the file of the nominal robot and the sensors of config/sensors.yaml. Drift is the error
of odometry against the true pose at the end of a UMBmark square of 2 m, in both directions, which
no fit has used: with radii and track of the file, and with the calibrated ones.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made_recordings.calibration_drives import (
    GYRO,
    POSES,
    RecordedDrive,
    record_drive,
    write_miscalibrated,
)

from arc_odometry import Pose, WheelGeometry
from arc_odometry.arcs import Arc
from diffbot_calibration.calibration import Calibration, calibrate
from diffbot_description import Robot, load_robot
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster
from pose2d_trajectories import make_trajectory

SPEEDS = {"speed": 0.5, "turn_rate": 1.5, "acceleration": 0.5, "turn_acceleration": 2.0}
SQUARE = 2.0  # m
NAMES = ("left_radius", "right_radius", "track")
RATIOS = ("radius_ratio", "track_over_mean_radius")


class Row(NamedTuple):
    """Results of one robot.

    Attributes:
        errors: Relative error of each quantity.
        inside: Whether the interval contains the true value.
        before: Drift of odometry on the squares with the file's dimensions: m, rad; the worse
            direction.
        after: The same with the calibrated dimensions.
    """

    errors: dict[str, float]
    inside: dict[str, bool]
    before: tuple[float, float]
    after: tuple[float, float]


def true_values(moved: Robot) -> dict[str, float]:
    """Return the true values of the calibrated quantities."""
    g = moved.geometry
    mean = 0.5 * (g.left_radius + g.right_radius)
    return {
        "left_radius": g.left_radius,
        "right_radius": g.right_radius,
        "track": g.separation,
        "radius_ratio": g.right_radius / g.left_radius,
        "track_over_mean_radius": g.separation / mean,
    }


def drift(recorded: RecordedDrive, geometry: WheelGeometry) -> tuple[float, float]:
    """Return the drift of odometry with this geometry at the end of a drive: m, rad."""
    _, left, right = np.array(recorded.collected.wheels.rows).T
    pose = Pose(*recorded.drive.pose[0].tolist())
    for turns in zip(np.diff(left).tolist(), np.diff(right).tolist(), strict=True):
        pose = Arc(*geometry.body_velocity(*turns)).end(pose)
    x, y, theta = recorded.drive.pose[-1].tolist()
    return math.hypot(pose.x - x, pose.y - y), abs(pose.theta - theta)


def one(reported: Robot, asked: argparse.Namespace, seed: int) -> Row:
    """Draw, drive, calibrate and verify a robot."""
    with tempfile.TemporaryDirectory() as folder:
        moved = write_miscalibrated(reported, seed, Path(folder) / "moved.yaml")
        return calibrated(reported, moved, asked, seed)


def calibrated(reported: Robot, moved: Robot, asked: argparse.Namespace, seed: int) -> Row:
    """Drive, calibrate and verify the robot `moved`, with `reported` as the assumed robot."""
    motion = make_trajectory("calibration", side=asked.side, time=asked.seconds, **SPEEDS)
    collected = record_drive(
        reported,
        moved,
        motion,
        engine=asked.engine,
        gyro=GYRO if "gyro" in asked.sensors else None,
        poses=POSES if "poses" in asked.sensors else None,
        seed=seed,
    ).collected
    readings = collected.readings()
    calibration: Calibration = calibrate(
        readings.wheels, geometry=reported.geometry, gyro=readings.gyro, poses=readings.poses
    )
    true = true_values(moved)
    squares = [
        record_drive(
            reported,
            moved,
            make_trajectory("umbmark", side=SQUARE, sense=sense, **SPEEDS),
            engine=asked.engine,
            gyro=None,
            poses=None,
            seed=1000 + seed,
        )
        for sense in ("ccw", "cw")
    ]
    worse = [
        tuple(np.max([drift(square, geometry) for square in squares], axis=0).tolist())
        for geometry in (reported.geometry, calibration.geometry)
    ]
    known = {name: q for name, q in calibration.quantities.items() if name in true and q.identified}
    return Row(
        {name: q.value / true[name] - 1.0 for name, q in known.items()},
        {name: q.holds(true[name]) for name, q in known.items()},
        worse[0],
        worse[1],
    )


def main() -> None:
    """Print a line per robot, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("ideal", "mujoco", "gazebo"), default="ideal")
    parser.add_argument("--robot", default="twil")
    parser.add_argument("--seeds", type=int, default=10, help="number of robots")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--side", type=float, default=3.0, help="side of the available square, m")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the motion, s")
    parser.add_argument(
        "--sensors", nargs="+", choices=("gyro", "poses"), default=["gyro", "poses"]
    )
    add_cluster_options(parser, limit=None)
    asked = parser.parse_args()
    reported = load_robot(asked.robot)
    names = NAMES + RATIOS
    print("errors in %, drift of odometry on squares before and after in mm and degrees")
    print("seed" + "".join(f"{name:>24}" for name in names))
    seeds = range(asked.first, asked.first + asked.seeds)
    with Cluster(asked.scheduler, asked.workers) as cluster:
        rows: list[Row] = cluster.map(partial(one, reported, asked), seeds)
    for seed, row in zip(seeds, rows, strict=True):
        cells = "".join(
            f"{100.0 * row.errors[n]:+22.4f}{' ' if row.inside[n] else '!'} "
            if n in row.errors
            else f"{'not identified':>24}"
            for n in names
        )
        drifts = " ".join(
            f"{1e3 * d:8.1f} {math.degrees(turn):7.3f}" for d, turn in (row.before, row.after)
        )
        print(f"{seed:4d}{cells} {drifts}")
    for name in names:
        errors = [100.0 * abs(row.errors[name]) for row in rows if name in row.errors]
        if errors:
            inside = sum(row.inside[name] for row in rows if name in row.inside)
            print(
                f"{name}: largest error {max(errors):.4f} %, rms "
                f"{math.sqrt(np.mean(np.square(errors))):.4f} %, inside {inside} of {len(errors)}"
            )
    for index, what in enumerate(("position", "heading")):
        shares = [row.before[index] / row.after[index] for row in rows]
        print(
            f"drift of {what}: smaller by {min(shares):.1f} at least, "
            f"median {np.median(shares):.1f}"
        )


if __name__ == "__main__":
    main()
