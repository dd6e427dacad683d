#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported SDF in Gazebo 11 beside the suite's engines: distance between the same drives.

Random robots (diffbot_study.random_robots) are excited, identified and exported with `--to sdf`.
Gazebo loads the file in place of the suite's own model: masses, joints with their friction and
damping, and contacts are those of the file; the plugin adds nothing but the torques. An excitation
of another seed drives the identified robot on an engine of the suite; the exported model gets the
same torques, without any feedback. Printed is the largest distance between both positions in % of
the path. Gazebo is that of `./diffbot setup gazebo`.

    ./diffbot python benchmarks/sdf_drives.py --robots 10 --seed 1000 [--seconds 10]
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import numpy as np
from benchmark_tables import Table, options
from mjcf_drives import ENGINES, deviation, engine_drive, exported_robots, print_distances

from arc_odometry.number_range import Array
from diffbot_description import Robot
from diffbot_description.robot import Friction
from diffbot_sim.engines import make_simulator
from diffbot_sim.gazebo import world
from diffbot_sim.simulator import Simulator


def model_text(path: Path, robot: Robot) -> str:
    """Return the exported SDF with its frame on the axle, where the suite's worlds expect it."""
    root = ElementTree.parse(path).getroot()
    for pose in root.iterfind("model/link/pose"):
        x, y, z, *angles = (pose.text or "").split()
        pose.text = " ".join([x, y, repr(float(z) - robot.wheels.radius), *angles])
    return ElementTree.tostring(root, encoding="unicode")


def simulator_of(path: Path, robot: Robot) -> Simulator:
    """Return Gazebo with an exported SDF; friction is that of the file alone."""
    bare = replace(
        robot,
        friction=Friction(viscous=(0.0, 0.0), coulomb=(0.0, 0.0)),
        contact=replace(robot.contact, caster_friction=0.0),
    )
    with mock.patch.object(world, "robot_sdf", lambda *_: model_text(path, robot)):
        return make_simulator("gazebo", bare)


def replayed(simulator: Simulator, commands: Array, period: float) -> Array:
    """Return the positions, m, after each of the commands of a period."""
    positions = []
    with closing(simulator):
        for left, right in commands.tolist():
            simulator.step((left, right), period)
            positions.append(simulator.pose()[:2])
    return np.array(positions)


def main() -> None:
    """Print the table."""
    parser = options(__doc__, robots=10, seed=1000)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a drive, s")
    given = parser.parse_args()
    table = Table("seed", "kg", "path, m", *(f"{e}, %" for e in ENGINES), width=8)
    distances: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for drawn, model, robot, _ in exported_robots(given.robots, given.seed, "sdf", table):
        periods = round(given.seconds / drawn.period)
        for engine in ENGINES:
            commands, one = engine_drive(robot, engine, 0.0, drawn.period, periods, drawn.seed + 1)
            other = replayed(simulator_of(model, robot), commands, drawn.period)
            far, path = deviation(one, other)
            distances[engine].append(100.0 * far / path)
        last = (distances[engine][-1] for engine in ENGINES)
        table.row(drawn.seed, robot.body.mass, path, *last)
    print_distances(distances)


if __name__ == "__main__":
    main()
