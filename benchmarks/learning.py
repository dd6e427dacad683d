# SPDX-License-Identifier: Apache-2.0
"""Learning from ordinary driving: do the combined intervals hold, and are changes found?

torque  Robots of the independent plant drive missions (speeds and turns held for some seconds, with
        gentle ramps, by a velocity controller), in stretches with pauses between. In three of five
        a payload of 10 % or twice the friction of the left wheel comes after half of the stretches.
        Truth is K5..K8 of the closed form.
hours   Robots with wrong files work for --stretches minutes with slip of their own and, by
        --sensor, a gyro, poses (10 Hz, 1 cm, 0.5 deg, 2 % outliers) or a laser in a room of its
        own each minute, or in a corridor with door frames, whose end is in sight of every second
        robot. One slow spin each way is in it. Truth is radii, track, gyro and mounting.
weeks   The same, with a fault after half of the stretches in three of five robots: a tyre of
        -1 %, a gyro of 1 %, a sensor moved by 2 cm, slip; `--sensor gyro`: tyre and track only.
long    72 simulated hours of values, minute by minute: time and memory; killed 20 times and
        continued, to be equal; a damaged state.
cost    Processor time of a minute of states with efforts at 50 Hz, without and with a laser.

    ./diffbot python benchmarks/learning.py torque --robots 10 --stretches 12 --seed 1
    ./diffbot python benchmarks/learning.py hours --robots 20 --stretches 60 --sensor both
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import yaml
from benchmark_tables import by_robots, options, wilson
from beyond_the_model import write_table
from calibration import random_geometry
from made_recordings.excited_runs import RunSetting, record
from made_recordings.made_laser import MadeLaser, corridor_with_doors, laser_poses, room, scans
from made_recordings.made_readings import RAMP, Leg, MadeGyro, MadePoses, simulated_drive
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import WheelGeometry
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
from diffbot_learning.driven_sizes import StretchValue, driven_sizes
from diffbot_learning.learned_robot import DamagedState, LearnedRobot, summary
from diffbot_learning.stretch import Stretch, driven_motions, read_stretch
from diffbot_recordings.laser_poses import LASER_ERRORS
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sensor_readings import (
    CalibrationReadings,
    CommonPoseErrors,
    WheelPath,
    WheelTurns,
)

# Mission: longest and shortest time of a speed, s; accelerations as fractions of the torque limit.
LONGEST, SHORTEST, GENTLE = 6.0, 2.0, 0.4
NAMES = ("K5", "K6", "K7", "K8")
TORQUE_FAULTS = {"load": 1.1, "brake left": 2.0}
"""Factors of mass and inertia, and of the friction of one wheel."""


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


def stretches_of(
    robots: Robots, after: Robots, arguments: argparse.Namespace
) -> tuple[list[LearnedRobot], list[list[Stretch]]]:
    """Return learners and stretches of all robots; those of `after` drive from the middle on."""
    n, count = len(robots.mass), arguments.stretches
    turns = [robots if 2 * k < count else after for k in range(count)]
    every = Robots(
        **{f.name: np.concatenate([getattr(r, f.name) for r in turns], -1) for f in fields(Robots)}
    )
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(arguments.workers) as pool:
        folder = Path(name)
        files = [description(folder, robots, i) for i in range(n)]
        known = [LearnedRobot(str(file)) for file in files]  # before the drives, which take long
        none = Imperfections.none(n * count)
        made = drive(every, none, arguments.seconds, arguments.seed, driver_type=Mission)
        jobs = []
        for i in range(n):
            for k, one in enumerate(made[i::n]):
                write_table(folder / f"{i}_{k}.csv", one)
                jobs.append((folder / f"{i}_{k}.csv", str(files[i]), 1.8e9 + 3600.0 * k))
        read_all = list(pool.map(read, jobs))
    return known, [read_all[i * count : (i + 1) * count] for i in range(n)]


def torque(arguments: argparse.Namespace) -> None:
    """Print the coverage of the intervals of K5..K8, and which faults were found."""
    n = arguments.robots
    robots = replace(draw(n, arguments.seed), period=np.full(n, 0.01))
    faults = plant(n, TORQUE_FAULTS)
    mass, brake = (
        np.array([size if fault == one else 1.0 for fault in faults])
        for one, size in TORQUE_FAULTS.items()
    )
    braked = robots.coulomb * np.array([brake, np.ones(n)])
    after = replace(robots, mass=robots.mass * mass, inertia=robots.inertia * mass, coulomb=braked)
    known, stretches = stretches_of(robots, after, arguments)
    lives = [
        lived(learning, own, dict(zip(NAMES, after.truth[:, i].tolist(), strict=True)), faults[i])
        for i, (learning, own) in enumerate(zip(known, stretches, strict=True))
    ]
    print_coverage(lives)
    print_faults(lives, arguments.stretches)


# Radii, track, gyro, mounting.

FAULTS = ("tyre left", "gyro", "pose source moved", "slip")
MOUNTING = ("mount_x", "mount_y", "mount_yaw")
SPIN = 0.6  # yaw rate of a slow spin, rad/s
ROOM, CORRIDOR = "room", "corridor"
FAR = 2.5  # from where a mission turns back, m


@dataclass(frozen=True)
class Worker:
    """A robot at work, and its sensors; None: there is none."""

    geometry: WheelGeometry
    path_noise: float
    gyro: MadeGyro | None
    poses: MadePoses | None
    laser: MadeLaser | None

    @classmethod
    def draw(cls, rng: np.random.Generator, sensor: str) -> Worker:
        """Draw a robot whose file is wrong, see benchmarks/calibration.py."""
        x, y = rng.uniform(-0.2, 0.2, 2)
        mounting = (float(x), float(y), float(rng.uniform(-3.0, 3.0)))
        gyro = MadeGyro(
            bias=rng.normal(0.0, 0.02),
            scale=1.0 + rng.normal(0.0, 0.005),
            delay=rng.uniform(0.0, 0.03),
        )
        poses = MadePoses(mounting=mounting, period=0.1)
        laser = MadeLaser(mounting=mounting, scale=1.0 + rng.normal(0.0, 0.002))
        return cls(
            random_geometry(rng),
            float(10.0 ** rng.uniform(-6.5, -5.5)),
            gyro if sensor in ("gyro", "both") else None,
            poses if sensor in ("pose", "both") else None,
            laser if sensor == "laser" else None,
        )

    def with_fault(self, fault: str) -> Worker:
        """Return the robot with a fault; "": none."""
        own = self.geometry
        if fault == "tyre left":
            smaller = WheelGeometry(0.99 * own.left_radius, own.right_radius, own.separation)
            return replace(self, geometry=smaller)
        if fault == "slip":
            return replace(self, path_noise=30.0 * self.path_noise)
        if fault == "gyro" and self.gyro is not None:
            return replace(self, gyro=replace(self.gyro, scale=self.gyro.scale + 0.01))
        if fault == "pose source moved":
            moved = {
                name: None
                if (sensor := getattr(self, name)) is None
                else replace(sensor, mounting=(sensor.mounting[0] + 0.02, *sensor.mounting[1:]))
                for name in ("poses", "laser")
            }
            return replace(self, **moved)
        return self

    def work(
        self, rng: np.random.Generator, seconds: float, spin: bool, begin: float, walls: str
    ) -> Stretch:
        """Return what a mission of about these seconds tells, in a place of its own."""
        along = walls == CORRIDOR
        legs = corridor_mission(rng, seconds) if along else mission(rng, seconds, spin)
        drive = simulated_drive(self.geometry, legs, rng, self.path_noise)
        gyro = None if self.gyro is None else drive.gyro(self.gyro, rng)
        poses = None if self.poses is None else drive.poses(self.poses, rng)
        errors = CommonPoseErrors()
        if self.laser is not None:
            seen = corridor_with_doors(rng) if along else room(rng, 14.0)
            with contextlib.suppress(RecordingError):  # too many scans without a pose
                poses, errors = laser_poses(drive, seen, self.laser, rng), LASER_ERRORS
        readings = CalibrationReadings(drive.wheels, gyro, poses, pose_errors=errors)
        twil = load_robot("twil")
        values, reason = driven_sizes(readings, twil.geometry)
        return Stretch(begin, values, {}, driven_motions(drive.wheels, twil), reason)

    def truth(self) -> dict[str, float]:
        """Return the true values, by the names of what is learnt."""
        own = self.geometry
        mean = 0.5 * (own.left_radius + own.right_radius)
        sensor = self.poses or self.laser
        known = {
            "left_radius": own.left_radius,
            "right_radius": own.right_radius,
            "track": own.separation,
            "track_over_mean_radius": own.separation / mean,
            "radius_ratio": own.right_radius / own.left_radius,
        }
        if self.gyro is not None:
            known["gyro_scale"] = self.gyro.scale
        if sensor is not None:
            known |= dict(zip(MOUNTING, sensor.mounting, strict=True))
        return known


def mission(rng: np.random.Generator, seconds: float, spin: bool) -> list[Leg]:
    """Return legs to and fro: straight, turns on the spot, curves, idling; it stays within 6 m."""
    legs: list[Leg] = []
    if spin:
        legs += [(0.0, sign * SPIN, math.tau / SPIN) for sign in (1.0, -1.0)]
    place, heading = 0.0j, sum(leg[1] * (leg[2] + RAMP) for leg in legs)
    while sum(leg[2] + 2.0 * RAMP for leg in legs) < seconds:
        speed, along = rng.uniform(0.2, 0.6), rng.uniform(0.5, 2.0)
        bend = rng.uniform(-0.8, 0.8) * (rng.random() < 0.5)
        turn = rng.uniform(0.4, math.pi) * rng.choice((-1.0, 1.0))
        length = along + speed * RAMP
        place += length * np.exp(1j * (heading + 0.5 * bend * length))
        heading += bend * length
        if abs(place) > FAR:
            turn = math.remainder(np.angle(-place) - heading, math.tau)
        time = max(abs(turn) - RAMP, 0.1)
        turn = math.copysign(1.0, turn)
        heading += turn * (time + RAMP)
        place += length * np.exp(1j * heading)
        legs += [
            (speed, bend * speed, along / speed),
            (0.0, turn, time),
            (speed, 0.0, along / speed),
        ]
        if rng.random() < 0.5:
            legs.append((0.0, 0.0, rng.uniform(2.0, 8.0)))
    return legs


def corridor_mission(rng: np.random.Generator, seconds: float) -> list[Leg]:
    """Return legs along a corridor, within 4 m, with turns by half a circle."""
    legs: list[Leg] = []
    place, ahead = 0.0, 1.0
    while sum(leg[2] + 2.0 * RAMP for leg in legs) < seconds:
        speed, along = rng.uniform(0.2, 0.6), rng.uniform(1.0, 3.0)
        if ahead * place > 1.0 or (abs(place) < 1.0 and rng.random() < 0.5):
            legs.append((0.0, rng.choice((-1.0, 1.0)), math.pi - RAMP))
            ahead = -ahead
        legs.append((speed, 0.0, along / speed - RAMP))
        place += ahead * along
    return legs


@dataclass(frozen=True)
class Life:
    """What was learnt of a worker: errors, in half widths and relative; changes; refusals."""

    fault: str
    errors: dict[str, float]
    relative: dict[str, float]
    changes: tuple[tuple[float, str], ...]
    refused: int


def lived(
    learning: LearnedRobot, stretches: Iterable[Stretch], truth: Mapping[str, float], fault: str
) -> Life:
    """Let a robot learn from stretches; the truth is that of the last."""
    changes = [
        (float(k), change.cause)
        for k, made in enumerate(stretches)
        if (change := learning.add(made)) is not None
    ]
    values = {value.name: value for value in learning.values() if value.name in truth}
    errors = {n: (v.value - truth[n]) / v.half_width for n, v in values.items()}
    relative = {n: abs(v.value / truth[n] - 1.0) for n, v in values.items() if "mount" not in n}
    return Life(fault, errors, relative, tuple(changes), learning.refused)


def live(job: tuple[int, str, argparse.Namespace]) -> Life:
    """Let worker i learn; its fault comes after half of the stretches."""
    i, fault, arguments = job
    rng, count = np.random.default_rng(arguments.seed + i), arguments.stretches
    before = Worker.draw(rng, arguments.sensor)
    after = before.with_fault(fault)
    made = (
        (before if 2 * k < count else after).work(
            rng, arguments.seconds, k == count // 2, 60.0 * k, arguments.walls
        )
        for k in range(count)
    )
    return lived(LearnedRobot("twil"), made, after.truth(), fault)


def plant(count: int, faults: Iterable[str]) -> list[str]:
    """Return the faults of robots, three of five; "": none."""
    names = [*faults]
    return [names[i // 2 % len(names)] if i % 5 not in (0, 1) else "" for i in range(count)]


def print_coverage(lives: Sequence[Life]) -> None:
    """Print coverage and errors of values."""
    for name in sorted({name for life in lives for name in life.errors}):
        errors = np.array([life.errors[name] for life in lives if name in life.errors])
        relative = [100.0 * life.relative[name] for life in lives if name in life.relative]
        text = f"{name}: {len(errors)} robots, inside {wilson(np.abs(errors) <= 1.0)} %, largest "
        text += f"{np.abs(errors).max():.2f} half widths"
        if relative:
            text += (
                f"; 95 % within {np.percentile(relative, 95.0):.2f} %, all {max(relative):.2f} %"
            )
        print(text)
    if own := [np.abs([*life.errors.values()]) <= 1.0 for life in lives if life.errors]:
        print(f"all {sum(map(len, own))} intervals: inside {by_robots(own)}")
    print(f"stretches without any value: {sum(life.refused for life in lives)}")


def hours(arguments: argparse.Namespace) -> None:
    """Print coverage and errors of sizes, and false alarms."""
    lives = _lives(arguments, [""] * arguments.robots)
    print_coverage(lives)
    print(f"false alarms: {sum(bool(life.changes) for life in lives)} of {len(lives)}")


def weeks(arguments: argparse.Namespace) -> None:
    """Print which planted faults were found and named, and false alarms."""
    faults = ("tyre left",) if arguments.sensor == "gyro" else FAULTS
    if arguments.sensor in ("pose", "laser"):
        faults = tuple(fault for fault in FAULTS if fault != "gyro")
    print_faults(_lives(arguments, plant(arguments.robots, faults)), arguments.stretches)


def print_faults(lives: Sequence[Life], stretches: int) -> None:
    """Print which faults, planted after half of the stretches, were found and named."""
    for fault in sorted({life.fault for life in lives}):
        own = [life for life in lives if life.fault == fault]
        said = Counter(", ".join(cause for _, cause in life.changes) or "nothing" for life in own)
        print(f"{fault or 'no fault'}: {len(own)} robots; found: {dict(said)}")
    middle = stretches / 2
    named = [any(c == life.fault for _, c in life.changes) for life in lives if life.fault]
    early = sum(any(k < middle or not life.fault for k, _ in life.changes) for life in lives)
    delay = [k - middle for life in lives if life.fault for k, c in life.changes if c == life.fault]
    print(f"found and named: {sum(named)} of {len(named)}; false alarms: {early} of {len(lives)}")
    if delay:
        print(f"stretches until an alarm: median {np.median(delay):.0f}, all {max(delay):.0f}")


def _lives(arguments: argparse.Namespace, faults: Sequence[str]) -> list[Life]:
    jobs = [(i, fault, arguments) for i, fault in enumerate(faults)]
    with ProcessPoolExecutor(arguments.workers) as pool:
        return [*pool.map(live, jobs)]


# Hours, days: the state.

MINUTES, KILLS = 72 * 60, 20


def minute(k: int) -> Stretch:
    """Return the values of a minute, the same whenever it is asked for."""
    rng = np.random.default_rng([7, k])
    names = {"left_radius": 0.075, "right_radius": 0.075, "track": 0.27, "gyro_scale": 1.0}
    values = {
        name: StretchValue(float(rng.normal(true, 1e-3 * true)), 1e-3 * true, "m")
        for name, true in names.items()
    }
    values["K7"] = StretchValue(float(rng.normal(2.5, 0.02)), 0.02, "1/(kg m)")
    return Stretch(60.0 * k, values, {}, {"forwards": 30.0}, "")


def continue_life(folder: Path, until: int) -> None:
    """Go on from a folder's state to a minute, saved after each."""
    learning, path = LearnedRobot("twil"), folder / "learning.json"
    if path.exists():
        learning.load(path)
    for k in range(learning.stretches, until):
        learning.add(minute(k))
        learning.save(path)
    (folder / "learned.json").write_text(json.dumps(summary(learning), sort_keys=True))


def long(arguments: argparse.Namespace) -> None:
    """Print time and memory of a long life, and whether one that is killed ends the same."""
    if arguments.folder:
        continue_life(Path(arguments.folder), MINUTES)
        return
    with tempfile.TemporaryDirectory() as name:
        whole, killed = Path(name, "whole"), Path(name, "killed")
        whole.mkdir()
        killed.mkdir()
        for until in range(MINUTES // 8, MINUTES + 1, MINUTES // 8):
            begun = time.process_time()
            continue_life(whole, until)
            each = 1e3 * (time.process_time() - begun) / (MINUTES // 8)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
            size = (whole / "learning.json").stat().st_size / 1024.0
            print(f"{until / 60:.0f} h: {each:.1f} ms a minute, {memory:.0f} MB, {size:.0f} kB")
        kills = _killed(killed, arguments.seed)
        same = (whole / "learned.json").read_text() == (killed / "learned.json").read_text()
        print(f"killed {kills} times and continued: {'equal' if same else 'DIFFERENT'}")
        path = killed / "learning.json"
        path.write_bytes(path.read_bytes()[:-99])
        try:
            LearnedRobot("twil").load(path)
        except DamagedState as error:
            print(f"damaged: refused: {str(error).rpartition('/')[2]}")


def _killed(folder: Path, seed: int) -> int:
    """Run a life in processes that are killed at random times; return how many were."""
    rng, kills = np.random.default_rng(seed), 0
    words = [sys.executable, __file__, "long", "--folder", str(folder)]
    while True:
        process = subprocess.Popen(words)
        try:
            limit = rng.uniform(2.0, 20.0) if kills < KILLS else None
            process.wait(limit)
            return kills
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1


def cost(arguments: argparse.Namespace) -> None:
    """Print the processor time of a minute at 50 Hz, without and with a laser."""
    run, rng = record(RunSetting(period=0.02), arguments.seed, 60.0), np.random.default_rng(1)
    wheels = WheelTurns(*np.array([(one.stamp, *one.position) for one in run.samples]).T)
    poses = WheelPath(wheels, run.geometry).poses
    laser = [*scans(poses, room(rng, 14.0), MadeLaser(), 0.1, wheels.stamps[-1] - 0.2, rng)]
    with tempfile.TemporaryDirectory() as name:
        for rays, seen in ((0, []), (MadeLaser.rays, laser)):
            folder = Path(name, str(rays))
            with RecordedBag(folder) as bag:
                for sample in run.samples:
                    bag.joint_state("/joint_states", sample)
                for scan in seen:
                    bag.scan("/scan", scan)
            took = []
            for _ in range(3):
                begun = time.process_time()
                stretch = read_stretch(folder, "twil")
                took.append(time.process_time() - begun)
            text = (
                f"{len(run.samples)} states and {len(seen)} scans of {rays} rays: {min(took):.2f} s"
            )
            print(
                f"{text}, {100.0 * min(took) / 60.0:.1f} % of a core; {len(stretch.values)} values"
            )


KINDS = {"torque": torque, "hours": hours, "weeks": weeks, "long": long, "cost": cost}


def main() -> None:
    """Print what one kind of run tells."""
    parser = options(__doc__, robots=10, seed=1)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--stretches", type=int, default=12, help="of each robot, %(default)s")
    parser.add_argument("--seconds", type=float, default=30.0, help="of a stretch, %(default)s")
    parser.add_argument("--walls", choices=(ROOM, CORRIDOR), default=ROOM, help="of the laser")
    parser.add_argument("--sensor", choices=("both", "pose", "gyro", "laser"), default="both")
    parser.add_argument("--workers", type=int, default=2, help="processes, %(default)s")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    KINDS[arguments.kind](arguments)


if __name__ == "__main__":
    main()
