#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the calibration of radii and track: ensembles of random robots with wrong files.

The radius is within 5 % of the file, radii differ by up to 2 %, the track is within 10 %. Each
robot drives a minute in 4 m x 4 m (calibration_legs), with slip of --path-noise. Sensors:

    pose   20 Hz, 1 cm, 0.5 deg, 60 ms late, mounted anywhere within 20 cm and any yaw, 2 % outliers
    gyro   bias 0.02 rad/s (1 sigma) with a walk, 0.005 rad/s noise, scale within --gyro-scale-std,
           up to 30 ms delay
    laser  10 Hz, 720 rays a turn in 80 ms, 1 cm, range scale 0.2 % (1 sigma), in a random room with
           furniture and --people who walk in it, mounted like the pose source
    tape   UMBmark: five squares of 4 m each way, ends scatter by 1 cm; three straight legs by 3 mm

With --odometry the robot takes velocities and publishes nothing but odometry, at 10 to 50 Hz: its
lag, delay, dead band and limits of acceleration are random (diffbot_bench), `velocity_ident`'s
excitation drives it within --arena by the wrong odometry, and the scales of that are calibrated.
With --engine a law drives the calibration motion on an engine instead, with the file of the nominal
robot and the sensors of config/sensors.yaml, and the squares are two of UMBmark, one each way.

Prints the 95th percentile and the largest of the errors, the coverage of the 95 % intervals, and
the odometry drift on other squares with the file's dimensions and with the calibrated ones. With
--right the files are correct, and no calibration should be refused.

    ./diffbot python benchmarks/calibration.py pose --robots 100
    ./diffbot python benchmarks/calibration.py pose --engine mujoco --robots 10
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmark_tables import Table, by_robots, options, percent
from ensemble import ensemble
from made_recordings.calibration_drives import GYRO, POSES, record_drive, write_miscalibrated
from made_recordings.made_laser import MadeLaser, laser_poses, room
from made_recordings.made_readings import (
    PERIOD,
    RAMP,
    MadeDrive,
    MadeGyro,
    MadePoses,
    calibration_legs,
    simulated_drive,
)

from arc_odometry import Pose, Velocity, WheelGeometry
from arc_odometry.odometry import Arc
from diffbot_bench.velocity_plant import COMPUTING, STEP, VelocityPlant, draw
from diffbot_calibration.calibration import Calibration, calibrate
from diffbot_calibration.umbmark import Squares, calibrate_umbmark, square_end
from diffbot_description import load_robot
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_recordings.laser_poses import LASER_ERRORS
from diffbot_recordings.sensor_readings import (
    Subject,
    WheelPath,
    WheelTurns,
    odometry_turns,
)
from pose2d_trajectories import make_trajectory

GIVEN = WheelGeometry(0.075, 0.075, 0.27217)
"""The robot twil's file."""
SQUARES, SIDE = 10, 2.0
# Distance of the robot's centre by odometry to the arena's border, m.
MARGIN = 0.5
SPEEDS = {"speed": 0.5, "turn_rate": 1.5, "acceleration": 0.5, "turn_acceleration": 2.0}

Drift = tuple[float, float]
"""Rms drift of odometry over squares: heading rad, position m."""


@dataclass(frozen=True)
class Calibrated:
    """True geometry of a robot, its calibration, and drift before and after on other squares.

    `farthest`: largest |x| or |y| of the drive from its start, m.
    """

    true: WheelGeometry
    result: Calibration
    drift: tuple[Drift, Drift]
    farthest: float = 0.0


def random_geometry(rng: np.random.Generator) -> WheelGeometry:
    """Return true radii and track of a robot whose file contains GIVEN."""
    radius = GIVEN.left_radius * (1.0 + rng.uniform(-0.05, 0.05))
    half = rng.uniform(-0.01, 0.01)
    track = GIVEN.separation * (1.0 + rng.uniform(-0.1, 0.1))
    return WheelGeometry(radius * (1.0 - half), radius * (1.0 + half), track)


def by_sensor(
    true: WheelGeometry, rng: np.random.Generator, arguments: argparse.Namespace
) -> tuple[Calibration, float]:
    """Calibrate a robot with one kind of sensor; return that and how far it drove, m."""
    sensor = arguments.sensor
    if sensor == "tape":
        return by_tape(true, rng, arguments), 0.0
    if arguments.odometry:
        drive, wheels = excited_drive(true, rng, arguments)
    else:
        legs = calibration_legs(arguments.duration)
        drive = simulated_drive(true, legs, rng, arguments.path_noise)
        wheels = drive.wheels
    gyro = poses = None
    if "gyro" in sensor:
        scale = 1.0 + rng.normal(0.0, arguments.gyro_scale_std)
        made = MadeGyro(bias=rng.normal(0.0, 0.02), scale=scale, delay=rng.uniform(0.0, 0.03))
        gyro = drive.gyro(made, rng)
    errors = None
    if sensor == "laser":
        x, y = rng.uniform(-0.2, 0.2, 2)
        mounting = (float(x), float(y), float(rng.uniform(-3.0, 3.0)))
        laser = MadeLaser(
            mounting=mounting, scale=1.0 + rng.normal(0.0, 0.002), people=arguments.people
        )
        poses, errors = laser_poses(drive, room(rng), laser, rng), LASER_ERRORS
    if "pose" in sensor:
        x, y = rng.uniform(-0.2, 0.2, 2)
        mounting = (float(x), float(y), float(rng.uniform(-3.0, 3.0)))
        poses = drive.poses(MadePoses(mounting=mounting), rng)
    result = calibrate(
        wheels, geometry=GIVEN, gyro=gyro, poses=poses,
        gyro_scale_std=arguments.gyro_scale_std,
        subject=Subject.ODOMETRY if arguments.odometry else Subject.WHEELS, pose_errors=errors,
    )  # fmt: skip
    ends = drive.truth.poses(drive.wheels.stamps)[:, :2]
    return result, float(np.max(np.abs(ends)))


def excited_drive(
    true: WheelGeometry, rng: np.random.Generator, arguments: argparse.Namespace
) -> tuple[MadeDrive, WheelTurns]:
    """Drive a random velocity robot by its excitation; return the drive, and its odometry's turns.

    Its driver turns the wheels by GIVEN, so that the simulated pose is that of odometry.
    """
    robot = draw(int(rng.integers(1, 2**31)))
    plant, command, planned = VelocityPlant(robot), Velocity(0.0, 0.0), Velocity(0.0, 0.0)
    half = 0.5 * arguments.arena - MARGIN
    excitation = VelocityExcitation((half, half), robot.limits, seed=int(rng.integers(1, 2**31)))
    every, late, reading = (round(t / STEP) for t in (robot.period, COMPUTING, PERIOD))
    odometry, rims, before = [], [], (0.0, 0.0)
    for k in range(round(arguments.duration / STEP)):
        if k % every == 0:
            now = plant.rims.mean(), plant.pose.theta
            velocity = Velocity(*((b - a) / robot.period for a, b in zip(before, now, strict=True)))
            before = now
            planned = excitation.command(k * STEP, plant.pose, velocity)
            odometry.append((100.0 + k * STEP, *plant.pose))
        if k % every == late:
            command = planned
        if k % reading == 0:
            turn = GIVEN.half_track * plant.pose.theta
            rims.append((plant.rims.mean() - turn, plant.rims.mean() + turn))
        plant.step(command)
    turned = np.array(rims) / GIVEN.left_radius
    steps = np.abs(np.diff(turned, axis=0)) * true.left_radius
    slip = rng.normal(0.0, 1.0, steps.shape) * np.sqrt(arguments.path_noise * steps)
    rolled = turned + np.vstack(([0.0, 0.0], np.cumsum(slip, axis=0))) / true.left_radius
    stamps = 100.0 + PERIOD * np.arange(len(turned))
    truth = WheelPath(WheelTurns(stamps, *rolled.T), true)
    turns, _ = odometry_turns(np.array(odometry), GIVEN)
    return MadeDrive(WheelTurns(stamps, *turned.T), truth, true), turns


def by_tape(
    true: WheelGeometry, rng: np.random.Generator, arguments: argparse.Namespace
) -> Calibration:
    """Calibrate with UMBmark, five runs in each direction, and three straight legs."""
    ends = [
        np.array(square_end(4.0, clockwise, GIVEN, true)) + rng.normal(0.0, 0.01, (5, 2))
        for clockwise in (True, False)
    ]
    rolled = true.body_velocity(*GIVEN.wheel_velocity(4.0, 0.0))
    chord = rolled[0] * float(np.sinc(0.5 * rolled[1] / math.pi))
    straight = np.array([(4.0, chord + rng.normal(0.0, 0.003)) for _ in range(3)])
    subject = Subject.ODOMETRY if arguments.odometry else Subject.WHEELS
    return calibrate_umbmark(Squares(4.0, *ends, straight), GIVEN, subject)[0]


def on_paper(arguments: argparse.Namespace, seed: int) -> Calibrated:
    """Draw, drive and calibrate the robot of a seed, without an engine."""
    rng = np.random.default_rng(seed)
    true = GIVEN if arguments.right else random_geometry(rng)
    result, farthest = by_sensor(true, rng, arguments)
    turn, legs = 0.5 * math.pi - RAMP, []
    for number in range(SQUARES):
        direction = 1.0 if number % 2 else -1.0
        legs += [(0.5, 0.0, SIDE / 0.5 - RAMP), (0.0, direction, turn)] * 4
    squares = simulated_drive(true, legs, rng, arguments.path_noise)
    ends = np.linspace(squares.wheels.stamps[0], squares.wheels.stamps[-1], SQUARES + 1)
    there = squares.truth.poses(ends)

    def drift(geometry: WheelGeometry) -> Drift:
        odometry = WheelPath(squares.wheels, geometry).poses(ends)
        turned = np.diff(odometry[:, 2]) - np.diff(there[:, 2])
        moved = [
            np.diff(poses[:, 0] + 1j * poses[:, 1]) * np.exp(-1j * poses[:-1, 2])
            for poses in (there, odometry)
        ]
        off = np.abs(moved[1] - moved[0])
        return float(np.sqrt(np.mean(turned**2))), float(np.sqrt(np.mean(off**2)))

    return Calibrated(true, result, (drift(GIVEN), drift(result.geometry)), farthest)


def on_engine(arguments: argparse.Namespace, seed: int) -> Calibrated:
    """Draw, drive and calibrate the robot of a seed on an engine; drift is the worse way's."""
    reported = load_robot("twil")
    with tempfile.TemporaryDirectory() as folder:
        moved = write_miscalibrated(reported, seed, Path(folder) / "moved.yaml")
        motion = make_trajectory("calibration", side=3.0, time=arguments.duration, **SPEEDS)
        readings = record_drive(
            reported, moved, motion, engine=arguments.engine, seed=seed,
            gyro=GYRO if "gyro" in arguments.sensor else None,
            poses=POSES if "pose" in arguments.sensor else None,
        ).collected.readings(GIVEN)  # fmt: skip
        result = calibrate(
            readings.wheels, geometry=reported.geometry, gyro=readings.gyro, poses=readings.poses
        )
        squares = [
            record_drive(
                reported, moved, make_trajectory("umbmark", side=SIDE, sense=sense, **SPEEDS),
                engine=arguments.engine, gyro=None, poses=None, seed=1000 + seed,
            )
            for sense in ("ccw", "cw")
        ]  # fmt: skip

    def drift(geometry: WheelGeometry) -> Drift:
        ends = []
        for square in squares:
            _, left, right = np.array(square.collected.wheels.rows).T
            pose = Pose(*square.drive.pose[0].tolist())
            for turns in zip(np.diff(left).tolist(), np.diff(right).tolist(), strict=True):
                pose = Arc(*geometry.body_velocity(*turns)).end(pose)
            x, y, theta = square.drive.pose[-1].tolist()
            ends.append((abs(pose.theta - theta), math.hypot(pose.x - x, pose.y - y)))
        heading, position = np.max(ends, axis=0).tolist()
        return heading, position

    return Calibrated(moved.geometry, result, (drift(reported.geometry), drift(result.geometry)))


def scales_of(true: WheelGeometry) -> dict[str, float]:
    """Return the true scales of the odometry of GIVEN, by the names of the results."""
    radius = 0.5 * (true.left_radius + true.right_radius)
    linear = radius / GIVEN.left_radius
    angular = linear * GIVEN.separation / true.separation
    return {
        "linear_scale": linear,
        "angular_scale": angular,
        # Yaw of a metre of straight odometry.
        "heading_drift": (true.right_radius - true.left_radius)
        / GIVEN.left_radius
        / true.separation,
        "left_wheel_radius_multiplier": true.left_radius / GIVEN.left_radius,
        "right_wheel_radius_multiplier": true.right_radius / GIVEN.left_radius,
        "wheel_separation_multiplier": true.separation / GIVEN.separation,
    }


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


def print_table(robots: list[Calibrated]) -> None:
    """Print errors, intervals and drift."""
    outcomes = Counter(each.result.outcome.value for each in robots)
    print(f"{len(robots)} robots: {dict(outcomes)}")
    table = Table("", "95 % within, %", "largest, %", "inside, %")
    together: list[list[bool]] = [[] for _ in robots]
    scales = robots[0].result.subject is Subject.ODOMETRY
    truth = scales_of if scales else sizes_of
    for name in truth(GIVEN):
        pairs = [(each.result.quantities[name], truth(each.true)[name]) for each in robots]
        unit = [1.0 if name == "heading_drift" else value for _, value in pairs]
        errors = [
            100.0 * abs(quantity.value - value) / size
            for (quantity, value), size in zip(pairs, unit, strict=True)
        ]
        inside = []
        for own, (quantity, value) in zip(together, pairs, strict=True):
            if quantity.identified:
                own.append(quantity.holds(value))
                inside.append(own[-1])
        said = percent(np.mean(inside)) if inside else "not identified"
        table.row(name, float(np.percentile(errors, 95.0)), max(errors), said)
    known = [own for own in together if own]
    print(f"all {sum(map(len, known))} intervals together: {by_robots(known)}")
    table = Table("drift of", "before", "after", "times less", "median robot", "least")
    drift = np.array([each.drift for each in robots])
    for i, (name, factor) in enumerate({"heading, deg": 57.29578, "position, mm": 1e3}.items()):
        before, after = factor * np.sqrt(np.mean(drift[:, :, i] ** 2, axis=0))
        each = drift[:, 0, i] / drift[:, 1, i]
        table.row(name, before, after, before / after, np.median(each), each.min())
    if any(each.farthest for each in robots):
        print(f"farthest from the start: {max(each.farthest for each in robots):.2f} m")
    checks = [each.result.held_out for each in robots if each.result.held_out is not None]
    if checks:
        nees = np.mean([check.after.nees / check.expected for check in checks])
        consistent = percent(np.mean([check.consistent for check in checks]))
        print(
            f"NEES on held-out windows over its expectation {nees:.2f}; {consistent} % consistent"
        )


def main() -> None:
    """Print the table of one sensor."""
    parser = options(__doc__, robots=12, seed=20000, cluster=True)
    parser.add_argument("sensor", choices=("pose", "laser", "gyro", "gyro+pose", "tape"))
    parser.add_argument("--path-noise", type=float, default=1e-6, help="of the slip, m^2/m")
    parser.add_argument("--gyro-scale-std", type=float, default=0.001)
    parser.add_argument("--duration", type=float, default=60.0, help="duration of the drive, s")
    parser.add_argument("--people", type=int, default=0, help="who walk through the laser's room")
    parser.add_argument("--odometry", action="store_true", help="velocity robots, odometry only")
    parser.add_argument("--arena", type=float, default=4.0, help="with --odometry, its side, m")
    parser.add_argument("--right", action="store_true", help="correct robot files")
    parser.add_argument("--engine", choices=("ideal", "mujoco", "gazebo"), help="drive on it")
    arguments = parser.parse_args()
    with ensemble(arguments) as robots:
        print_table(robots.map(on_engine if arguments.engine else on_paper, arguments))


if __name__ == "__main__":
    main()
