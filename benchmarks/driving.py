#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parking, figures of 8 and identification by engine: settling times, true errors, drift, speed.

The laws run as in launch/*.launch.xml: encoders, torque and rate limits, and the pose by odometry
only. `published` is Listing 3 of Lages (2018). Parts:

parking         from rest at the origin, perturbed by up to 1 mm and 1 mrad, and with --poses also
                from anywhere within 10 m: settling time to 1 cm and 1 degree of the true pose
eights          nine figures of 8, x = Ax sin 2Wt, y = -Ay cos Wt, forwards and backwards, from rest
                0.5 m beside them: errors over the second lap, of the worst start, of the true pose,
                of the pose by odometry, and drift; "lost": starts that were 0.2 m or 45 degrees off
identification  errors of K5..K8 after 60 s, with exact wheel angles and with the robot's encoders
speed           robot time over wall time in periods of 10 ms, in one process

    ./diffbot python benchmarks/driving.py parking --torque-limit 5 --encoder-counts 0
    ./diffbot python benchmarks/driving.py eights --engines mujoco [--robot agv] [--published 1]
    ./diffbot python benchmarks/driving.py identification speed --engines ideal mujoco --robots 5
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

import numpy as np
from benchmark_tables import Table, contains, options, percent
from ensemble import Ensemble, ensemble

from diffbot_controllers import PublishedBackstepping, tuned_backstepping, tuned_polar_pose
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import DynamicParameters, Robot, load_robot
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_study.driving import PERIOD, DriveSamples, Law, simulate_drive
from diffbot_study.simulated_identification import simulate_identification
from pose2d_trajectories import Reference, Trajectory, make_trajectory

TUNED = {"backstepping": tuned_backstepping, "pose": tuned_polar_pose}
GOALS = ((1.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 1.0, 0.0))
PARKED = 12.0  # s of a run
# Ax and Ay in m, Tp in s.
EIGHTS = (
    (1.0, 0.5, 40.0),
    (1.0, 0.5, 20.0),
    (0.5, 0.25, 20.0),
    (0.5, 0.5, 20.0),
    (0.3, 0.15, 15.0),
    (1.0, 1.0, 30.0),
    (2.0, 0.5, 40.0),
    (2.0, 1.0, 30.0),
    (3.0, 1.5, 60.0),
)
AWAY = 0.5  # m
LOST = (0.2, math.radians(45.0))  # m, rad


def law_of(
    name: str,
    dynamics: DynamicParameters,
    robot: Robot,
    wheels: KnownWheels | None = None,
    limit: float | None = None,
) -> Law:
    """Create a law as its node does, or `published`; limit in N m, None: the robot's traction."""
    limits = robot.limits
    limit = limit or limits.traction
    if name == "published":
        return PublishedBackstepping(dynamics, time_step=PERIOD, torque_limit=limit)
    speeds = limits.linear_velocity, limits.angular_velocity
    return TUNED[name](dynamics, limit, *speeds, mean_velocity=True, wheels=wheels)


def figure_eight(ax: float, ay: float, period: float, backwards: bool = False) -> Trajectory:
    """Return a figure of 8 that starts at full speed."""
    return make_trajectory(
        "figure_eight", amplitude_x=ax, amplitude_y=ay, period=period, ramp_up=0.0,
        backwards=backwards,
    )  # fmt: skip


def start_beside(trajectory: Trajectory, seed: int) -> tuple[float, float, float]:
    """Return a pose 0.5 m from the start of a trajectory."""
    generator = np.random.default_rng(seed)
    direction = generator.uniform(-math.pi, math.pi)
    dx, dy, turn = generator.uniform(-1e-3, 1e-3, 3)
    first = trajectory.at(0.0)
    return (
        first.x + AWAY * math.cos(direction) + float(dx),
        first.y + AWAY * math.sin(direction) + float(dy),
        first.theta + float(turn),
    )


def anywhere(seed: int) -> tuple[float, float, float]:
    """Return a pose 1 mm to 10 m away, log-uniform distance, any direction and heading."""
    generator = np.random.default_rng(seed)
    away = math.exp(generator.uniform(math.log(1e-3), math.log(10.0)))
    direction, theta = generator.uniform(-math.pi, math.pi, 2).tolist()
    return away * math.cos(direction), away * math.sin(direction), theta


def drive(
    arguments: argparse.Namespace,
    engine: str,
    law: str,
    reference: Callable[[float], Reference],
    duration: float,
    start_of: Callable[[int], tuple[float, float, float]],
    seed: int,
) -> DriveSamples:
    """Drive along a reference for a time, s, from the start of a seed."""
    robot, counts = load_robot(arguments.robot), arguments.encoder_counts
    limit = arguments.torque_limit or robot.limits.traction
    wheels = KnownWheels.of(robot, counts)
    with closing(make_simulator(engine, robot)) as simulator:
        return simulate_drive(
            simulator, robot, law_of(law, simulator.parameters(), robot, wheels, limit), reference,
            duration, start=start_of(seed), encoder_counts=counts, torque_limit=limit, seed=seed,
        )  # fmt: skip


def near_origin(seed: int) -> tuple[float, float, float]:
    """Return a pose within 1 mm and 1 mrad of the origin."""
    x, y, theta = np.random.default_rng(seed).uniform(-1e-3, 1e-3, 3).tolist()
    return x, y, theta


def parking(runs: Ensemble, arguments: argparse.Namespace, engine: str) -> None:
    """Print the table of parking."""
    table = Table(
        "to x y theta", "law", "settled s: least, median, largest", "lost", "drift mm", "N m",
        "m/s", "rad/s",
    )  # fmt: skip
    cases = [("{:g} {:g} {:g}".format(*goal), goal, near_origin, runs) for goal in GOALS]
    if arguments.poses:
        more = range(arguments.seed, arguments.seed + arguments.poses)
        cases.append(("from anywhere", (0.0, 0.0, 0.0), anywhere, runs._replace(seeds=more)))
    for name, goal, start_of, own in cases:
        reference = Reference(*goal)
        for law in (*TUNED, "published"):
            drives = own.map(
                drive, arguments, engine, law, lambda _, to=reference: to, PARKED, start_of
            )
            times = np.sort([run.true.settling_time for run in drives])
            table.row(
                name, law, times[[0, len(times) // 2, -1]],
                f"{np.isinf(times).sum()}/{len(drives)}",
                1e3 * max(run.drift.largest(0.0)[0] for run in drives),
                max(run.peak_torque for run in drives),
                *np.max([run.peak_speeds for run in drives], axis=0),
            )  # fmt: skip


def eights(runs: Ensemble, arguments: argparse.Namespace, engine: str) -> None:
    """Print the table of figures of 8."""
    errors = ("true: rms mm, degrees, largest mm", "by odometry", "drift of odometry")
    table = Table("figure", "law", *errors, "lost", "N m", width=26)
    starts = {"backstepping": len(runs.seeds), "published": arguments.published}
    for ax, ay, period in EIGHTS:
        for backwards in (False, True):
            trajectory = figure_eight(ax, ay, period, backwards)
            for law, count in starts.items():
                own = runs._replace(seeds=runs.seeds[:count])
                beside = partial(start_beside, trajectory)
                drives = own.map(drive, arguments, engine, law, trajectory.at, 2.0 * period, beside)
                if drives:
                    name = f"{ax:g} x {ay:g} m {period:g} s {'back' * backwards or 'for'}wards"
                    table.row(name, law, *_lap(drives, period))


def _lap(drives: list[DriveSamples], since: float) -> list[object]:
    """Return the cells of the second lap, s from its begin on."""
    cells: list[object] = []
    for part in ("true", "by_odometry", "drift"):
        errors = [getattr(run, part) for run in drives]
        distance, heading = np.max([error.rms(since) for error in errors], axis=0)
        largest = max(error.largest(since)[0] for error in errors)
        cells.append((1e3 * distance, math.degrees(heading), 1e3 * largest))
    lost = sum(bool(np.any(np.array(run.true.largest(since)) > LOST)) for run in drives)
    peak = max(np.abs(run.torque[run.time >= since]).max() for run in drives)
    return [*cells, f"{lost}/{len(drives)}", peak]


def identified(robot: str, engine: str, counts: int | None, seed: int) -> tuple[np.ndarray, ...]:
    """Return errors of K5..K8 in %, and in standard deviations, shape (4,) each."""
    run = simulate_identification(robot, engine, seed, 60.0, counts)
    return np.array(run.errors), np.array(run.normalised_errors)


def identification(runs: Ensemble, arguments: argparse.Namespace, engine: str) -> None:
    """Print errors of K5..K8."""
    table = Table("encoders", "rms % of K5..K8", "largest %", "inside 95 %, %")
    for name, counts in (("exact angles", 0), ("the robot's", arguments.encoder_counts)):
        results = runs.map(identified, arguments.robot, engine, counts)
        errors, normalised = np.array(results).swapaxes(0, 1)
        table.row(
            name, np.sqrt(np.mean(errors**2, axis=0)), np.abs(errors).max(axis=0),
            percent(np.mean(contains(normalised, 1.0, 0.0))) if name != "exact angles" else "-",
        )  # fmt: skip


def speed(runs: Ensemble, arguments: argparse.Namespace, engine: str) -> None:
    """Print the speed of an engine; the robot stands, and turns a little."""
    with closing(make_simulator(engine, load_robot(arguments.robot))) as simulator:
        start = time.perf_counter()
        for _ in range(500):
            simulator.step((0.01, -0.01), PERIOD)
        print(f"{500 * PERIOD / (time.perf_counter() - start):.0f} times real time")


PARTS = {"parking": parking, "eights": eights, "identification": identification, "speed": speed}


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, robots=15, cluster=True)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["ideal"])
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument("--torque-limit", type=float, help="N m; default: the robot's traction")
    parser.add_argument("--encoder-counts", type=int, help="default: the robot's; 0: exact")
    parser.add_argument("--published", type=int, default=0, help="starts of Listing 3 on an eight")
    parser.add_argument("--poses", type=int, default=0, help="further starts from anywhere")
    arguments = parser.parse_args()
    with ensemble(arguments) as runs:
        for engine in arguments.engines:
            for part in arguments.parts:
                print(f"# {part}, {arguments.robot}, {engine}, {arguments.robots} starts or seeds")
                PARTS[part](runs, arguments, engine)


if __name__ == "__main__":
    main()
