# SPDX-License-Identifier: Apache-2.0
"""Tasks of the benchmark: records of robots that the independent plants made, with the truth.

A record is what an estimator gets. As a file it is JSON: `task`, `kind` ("effort" or "velocity"),
`wheel_radius` and `track` in m (null for velocity robots), and `columns`, lists of numbers:

    effort      time, left_position, right_position (rad), left_effort, right_effort (N m, which
                acted over the period before each instant, as far as the robot knows)
    velocity    time, v, omega (m/s, rad/s, of odometry); command_time, command_v, command_omega
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arc_odometry import Velocity
from diffbot_bench import velocity_plant
from diffbot_bench.defects import ALL, SECONDS, RobotRun, record
from diffbot_bench.independent_plant import Array
from diffbot_description import write_atomically
from diffbot_description.command_kind import CommandKind
from diffbot_ident.estimate import NAMES
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation


@dataclass(frozen=True)
class Record:
    """What an estimator gets: see the module.

    `task`: name such as "lag 1"; `wheel_radius`, `track`: m; None: not known.
    """

    task: str
    kind: CommandKind
    columns: Mapping[str, Array]
    wheel_radius: float | None = None
    track: float | None = None

    def text(self) -> str:
        columns = {name: [float(f"{x:.9g}") for x in col] for name, col in self.columns.items()}
        own = {"task": self.task, "kind": self.kind.value, "wheel_radius": self.wheel_radius}
        return json.dumps({**own, "track": self.track, "columns": columns})


@dataclass(frozen=True)
class BenchTask:
    """A record of a kind of data and a seed, its truth, and what errors are shares of, by name."""

    row: str
    record: Record
    truth: Mapping[str, float]
    scale: Mapping[str, float]
    seed: int = 0


NAMES_K = tuple(name.upper() for name in NAMES)
"""Parameters of a torque robot: K5..K8."""
NAMES_V = tuple(
    f"{name}_{axis}" for axis in ("v", "omega") for name in ("time_constant", "gain", "dead_time")
)
"""Parameters of a velocity robot: of v and omega, s, 1 and s."""
ORDINARY = "ordinary driving"
TORQUE_ROWS = (
    "clean",
    "torque noise",
    "coarse encoders",
    "fractional delay",
    "lag",
    "late",
    "drops",
    "stribeck",
    "one-sided friction",
    "caster",
    "skid",
    "backlash",
    "creep",
    "slope",
    "sag",
    "warm-up",
    "unequal radii",
    ORDINARY,
)
# Of ordinary driving: shares of the torques' amplitude, and time for which they are held, s.
GENTLE, LONG = (0.15, 0.3), 1.0
# Velocity robots: whether they have a dead band and a limit of acceleration.
VELOCITY_ROWS = {
    "velocity, plain": (False, False),
    "velocity, dead band": (True, False),
    "velocity, ramp": (False, True),
    "velocity, both": (True, True),
}
ROWS = (*TORQUE_ROWS, *VELOCITY_ROWS)
# Length of the records of velocity robots, s, and half length and width of their room, m.
VELOCITY_SECONDS, ROOM = 60.0, 1.5


def make_tasks(
    rows: Sequence[str], n: int, seed: int, seconds: float | None = None
) -> list[BenchTask]:
    """Make the tasks of n robots for each kind of data of ROWS, equal for equal seeds.

    `seconds`: length of each record; None: SECONDS and VELOCITY_SECONDS.
    """
    for row in rows:
        if row not in ROWS:
            raise ValueError(f"tasks = {row!r}: must be of {', '.join(ROWS)}")
    excited = [row for row in rows if row in ALL]
    length = seconds or SECONDS
    runs = record(excited, n, seed, length) if excited else []
    tasks = [_torque_task(run, run.row) for run in runs]
    if ORDINARY in rows:
        gentle = record(["clean"], n, seed + 1, length, GENTLE, LONG)
        tasks += [_torque_task(run, ORDINARY) for run in gentle]
    for row in rows:
        if row in VELOCITY_ROWS:
            tasks += _velocity_tasks(row, n, seed, seconds or VELOCITY_SECONDS)
    return tasks


def make_seeded(
    rows: Sequence[str],
    n: int,
    seeds: Sequence[int],
    seconds: float | None = None,
    workers: int = 1,
) -> list[BenchTask]:
    """Make the tasks of several seeds, in some processes; see `make_tasks`.

    With more than one seed the names of the tasks end with it.
    """
    groups = [
        [row for row in rows if row in ALL],
        [row for row in rows if row == ORDINARY],
        [row for row in rows if row not in (*ALL, ORDINARY)],
    ]
    given = [(group, n, seed, seconds) for seed in seeds for group in groups if group]
    if workers == 1:
        made = [make_tasks(*each) for each in given]
    else:
        with ProcessPoolExecutor(workers) as pool:
            made = list(pool.map(make_tasks, *zip(*given, strict=True)))
    tasks = []
    for (_, _, seed, _), own in zip(given, made, strict=True):
        for task in own:
            name = f"{task.record.task} seed {seed}" if len(seeds) > 1 else task.record.task
            tasks.append(replace(task, record=replace(task.record, task=name), seed=seed))
    return tasks


def _torque_task(run: RobotRun, row: str) -> BenchTask:
    recording = run.recording
    names = ("left_position", "right_position", "left_effort", "right_effort")
    columns = dict(zip(names, (*recording.angles.T, *recording.efforts.T), strict=True))
    identifiable = ALL[run.row].holds
    truth = {
        name: float(true)
        for name, true, holds in zip(NAMES_K, run.truth, identifiable, strict=True)
        if holds
    }
    made = Record(
        f"{row} {run.index}",
        CommandKind.EFFORT,
        {"time": recording.stamps, **columns},
        run.radius,
        run.track,
    )
    return BenchTask(row, made, truth, {name: abs(true) for name, true in truth.items()})


def _velocity_tasks(row: str, n: int, seed: int, seconds: float) -> Iterator[BenchTask]:
    banded, ramped = VELOCITY_ROWS[row]
    index, robot_seed = 0, 100_000 * seed
    while index < n:
        robot = velocity_plant.draw(robot_seed)
        robot_seed += 1
        if (bool(robot.band[0]), bool(robot.ramp)) != (banded, ramped):
            continue
        yield _velocity_task(f"{row} {index}", row, robot, robot_seed, seconds)
        index += 1


def _velocity_task(
    name: str, row: str, robot: velocity_plant.LaggingRobot, seed: int, seconds: float
) -> BenchTask:
    limits = Velocity(robot.limits.v, robot.limits.omega)
    excitation = VelocityExcitation((ROOM, ROOM), limits, seed=seed)
    recording = velocity_plant.record(robot, excitation.command, seconds, seed)
    names = ("time", "v", "omega", "command_time", "command_v", "command_omega")
    columns = dict(zip(names, (*recording.odometry.T, *recording.commands.T), strict=True))
    values = robot.values
    truth: dict[str, float] = {}
    scale: dict[str, float] = {}
    for index, axis in enumerate(("v", "omega")):
        lag, gain, dead_time = (
            float(values[each][index]) for each in ("time constant", "gain", "dead time")
        )
        truth |= {f"time_constant_{axis}": lag, f"gain_{axis}": gain}
        truth |= {f"dead_time_{axis}": dead_time}
        # Lag and dead time matter by what both delay together.
        both = lag + dead_time
        scale |= {f"time_constant_{axis}": both, f"gain_{axis}": gain, f"dead_time_{axis}": both}
    return BenchTask(row, Record(name, CommandKind.VELOCITY, columns), truth, scale)


def write_records(tasks: Iterable[BenchTask], folder: Path) -> list[Path]:
    """Write the records, without the truth, for estimators in other programs."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        write_atomically(folder / f"{task.record.task.replace(' ', '_')}.json", task.record.text())
        for task in tasks
    ]


def even(record: Record, step: float) -> Record:
    """Return a velocity record with commands at even instants of odometry, held, every step s."""
    columns = record.columns
    time = np.arange(columns["time"][0], columns["time"][-1], step)
    last = np.searchsorted(columns["command_time"], time, side="right") - 1
    sampled = {"time": time}
    for name in ("v", "omega"):
        latest_commands = columns[f"command_{name}"][np.maximum(last, 0)]
        sampled[f"command_{name}"] = np.where(last < 0, 0.0, latest_commands)
        sampled[name] = np.interp(time, columns["time"], columns[name])
    return Record(record.task, record.kind, sampled)
