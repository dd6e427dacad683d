# SPDX-License-Identifier: Apache-2.0
"""Recordings of a synthetic fleet, by the batched engine, to test and benchmark `diffbot fleet`.

Robots of a type spread about their description: masses and inertias by 1 %, Coulomb friction by
10 % (standard deviations). Faults are those in FAULTS and MORE_FAULTS. A recording contains only
what the robot's own sensors would report, never the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample
from diffbot_description import Robot, load_robot
from diffbot_sim.simulated_sensors import GyroParameters, SimulatedGyro
from diffbot_study.recorded_runs import BatchRecording, record_batch
from made_recordings.recorded_bag import RecordedBag

FAULTS = ("load", "tyre", "brake left", "current sensor left", "encoder")
"""10 % more mass; radii 2 % smaller; three times the Coulomb friction of the left wheel; half of
its torque reported; 5 counts of noise of its encoder."""
MORE_FAULTS = ("tyre left", "track", "gyro")
"""Radius of the left wheel 2 % smaller; wheels 3 % farther apart; gyro that reads 3 % too much."""
GYRO = GyroParameters(imu_noise=0.005, imu_bias=0.01, imu_bias_walk=1e-4, imu_delay=0.015)
"""Errors of the gyro in recordings with one."""
FIRST_DAY = date(2031, 1, 1)
HEADER = "time,left_position,right_position,left_effort,right_effort"


def make_fleet(
    folder: Path,
    types: Sequence[str],
    robots: int,
    recordings: int,
    *,
    faults: Mapping[int, str] | None = None,
    since: int = 0,
    seconds: float = 25.0,
    seed: int = 0,
    gyro: bool = False,
) -> dict[str, str]:
    """Write FOLDER/NAME-NUMBER/DAY.csv or .mcap; return the robots with a fault, and the faults.

    A robot has one recording per day, from 2031-01-01 on.

    Args:
        folder: Folder, created if it does not exist.
        types: Names of robots, or their files; NAME is that of the robot.
        robots: Number of robots of each type.
        recordings: Number of recordings of each robot.
        faults: Faults of robots of each type, by their number from 0 on.
        since: First recording with the faults.
        seconds: Duration of a recording, s.
        seed: Seed of all random numbers.
        gyro: Whether the recordings are rosbag2 folders with a gyro, DAY, instead of tables.

    Raises:
        ValueError: A fault is not in FAULTS or MORE_FAULTS.
    """
    wrong = set((faults or {}).values()) - {*FAULTS, *MORE_FAULTS}
    if wrong:
        known = ", ".join((*FAULTS, *MORE_FAULTS))
        raise ValueError(f"faults {sorted(wrong)}: must be of {known}")
    planted: dict[str, str] = {}
    for place, kind in enumerate(types):
        generator = np.random.default_rng([seed, place])
        nominal = load_robot(kind)
        fleet = [spread_robot(nominal, generator) for _ in range(robots)]
        names = [f"{nominal.name}-{number:03d}" for number in range(robots)]
        for number, fault in (faults or {}).items():
            planted[names[number]] = fault
        for run in range(recordings):
            active = (faults or {}) if run >= since else {}
            real = [faulty_robot(robot, active.get(i, "")) for i, robot in enumerate(fleet)]
            day = FIRST_DAY + timedelta(days=run)
            seeds = [1000 * (seed + 1) + 100_000 * place + 500 * run + i for i in range(robots)]
            made = record_batch(real, seeds, seconds, torque_noise=0.02)
            for index, name in enumerate(names):
                path = folder / name / f"{day.isoformat()}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                fault = active.get(index, "")
                positions, efforts = _recorded(made, index, fault, nominal, generator)
                if gyro:
                    _write_bag(path.with_suffix(""), made, index, positions, efforts, fault)
                else:
                    table = np.column_stack((1.0 + made.stamps, positions, efforts))
                    np.savetxt(path, table, fmt="%.8g", delimiter=",", header=HEADER, comments="")
    return planted


def spread_robot(robot: Robot, generator: np.random.Generator) -> Robot:
    """Return a random robot of this robot's type, see the module's description."""
    mass, yaw = 1.0 + 0.01 * generator.standard_normal(2)
    left, right = 1.0 + 0.1 * generator.standard_normal(2)
    amplitude = robot.excitation.amplitude
    coulomb = robot.friction.coulomb
    base = [value or 0.1 * amplitude for value in coulomb]
    body = robot.body
    inertia = replace(body.inertia, yaw=yaw * body.inertia.yaw)
    return replace(
        robot,
        body=replace(body, mass=mass * body.mass, inertia=inertia),
        # The batched engine does not model static friction.
        friction=replace(
            robot.friction,
            coulomb=(left * base[0], right * base[1]),
            static=None,
            stribeck_velocity=None,
        ),
    )


def faulty_robot(robot: Robot, fault: str) -> Robot:
    """Return the robot with a fault; some faults only change what is recorded, not the robot."""
    if fault == "load":
        return replace(robot, body=replace(robot.body, mass=1.1 * robot.body.mass))
    if fault == "tyre":
        return replace(robot, wheels=replace(robot.wheels, radius=0.98 * robot.wheels.radius))
    if fault == "brake left":
        left, right = robot.friction.coulomb
        return replace(robot, friction=replace(robot.friction, coulomb=(3.0 * left, right)))
    if fault == "track":
        wider = 1.03 * robot.wheels.separation
        return replace(robot, wheels=replace(robot.wheels, separation=wider))
    return robot


def _recorded(
    made: BatchRecording, index: int, fault: str, robot: Robot, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the angles and torques of a robot as its sensors report them, shapes (m, 2)."""
    positions: NDArray[np.float64] = made.positions[:, :, index].copy()
    efforts = made.efforts[:, :, index].copy()
    if fault == "current sensor left":
        efforts[:, 0] *= 0.5
    if fault == "tyre left":
        # It turns farther for the same distance, and needs less torque for the same force.
        positions[:, 0] /= 0.98
        efforts[:, 0] *= 0.98
    if fault == "encoder":
        count = 2.0 * np.pi / (robot.encoder.counts or 4096)
        positions[:, 0] += count * np.round(5.0 * generator.standard_normal(len(positions)))
    return positions, efforts


def _write_bag(
    folder: Path,
    made: BatchRecording,
    index: int,
    positions: NDArray[np.float64],
    efforts: NDArray[np.float64],
    fault: str,
) -> None:
    """Write a rosbag2 recording with the robot's gyro."""
    errors = replace(GYRO, imu_scale=1.03) if fault == "gyro" else GYRO
    gyro = SimulatedGyro(errors, seed=index)
    stamps = 1.0 + made.stamps
    with RecordedBag(folder) as bag:
        for stamp, angles, torques, motion in zip(
            stamps.tolist(),
            positions.tolist(),
            efforts.tolist(),
            made.motions[:, :, index].tolist(),
            strict=True,
        ):
            bag.joint_state("/joint_states", JointSample(stamp, angles, (0.0, 0.0), torques))
            for reading in gyro.note(stamp, motion[:3], motion[3:]):
                bag.imu("/imu", reading.stamp, (0.0, 0.0, reading.rate))
