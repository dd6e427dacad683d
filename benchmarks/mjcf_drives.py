#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported MJCF in plain MuJoCo beside the suite's engines: distance between the same drives.

Random robots (diffbot_study.random_robots) are excited, identified and exported with `--to mjcf`.
Each file is loaded by MuJoCo alone. An excitation of another seed drives the identified robot on an
engine of the suite; the motors of the exported model get the same commands, without any feedback.
Printed is the largest distance between both positions in % of the path, for engine `mujoco` and for
`ideal`, the identified model itself.

    ./diffbot python benchmarks/mjcf_drives.py --robots 10 --seed 1000 [--seconds 20]
"""

from __future__ import annotations

import contextlib
import io
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np
from benchmark_tables import Table, options, spread
from exported_gains import identify

from arc_odometry.number_range import Array
from diffbot_description import Robot, load_robot
from diffbot_export.command import main as export
from diffbot_export.results import read_results
from diffbot_ident.excitation.body_model import Motion
from diffbot_sim.engines import make_simulator
from diffbot_sim.engines.mujoco_model import ContactSettings
from diffbot_study.random_robots import RandomRobot, draw
from diffbot_study.recorded_runs import prbs_of

# Engines, and the steps of which their delays are whole multiples, s: those of the exported model,
# and fine ones.
ENGINES = {"mujoco": ContactSettings().inner_step, "ideal": 1e-6}


def exported(
    drawn: RandomRobot, folder: Path, target: str = "mjcf"
) -> tuple[Path, Robot, float] | None:
    """Return the exported model, the identified robot and the delay, s; None: not identified."""
    if not identify(drawn, folder):
        return None
    words = [str(folder), "--to", target, "--robot", str(drawn.robot.path)]
    with contextlib.redirect_stdout(io.StringIO()):
        assert export([*words, "--output", str(folder)]) == 0
    (model,) = folder.glob("*_mjcf.xml" if target == "mjcf" else f"*.{target}")
    (robot,) = folder.glob("*_identified.yaml")
    torque = read_results([folder]).torque
    assert torque is not None and torque.delay is not None
    return model, load_robot(robot), torque.delay


def engine_drive(
    robot: Robot, engine: str, delay: float, period: float, periods: int, seed: int
) -> tuple[Array, Array]:
    """Drive within the limits of the excitation.

    Returns:
        Commands, N m, shape (periods, 2), and positions after each, m, shape (periods, 2).
    """
    source = prbs_of(robot, seed)
    grain = ENGINES[engine]
    whole, rest = divmod(round(delay / grain), round(period / grain))
    waiting = deque([(0.0, 0.0)] * (whole + 1), maxlen=whole + 2)
    commands, positions = [], []
    with closing(make_simulator(engine, robot)) as simulator:
        for _ in range(periods):
            commands.append(source.torque(Motion(wheel_speeds=simulator.wheel_velocities())))
            waiting.append(commands[-1])
            if rest:
                simulator.step(waiting[0], rest * grain)
            simulator.step(waiting[1], period - rest * grain)
            positions.append(simulator.pose()[:2])
    return np.array(commands), np.array(positions)


def model_drive(path: Path, commands: Array, period: float) -> Array:
    """Return the positions, m, after each of the commands of a period in plain MuJoCo."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    positions = []
    for command in commands:
        data.ctrl[:] = command
        mujoco.mj_step(model, data, nstep=round(period / model.opt.timestep))
        positions.append(data.qpos[:2] - 0.5 * model.opt.timestep * data.qvel[:2])
    return np.array(positions)


def exported_robots(
    robots: int, seed: int, target: str, table: Table
) -> Iterator[tuple[RandomRobot, Path, Robot, float]]:
    """Yield random robots with what `exported` returns, and a row for those not identified."""
    while robots:
        with TemporaryDirectory() as temporary:
            drawn, seed = draw(seed).written(Path(temporary)), seed + 1
            files = exported(drawn, Path(temporary) / "results", target)
            if files is None:
                table.row(drawn.seed, "not verified")
                continue
            robots -= 1
            yield drawn, *files


def print_distances(distances: Mapping[str, list[float]]) -> None:
    """Print median and largest of each engine's distances, %."""
    for engine, far in distances.items():
        median, largest = spread(far)
        print(f"{engine}: median and largest {median:.3g} and {largest:.3g} % of the path")


def deviation(one: Array, other: Array) -> tuple[float, float]:
    """Return the largest distance between two drives and the path of the first, m."""
    path = float(np.linalg.norm(np.diff(one, axis=0), axis=1).sum())
    return float(np.linalg.norm(one - other, axis=1).max()), path


def main() -> None:
    """Print the table."""
    parser = options(__doc__, robots=10, seed=1000)
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a drive, s")
    given = parser.parse_args()
    table = Table("seed", "kg", "delay, ms", "path, m", *(f"{e}, %" for e in ENGINES), width=8)
    distances: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for drawn, model, robot, delay in exported_robots(given.robots, given.seed, "mjcf", table):
        periods = round(given.seconds / drawn.period)
        for engine in ENGINES:
            commands, one = engine_drive(
                robot, engine, delay, drawn.period, periods, drawn.seed + 1
            )
            far, path = deviation(one, model_drive(model, commands, drawn.period))
            distances[engine].append(100.0 * far / path)
        last = (distances[engine][-1] for engine in ENGINES)
        table.row(drawn.seed, robot.body.mass, 1e3 * delay, path, *last)
    print_distances(distances)


if __name__ == "__main__":
    main()
