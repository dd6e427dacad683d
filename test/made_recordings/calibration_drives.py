# SPDX-License-Identifier: Apache-2.0
"""Robots whose wheels differ from their file, and drives that calibrate them, without ROS.

`record_drive` corresponds to launch/calibrate.launch.xml: the controller uses the robot's file,
another robot moves, and the readings of a gyro and a pose source on the latter are recorded. As a
command this module writes the file of such a robot, for `simulated_robot:=`:

    ./diffbot python -m made_recordings.calibration_drives twil --seed 3 --output moved.yaml
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from arc_odometry import JointSample
from diffbot_calibration.collected_readings import Collected
from diffbot_controllers.tuning import tuned_backstepping
from diffbot_description import Robot, closed_form, load_robot
from diffbot_description.files import read_yaml, write_atomically
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulated_sensors import (
    GyroParameters,
    PoseSourceParameters,
    SimulatedGyro,
    SimulatedPoses,
)
from diffbot_study.driving import DriveSamples, simulate_drive
from pose2d_trajectories import Trajectory

RADIUS, DIFFERENCE, TRACK = 0.05, 0.02, 0.10
"""Maximum deviations of a drawn robot, as fractions: of the mean radius, of the radii's difference
over the mean radius, and of the track."""

GYRO = GyroParameters(
    imu_rate=100.0, imu_noise=0.003, imu_bias=0.01, imu_bias_walk=1e-4, imu_delay=0.015
)
POSES = PoseSourceParameters(
    pose_source_rate=20.0,
    pose_source_noise=(0.01, 0.0087),
    pose_source_delay=0.06,
    pose_source_mounting=(0.12, -0.05, 0.35),
    pose_source_frame=(1.5, -0.8, 0.6),
    pose_source_outliers=0.02,
)
"""The sensors of config/sensors.yaml."""


def miscalibrated(robot: Robot, seed: int) -> dict[str, Any]:
    """Return the content of the file of a robot with other radii and another track.

    Deviations of mean radius, radii's difference and track are drawn uniformly within RADIUS,
    DIFFERENCE and TRACK. The wheels' inertias scale with the radius squared.

    Args:
        robot: The nominal robot, with a file.
        seed: Seed, >= 0.
    """
    generator = np.random.default_rng((seed, 7))
    mean, difference, track = generator.uniform(-1.0, 1.0, 3).tolist()
    data: dict[str, Any] = read_yaml(robot.path)
    wheels = data["wheels"]
    factor = 1.0 + RADIUS * mean
    radius = factor * robot.wheels.radius
    half = 0.5 * DIFFERENCE * difference
    wheels["radius"] = radius
    wheels["radii"] = [radius * (1.0 - half), radius * (1.0 + half)]
    wheels["separation"] = (1.0 + TRACK * track) * robot.wheels.separation
    for name in ("inertia_spin", "inertia_yaw"):
        wheels[name] = factor**2 * float(wheels[name])
    shapes = data["appearance"].get("urdf")
    if shapes is not None:
        data["appearance"]["urdf"] = str((robot.path.parent / shapes).resolve())
    return data


def write_miscalibrated(robot: Robot, seed: int, path: Path) -> Robot:
    """Write `miscalibrated` to a file, and load it."""
    text = f"# {robot.name} with other radii and another track, drawn with seed {seed}.\n"
    write_atomically(path, text + yaml.safe_dump(miscalibrated(robot, seed), sort_keys=False))
    return load_robot(path)


@dataclass(frozen=True)
class RecordedDrive:
    """A drive with its sensor readings.

    Attributes:
        collected: Readings of wheels, gyro and poses.
        drive: True values.
    """

    collected: Collected
    drive: DriveSamples


def record_drive(
    reported: Robot,
    moved: Robot,
    trajectory: Trajectory,
    *,
    engine: str = "ideal",
    gyro: GyroParameters | None = GYRO,
    poses: PoseSourceParameters | None = POSES,
    seed: int = 0,
) -> RecordedDrive:
    """Drive a trajectory with the backstepping law, from its first pose to 1 s after its end.

    Args:
        reported: The robot as controller and odometry know it.
        moved: The robot that moves; its joints' names do not matter.
        trajectory: Trajectory with an end.
        engine: Engine of the moved robot.
        gyro: Errors of the gyro; None: no gyro.
        poses: Errors of the pose source; None: no pose source.
        seed: Seed of all noise.
    """
    collected = Collected()
    rate = None if gyro is None else SimulatedGyro(gyro, seed)
    source = None if poses is None else SimulatedPoses(poses, seed)
    # Motors, encoders and limits are those of the moved robot; only its dimensions are unknown.
    known = replace(reported, encoder=moved.encoder, drive=moved.drive)
    limits = reported.limits
    law = tuned_backstepping(
        closed_form(reported.model),
        limits.traction,
        limits.linear_velocity,
        limits.angular_velocity,
        mean_velocity=True,
    )
    with closing(make_simulator(engine, moved)) as simulator:

        def read(sample: JointSample) -> None:
            collected.add_wheels(sample.stamp, sample.position)
            true = (sample.stamp, simulator.pose(), simulator.velocity())
            for reading in rate.note(*true) if rate else ():
                collected.add_rate(*reading)
            for place in source.note(*true) if source else ():
                collected.add_pose(*place)

        first = trajectory.at(0.0)
        drive = simulate_drive(
            simulator,
            known,
            law,
            trajectory.at,
            trajectory.duration + 1.0,
            start=(first.x, first.y, first.theta),
            seed=seed,
            on_sample=read,
        )
    return RecordedDrive(collected, drive)


def main(argv: Sequence[str] | None = None) -> int:
    """Write a robot file; return 0, or 2 after an error message."""
    parser = argparse.ArgumentParser(
        prog="calibration_drives", description="Write a robot file with changed radii and track."
    )
    parser.add_argument("robot", help="name or path of the robot to change")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random changes, >= 0")
    parser.add_argument("--output", type=Path, required=True, help="file, .yaml")
    asked = parser.parse_args(argv)
    try:
        moved = write_miscalibrated(load_robot(asked.robot), asked.seed, asked.output)
    except (ValueError, OSError) as error:
        print(f"calibration_drives: {error}", file=sys.stderr)
        return 2
    left, right = moved.wheels.rolling_radii
    print(
        f"{asked.output}: radii {left:.6f} and {right:.6f} m, track {moved.wheels.separation:.6f} m"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
