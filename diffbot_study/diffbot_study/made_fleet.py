# SPDX-License-Identifier: Apache-2.0
"""Recordings of a made fleet, by the batched engine: for tests and benchmarks of `diffbot fleet`.

Robots of a type spread about their description: masses and inertias by 1 %, Coulomb friction by
10 % (standard deviations). Faults are those of FAULTS and MORE_FAULTS; what a recording holds is
what the robot's own sensors would say, never the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffbot_description import Robot, load_robot
from diffbot_study.block_recording import BlockRecording, record_block

FAULTS = ("load", "tyre", "brake left", "current sensor left", "encoder")
"""10 % more mass; radii 2 % smaller; three times the Coulomb friction of the left wheel; half of
its torque reported; 5 counts of noise of its encoder."""
MORE_FAULTS = ("tyre left",)
"""Radius of the left wheel 2 % smaller."""
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
) -> dict[str, str]:
    """Write FOLDER/NAME-NUMBER/DAY.csv; returns the robots with a fault, and which.

    A robot has a recording each day, from 2031-01-01 on.

    Args:
        folder: made if need be.
        types: names of robots, or their files; NAME is that of the robot.
        robots: of each type.
        recordings: of each robot.
        faults: of robots of each type, by their number from 0 on.
        since: recording from which on the faults are there.
        seconds: of a recording.
        seed: of everything.

    Raises:
        ValueError: a fault is not of FAULTS or MORE_FAULTS.
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
            made = record_block(real, seeds, seconds, torque_noise=0.02)
            for index, name in enumerate(names):
                path = folder / name / f"{day.isoformat()}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(path, made, index, active.get(index, ""), nominal, generator)
    return planted


def spread_robot(robot: Robot, generator: np.random.Generator) -> Robot:
    """A robot of the type of this one, as the module says."""
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
        # The batched engine has no static friction.
        friction=replace(
            robot.friction,
            coulomb=(left * base[0], right * base[1]),
            static=None,
            stribeck_velocity=None,
        ),
    )


def faulty_robot(robot: Robot, fault: str) -> Robot:
    """The robot with a fault of FAULTS; some change what is recorded only, and leave it."""
    if fault == "load":
        return replace(robot, body=replace(robot.body, mass=1.1 * robot.body.mass))
    if fault == "tyre":
        return replace(robot, wheels=replace(robot.wheels, radius=0.98 * robot.wheels.radius))
    if fault == "brake left":
        left, right = robot.friction.coulomb
        return replace(robot, friction=replace(robot.friction, coulomb=(3.0 * left, right)))
    return robot


def _write(
    path: Path,
    made: BlockRecording,
    index: int,
    fault: str,
    robot: Robot,
    generator: np.random.Generator,
) -> None:
    positions: NDArray[np.float64] = made.positions[:, :, index].copy()
    efforts = made.efforts[:, :, index].copy()
    if fault == "current sensor left":
        efforts[:, 0] *= 0.5
    if fault == "tyre left":
        # Turns farther for the same way, and needs less torque for the same force.
        positions[:, 0] /= 0.98
        efforts[:, 0] *= 0.98
    if fault == "encoder":
        count = 2.0 * np.pi / (robot.encoder.counts or 4096)
        positions[:, 0] += count * np.round(5.0 * generator.standard_normal(len(positions)))
    table = np.column_stack((1.0 + made.stamps, positions, efforts))
    np.savetxt(path, table, fmt="%.8g", delimiter=",", header=HEADER, comments="")
