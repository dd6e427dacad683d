#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Robots with friction on figure-8s and parking: errors, settling, and torque chatter.

Robots are drawn at random: 2 to 100 kg, wheels of 4 to 15 cm, the centre of mass ahead of the axle
or behind, Coulomb friction of 2 to 20 % of the torque limit (each wheel its own) and viscous
friction up to a tenth of the torque limit at top speed. Each is driven as by the launch files, with
laws that know its friction from the file (factor 1), 30 % too little or too much (0.7, 1.3), or not
at all ("unknown"), that use friction and K5..K8 identified by `ident` in 20 s with 2 % torque noise
("identified"), and with robots without friction ("none").

With `--gear-loss LOW HIGH` the gears of each wheel also lose a share of the torque between these.
The law knows it ("known"), or counts it as Coulomb friction ("as Coulomb"): larger by gear_loss x
amplitude, which an identification with a binary excitation of that amplitude reports.

Errors are those of the true pose, followed by the part that the law observes (error of the odometry
pose) and the part that it does not (odometry pose minus true pose).

"torque > 10 Hz" is the rms, over both wheels and the whole drive from its first sample on (or from
the stated time), of the Fourier components of the commanded torque above 10 Hz, relative to the
limit (DriveSamples.chatter). It includes noise as well as torque steps: a single step of the full
limit in 10 s gives 2 %. `--counts 0` repeats the drive with perfect sensors, without noise.

    ./diffbot python benchmarks/friction_drives.py eight --robots 12 [--engine mujoco]
    ./diffbot python benchmarks/friction_drives.py park --robots 20 --starts 5 --counts 2048
        [--friction known]
    ./diffbot python benchmarks/friction_drives.py delay --robots 6
    ./diffbot python benchmarks/friction_drives.py eight --robots 12 --gear-loss 0.05 0.3
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from benchmark_tables import Table, options, spread, text
from driving import TUNED, law_of
from ensemble import Ensemble, ensemble

from diffbot_controllers.friction_adaptation import friction_laws, friction_values
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import DynamicParameters, Robot, load_robot
from diffbot_ident.estimate import EstimateState
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_study.driving import PERIOD, DriveSamples, Law, simulate_drive
from diffbot_study.simulated_identification import simulate_identification
from pose2d_trajectories import Reference, make_trajectory

LAP = 30.0  # s
EIGHT = make_trajectory("figure_eight", amplitude_x=1.0, amplitude_y=1.0, period=LAP, ramp_up=0.0)
# Factor on the friction known to a law; "identified" uses the result of `ident`.
KNOWLEDGE = {
    "unknown": None, "x 0.7": 0.7, "known": 1.0, "x 1.3": 1.3, "identified": 1.0, "none": 1.0
}  # fmt: skip
# Gear losses that count as Coulomb friction, and the rows of a table of robots with gear losses.
AS_COULOMB = "as Coulomb"
WITH_GEARS = ("known", AS_COULOMB, "none")
# Identification: robot time, s, and standard deviation of the acting torque, relative to it.
LEARNING, TORQUE_NOISE = 20.0, 0.02
GRAVITY = 9.81  # m/s^2
# Minimum ratio of the weight's moment about the axle to the largest torque of both wheels, whose
# friction is up to 0.3 of that torque.
CASTERS_STAY = 1.35


def random_robot(seed: int, folder: Path, friction: bool, counts: int) -> Robot:
    """Return a robot whose wheels and casters neither lift nor slip at its torque limit."""
    draw = np.random.default_rng([seed, 17])
    mass = float(np.exp(draw.uniform(np.log(2.0), np.log(100.0))))
    radius = float(draw.uniform(0.04, 0.15))
    track = float(radius * draw.uniform(4.0, 6.0))
    wheel = 0.03 * mass
    offset = float(draw.uniform(-0.15, 0.15) * track)
    direction = 1.0 if offset >= 0.0 else -1.0
    limit = float(draw.uniform(2.5, 5.0) * 0.5 * radius * (mass + 2.0 * wheel))
    # The reaction to the wheels' torque, and to their friction in braking, pitches the body and
    # must not lift its casters: falling back on a rigid floor, they throw the wheels off it.
    offset = direction * max(abs(offset), CASTERS_STAY * 2.0 * limit / (mass * GRAVITY))
    # Moderate speeds that suffice for the figure-8.
    speeds = 1.5, 4.0
    coulomb = draw.uniform(0.02, 0.2, 2) * limit
    viscous = draw.uniform(0.0, 0.1, 2) * limit * radius / speeds[0]
    data = yaml.safe_load(load_robot("agv").path.read_text())
    data["name"] = f"random_{seed}"
    data["wheels"] = {
        "radius": radius,
        "separation": track,
        "width": 0.3 * radius,
        "mass": wheel,
        "inertia_spin": 0.6 * wheel * radius**2,
        "inertia_yaw": 0.31 * wheel * radius**2,
    }
    data["body"] = {
        "mass": mass,
        "center_of_mass": {"x": offset, "z": 0.9 * radius},
        "inertia": {
            "roll": mass * track**2 / 10.0,
            "pitch": mass * track**2 / 8.0,
            "yaw": float(mass * track**2 * draw.uniform(0.1, 0.2)),
        },
        "shape": {
            "front": 1.1 * track,
            "rear": -1.1 * track,
            "width": 0.8 * track,
            "bottom": 0.5 * radius,
            "top": 2.0 * radius,
        },
    }
    ball = {"radius": 0.2 * radius}
    data["casters"] = [
        {"x": direction * track, "y": 0.3 * track, "clearance": 0.0, **ball},
        {"x": direction * track, "y": -0.3 * track, "clearance": 0.0, **ball},
        {"x": -direction * 0.8 * track, "y": 0.0, "clearance": 0.02 * radius, **ball},
    ]
    data["friction"] = {
        "viscous": [float(x) if friction else 0.0 for x in viscous],
        "coulomb": [float(x) if friction else 0.0 for x in coulomb],
    }
    data["limits"] = {
        "torque": limit,
        "traction": limit,
        "torque_rate": 100.0 * limit,
        "linear_velocity": speeds[0],
        "angular_velocity": speeds[1],
    }
    data["excitation"].update(
        amplitude=0.3 * limit, linear_velocity=speeds[0], angular_velocity=speeds[1]
    )
    data["encoder"]["counts"] = counts
    path = folder / f"{seed}_{friction}.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_robot(str(path))


def with_gears(robot: Robot, seed: int, losses: Sequence[float] | None) -> Robot:
    """Return the robot of a seed with gear losses of its wheels, drawn from a range; None: none."""
    if losses is None:
        return robot
    left, right = np.random.default_rng([seed, 18]).uniform(*losses, 2).tolist()
    return replace(robot, friction=replace(robot.friction, gear_loss=(left, right)))


def gears_as_coulomb(robot: Robot) -> Robot:
    """Return the robot as its identification by a binary excitation describes it."""
    friction, amplitude = robot.friction, robot.excitation.amplitude
    left, right = (
        coulomb + loss * amplitude
        for coulomb, loss in zip(friction.coulomb, friction.gear_loss, strict=True)
    )
    return replace(robot, friction=replace(friction, coulomb=(left, right), gear_loss=(0.0, 0.0)))


def wheels_of(
    robot: Robot, factor: float | None, counts: int, delay: float = 0.0
) -> KnownWheels | None:
    """Return a law's knowledge of the wheels; None: none."""
    if factor is None:
        return None
    known = KnownWheels.of(robot, counts, delay)
    values = [factor * value for value in friction_values(known.friction)]
    return replace(known, friction=friction_laws(known.friction, values))


def reported(
    name: str, engine: Simulator, robot: Robot, arguments: argparse.Namespace, seed: int
) -> tuple[DynamicParameters, KnownWheels | None]:
    """Return K5..K8 and a law's knowledge of the wheels, by the name of KNOWLEDGE."""
    counts = arguments.counts
    if name == AS_COULOMB:
        return engine.parameters(), wheels_of(gears_as_coulomb(robot), 1.0, counts)
    if name != "identified":
        return engine.parameters(), wheels_of(robot, KNOWLEDGE[name], counts)
    result = simulate_identification(
        robot, arguments.engine, seed, LEARNING, counts, TORQUE_NOISE
    ).estimate
    if result.state is not EstimateState.ESTIMATED or result.friction is None:
        raise RuntimeError(f"robot {seed}: ident says {result.reason or 'nothing of the friction'}")
    known = KnownWheels.of(robot, counts)
    friction = friction_laws(known.friction, [max(0.0, value) for value in result.friction.values])
    return DynamicParameters(*result.values), replace(known, friction=friction)


def drive_eight(
    engine: Simulator,
    robot: Robot,
    known: tuple[DynamicParameters, KnownWheels | None],
    seed: int,
    counts: int,
    delay: int = 0,
) -> DriveSamples:
    """Drive two laps, from rest 0.5 m beside the start."""
    direction = np.random.default_rng(seed).uniform(-math.pi, math.pi)
    first = EIGHT.at(0.0)
    start = (first.x + 0.5 * math.cos(direction), first.y + 0.5 * math.sin(direction), first.theta)
    law = law_of("backstepping", known[0], robot, known[1])
    return simulate_drive(
        engine, robot, law, EIGHT.at, 2.0 * LAP,
        start=start, encoder_counts=counts, seed=seed, torque_delay=delay,
    )  # fmt: skip


EIGHT_HEADS = ("mm", "seen mm", "odometry off mm", "degrees", "settled s", "torque > 10 Hz, %")


def eight_cells(runs: list[DriveSamples], limits: list[float]) -> list[tuple[float, float]]:
    """Return median and largest of the columns EIGHT_HEADS, errors as rms."""
    rms = [run.true.rms(LAP) for run in runs]
    return [
        spread(1e3 * r[0] for r in rms),
        spread(1e3 * run.by_odometry.rms(LAP)[0] for run in runs),
        spread(1e3 * run.drift.rms(LAP)[0] for run in runs),
        spread(math.degrees(r[1]) for r in rms),
        spread(run.true.settling_time for run in runs),
        spread(100.0 * run.chatter(t, LAP) for run, t in zip(runs, limits, strict=True)),
    ]


Drives = tuple[dict[str, DriveSamples], float]
"""Runs of one robot by the row of a table, and the limit of a wheel's torque, N m."""


def eights_of(arguments: argparse.Namespace, seed: int) -> Drives:
    """Drive figure-8s with the robot of a seed, by the names of KNOWLEDGE."""
    counts, runs = arguments.counts, {}
    with TemporaryDirectory() as folder:
        for friction in (True, False):
            robot = random_robot(seed, Path(folder), friction, counts)
            if friction:
                robot = with_gears(robot, seed, arguments.gear_loss)
            with closing(make_simulator(arguments.engine, robot)) as engine:
                for name in arguments.friction:
                    if friction == (name != "none"):
                        known = reported(name, engine, robot, arguments, seed)
                        runs[name] = drive_eight(engine, robot, known, seed, counts)
    return runs, robot.limits.torque


def print_rows(names: Iterable[str], drives: list[Drives]) -> None:
    """Print a row for each name."""
    table = Table("median and largest", *EIGHT_HEADS)
    limits = [limit for _, limit in drives]
    for name in names:
        table.row(name, *eight_cells([runs[name] for runs, _ in drives], limits))


def eights(robots: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of figure-8s."""
    drives = robots.map(eights_of, arguments)
    print_rows([name for name in (*KNOWLEDGE, AS_COULOMB) if name in arguments.friction], drives)
    if {"known", "none"} <= {*arguments.friction}:
        ratios = [
            runs["known"].true.settling_time / runs["none"].true.settling_time for runs, _ in drives
        ]
        print(f"settling with known friction / without: median, largest {text(spread(ratios))}")


def drive_to_goal(
    engine: Simulator, robot: Robot, law: Law, seed: int, start: int, counts: int
) -> DriveSamples:
    """Drive 10 s to a pose at rest from 1 cm to 2 m away; `start` numbers the start pose."""
    draw = np.random.default_rng([seed, start])
    away = math.exp(draw.uniform(math.log(0.01), math.log(2.0)))
    direction, theta = draw.uniform(-math.pi, math.pi, 2)
    return simulate_drive(
        engine, robot, law, lambda _: Reference(), 10.0,
        start=(away * math.cos(direction), away * math.sin(direction), float(theta)),
        encoder_counts=counts, seed=1000 * seed + start,
    )  # fmt: skip


Parked = tuple[DriveSamples, float]
"""A parking run, and the limit of a wheel's torque, N m."""


def park(arguments: argparse.Namespace, law: str, name: str, seed: int) -> list[Parked]:
    """Park a robot from each of its starts, with a law of TUNED and a name of KNOWLEDGE."""
    counts, parked = arguments.counts, []
    with TemporaryDirectory() as folder:
        robot = random_robot(seed, Path(folder), name != "none", counts)
        if name != "none":
            robot = with_gears(robot, seed, arguments.gear_loss)
        with closing(make_simulator(arguments.engine, robot)) as engine:
            dynamics, wheels = reported(name, engine, robot, arguments, seed)
            for k in range(arguments.starts):
                run = drive_to_goal(
                    engine, robot, law_of(law, dynamics, robot, wheels), seed, k, counts
                )
                parked.append((run, robot.limits.torque))
    return parked


def parking(robots: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of parking: errors in the last 0.5 s of 10 s, sign changes see restless."""
    table = Table(
        "law, friction", "mm", "seen mm", "odometry off mm", "degrees", "settled s", "lost",
        "torque > 10 Hz, %", "after 5 s", "sign changes, 1/s", "beyond 1 mm",
    )  # fmt: skip
    for law in TUNED:
        for name in arguments.friction:
            parked = [each for own in robots.map(park, arguments, law, name) for each in own]
            table.row(f"{law} {name}", *parking_cells(parked))


def parking_cells(parked: list[Parked]) -> list[object]:
    """Return the figures of parking runs, in the columns of `parking`."""
    runs = [run for run, _ in parked]
    late = [run.true.largest(9.5) for run in runs]
    times = [run.true.settling_time for run in runs]
    return [
        spread(1e3 * distance for distance, _ in late),
        spread(1e3 * run.by_odometry.largest(9.5)[0] for run in runs),
        spread(1e3 * run.drift.largest(9.5)[0] for run in runs),
        spread(math.degrees(heading) for _, heading in late),
        spread(times),
        f"{sum(map(math.isinf, times))}/{len(runs)}",
        *(
            spread(100.0 * run.chatter(limit, since) for run, limit in parked)
            for since in (0.0, 5.0)
        ),
        spread(map(restless, runs)),
        sum(distance > 1e-3 for distance, _ in late),
    ]


def restless(run: DriveSamples) -> float:
    """Return the torque's sign changes per s, from 3 s or from settling on, if later."""
    settled = run.true.settling_time
    return run.sign_changes(max(3.0, settled if settled < 9.0 else 3.0))


# Rows of the table of delays: periods of the true delay, and of the delay known to the law.
DELAYS = {"0": (0, 0), "2, unknown": (2, 0), "2, known": (2, 2)}


def delays_of(arguments: argparse.Namespace, seed: int) -> Drives:
    """Drive figure-8s with the robot of a seed, by the names of DELAYS."""
    counts, runs = arguments.counts, {}
    with TemporaryDirectory() as folder:
        robot = random_robot(seed, Path(folder), True, counts)
        with closing(make_simulator(arguments.engine, robot)) as engine:
            for name, (delay, said) in DELAYS.items():
                wheels = wheels_of(robot, 1.0, counts, said * PERIOD)
                known = engine.parameters(), wheels
                runs[name] = drive_eight(engine, robot, known, seed, counts, delay)
    return runs, robot.limits.torque


def delays(robots: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the table of torque delays."""
    drives = robots.map(delays_of, arguments)
    print_rows(DELAYS, drives)
    ratios = [runs["2, known"].true.rms(LAP)[0] / runs["0"].true.rms(LAP)[0] for runs, _ in drives]
    print(f"position rms with a known delay / without: median, largest {text(spread(ratios))}")


TABLES = {"eight": eights, "park": parking, "delay": delays}


def main() -> None:
    """Print a table."""
    parser = options(__doc__, robots=12, cluster=True)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--engine", choices=ENGINES, default="ideal")
    parser.add_argument("--starts", type=int, default=5, help="parking runs per robot")
    parser.add_argument("--counts", type=int, default=4096, help="encoder counts; 0: exact")
    parser.add_argument(
        "--friction",
        nargs="+",
        choices=(*KNOWLEDGE, AS_COULOMB),
        help=f"rows; default: {', '.join(KNOWLEDGE)}; with gear losses {', '.join(WITH_GEARS)}",
    )
    parser.add_argument(
        "--gear-loss",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="range of the share of the torque that the gears lose; default: none",
    )
    arguments = parser.parse_args()
    if arguments.friction is None:
        arguments.friction = list(KNOWLEDGE if arguments.gear_loss is None else WITH_GEARS)
    print(f"engine {arguments.engine}, {arguments.robots} robots, {arguments.counts} counts")
    with ensemble(arguments) as robots:
        TABLES[arguments.table](robots, arguments)


if __name__ == "__main__":
    main()
