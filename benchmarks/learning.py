# SPDX-License-Identifier: Apache-2.0
"""Learning from ordinary driving: do the combined intervals hold, and are changes found?

Robots of the independent plant drive missions (speeds and turns held for some seconds, with gentle
ramps, by a velocity controller), in stretches with pauses between. In every second robot the mass
changes after half of the stretches. Truth is K5..K8 of the closed form and the plant's friction.

    ./diffbot python benchmarks/learning.py --robots 10 --stretches 12 --seed 1
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import yaml
from benchmark_tables import options, wilson
from beyond_the_model import write_table

from diffbot_bench.independent_plant import (
    OMEGA,
    ExcitedDriver,
    Imperfections,
    Robots,
    TorquePlant,
    draw,
    drive,
)
from diffbot_description import load_robot
from diffbot_description.files import read_yaml
from diffbot_learning.learned_robot import LearnedRobot, RobotChange
from diffbot_learning.stretch import Stretch, read_stretch

# Mission: longest and shortest time of a speed, s; accelerations as fractions of the torque limit.
LONGEST, SHORTEST, GENTLE = 6.0, 2.0, 0.4
MASS = 1.15  # factor by which the mass changes
NAMES = ("K5", "K6", "K7", "K8")


@dataclass
class Mission(ExcitedDriver):
    """Holds random speeds with gentle ramps, as a robot at work; stands between."""

    asked: np.ndarray = field(init=False)
    wanted: np.ndarray = field(init=False)
    until: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.robots.mass)
        self.asked, self.wanted, self.until = np.zeros((2, n)), np.zeros((2, n)), np.zeros(n)

    def command(self, index: int, plant: TorquePlant) -> None:
        """Command torques of a proportional controller of both speeds."""
        robots, now = self.robots, index * self.robots.period
        ends = now >= self.until
        n = len(now)
        kind = self.random.integers(0, 5, n)  # stand, straight, spin, curve, curve
        v = np.where(kind % 2 == 1, 1.0, 0.0) + np.where(kind == 4, 0.5, 0.0)
        w = np.where(kind >= 2, 1.0, 0.0)
        sizes = self.random.uniform(0.2, 0.9, (2, n)) * np.sign(
            self.random.uniform(-0.3, 1, (2, n))
        )
        sizes[1] *= self.random.choice([-1.0, 1.0], n)
        speeds = np.array([v * robots.speed, w * robots.yaw_rate]) * sizes
        self.wanted = np.where(ends, speeds, self.wanted)
        self.until = np.where(ends, now + self.random.uniform(SHORTEST, LONGEST, n), self.until)
        most = 2.0 * robots.torque / robots.radius
        limits = np.array(
            [
                most / robots.equivalent_mass,
                self.gentle * most * robots.half_track / robots.equivalent_inertia,
            ]
        )
        step = GENTLE * limits * robots.period
        self.asked += np.clip(self.wanted - self.asked, -step, step)
        error = self.asked - plant.state[: OMEGA + 1]
        both, apart = np.clip(5.0 * error / limits, -1.0, 1.0) * robots.torque
        friction = 1.1 * robots.coulomb.mean(axis=0) * np.sign(np.round(self.asked[0], 2))
        self.commanded = np.array(
            [both + friction - self.gentle * apart, both + friction + self.gentle * apart]
        )


def description(folder: Path, robots: Robots, i: int) -> Path:
    """Write a description of robot i as its owner knows it: sizes, and a mass 15 % too large."""
    document = read_yaml(load_robot("twil").path)
    radius, track = float(robots.radius[i]), 2.0 * float(robots.half_track[i])
    mass, inertia = 1.15 * float(robots.mass[i]), 1.15 * float(robots.inertia[i])
    torque = float(robots.torque[i])
    document["name"] = f"robot_{i}"
    document["wheels"] = {
        "radius": radius,
        "separation": track,
        "width": 0.3 * radius,
        "mass": float(robots.wheel_mass[i]),
        "inertia_spin": float(robots.wheel_spin[i]),
        "inertia_yaw": float(robots.wheel_yaw[i]),
    }
    document["body"] = {
        "mass": mass,
        "center_of_mass": {"x": float(robots.ahead[i]), "z": radius},
        "inertia": {"roll": inertia, "pitch": inertia, "yaw": inertia},
        "shape": {
            "front": track,
            "rear": -track,
            "width": 0.9 * track,
            "bottom": 0.3 * radius,
            "top": 2.0 * radius,
        },
    }
    document["casters"] = [
        {
            "x": float(np.copysign(track, robots.ahead[i])),
            "y": 0.0,
            "radius": 0.2 * radius,
            "clearance": 0.0,
        }
    ]
    document["limits"] |= {
        "torque": 3.0 * torque,
        "traction": 3.0 * torque,
        "torque_rate": 300.0 * torque,
        "linear_velocity": 1.5 * float(robots.speed[i]),
        "angular_velocity": 1.5 * float(robots.yaw_rate[i]),
    }
    document["excitation"] |= {
        "amplitude": torque,
        "linear_velocity": float(robots.speed[i]),
        "angular_velocity": float(robots.yaw_rate[i]),
    }
    document["encoder"] = {"counts": int(robots.counts[i])}
    path = folder / f"robot_{i}.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def read(job: tuple[Path, str, float]) -> Stretch:
    """Read one stretch; `time` replaces that of the file."""
    path, robot, begin = job
    stretch = read_stretch(path, robot)
    row = {**stretch.row, "time": begin} if stretch.row else {}
    return replace(stretch, time=begin, row=row)


@dataclass(frozen=True)
class Result:
    """What was learnt of one robot.

    Attributes:
        learnt: Number of stretches that told something.
        errors: Error over half the width of the 95 % interval, by value; inside up to 1. Values
            that were told last before the change are left out.
        widths: Half width over the value, by value.
        changes: Changes that were found.
        refusals: Why the other stretches told nothing.
    """

    learnt: int
    errors: dict[str, float]
    widths: dict[str, float]
    changes: tuple[RobotChange, ...]
    refusals: tuple[str, ...]


def learn(robots: Robots, after: Robots, stretches: int, seconds: float, seed: int) -> list[Result]:
    """Let all robots drive and learn; those of `after` from the middle on."""
    n = len(robots.mass)
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(2) as pool:
        folder = Path(name)
        files = [description(folder, robots, i) for i in range(n)]
        for file in files:
            load_robot(str(file))  # before the drives, which take long
        jobs: list[list[tuple[Path, str, float]]] = [[] for _ in range(n)]
        for k in range(stretches):
            now = robots if 2 * k < stretches else after
            made = drive(now, Imperfections.none(n), seconds, seed + k, driver_type=Mission)
            for i, one in enumerate(made):
                path = folder / f"{i}_{k}.csv"
                write_table(path, one)
                jobs[i].append((path, str(files[i]), 1.8e9 + 3600.0 * k))
        read_all = list(pool.map(read, [job for own in jobs for job in own]))
        results = [
            _result(files[i], after, i, read_all[i * stretches : (i + 1) * stretches])
            for i in range(n)
        ]
    return results


def _result(file: Path, robots: Robots, i: int, stretches: Sequence[Stretch]) -> Result:
    learning = LearnedRobot(str(file))
    changes = [change for one in stretches if (change := learning.add(one)) is not None]
    truth = dict(zip(NAMES, robots.truth[:, i], strict=True))
    errors, widths = {}, {}
    middle = stretches[len(stretches) // 2].time
    for value in learning.values():
        short = value.name
        if short in truth and value.last >= middle:
            errors[short] = float(value.value - truth[short]) / value.half_width
            widths[short] = float(value.half_width / abs(truth[short]))
    refusals = tuple(one.reason for one in stretches if one.reason)
    return Result(learning.stretches, errors, widths, tuple(changes), refusals)


def main() -> None:
    """Print the coverage of the intervals, and the changes that were found."""
    parser = options(__doc__, robots=10, seed=1)
    parser.add_argument("--stretches", type=int, default=12, help="of each robot, %(default)s")
    parser.add_argument("--seconds", type=float, default=30.0, help="of a stretch, %(default)s")
    arguments = parser.parse_args()
    n = arguments.robots
    robots = replace(draw(n, arguments.seed), period=np.full(n, 0.01))
    changed = np.arange(n) % 2 == 1
    factor = np.where(changed, MASS, 1.0)
    after = replace(robots, mass=robots.mass * factor, inertia=robots.inertia * factor)
    results = learn(robots, after, arguments.stretches, arguments.seconds, arguments.seed)
    for i, result in enumerate(results):
        causes = ", ".join(change.cause for change in result.changes) or "none"
        errors = " ".join(f"{k} {e:+.2f}" for k, e in result.errors.items())
        mass = "mass changes" if changed[i] else "unchanged"
        for reason in result.refusals[:3]:
            print(f"    refused: {reason[:150]}")
        print(f"robot {i}: {mass}; {result.learnt} stretches; changes: {causes}; {errors}")
    for name in NAMES:
        errors = [r.errors[name] for r in results if name in r.errors]
        widths = [r.widths[name] for r in results if name in r.widths]
        if errors:
            print(
                f"{name}: inside {wilson(np.abs(errors) <= 1.0)}, largest error "
                f"{max(map(abs, errors)):.2f} half widths, median half width "
                f"{100.0 * float(np.median(widths)):.2f} %"
            )
    alarmed = np.array([bool(result.changes) for result in results])
    print(
        f"changes alarmed: {(alarmed & changed).sum()} of {changed.sum()}; false alarms: "
        f"{(alarmed & ~changed).sum()} of {(~changed).sum()}"
    )


if __name__ == "__main__":
    main()
