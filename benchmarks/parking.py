#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parking times of the standard backstepping law, the polar pose law over PI loops, and Listing 3.

Runs start from rest at the origin, with uniform perturbations of up to 1 mm and 1 mrad from --seed.
Settled means that the true pose stays within 1 cm and 1 degree of the goal. Prints minimum, median
and maximum over the starts; "lost" is the number of runs that do not settle in --time. "drift" is
the largest distance between the odometry pose, the only one that a law observes, and the true one.
The laws run as in launch/pose.launch.xml and launch/backstepping.launch.xml: encoders, torque and
rate limits, first sample without torque. --poses N adds starts 1 mm to 10 m away from the goal in
any direction.

    ./diffbot python benchmarks/parking.py --torque-limit 5 --encoder-counts 0
    ./diffbot python benchmarks/parking.py --engine mujoco [--robot agv]
"""

from __future__ import annotations

import argparse
import math
from contextlib import closing
from functools import partial

import numpy as np
from figure_eight import torque_limit

from diffbot_controllers import PublishedBackstepping, tuned_backstepping, tuned_polar_pose
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import DynamicParameters, Robot, load_robot
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_study.driving import PERIOD, DriveSamples, Law, simulate_drive
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster
from pose2d_trajectories import Reference

LAWS = ("standard", "polar+PI", "published")
GOALS = ((1.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def make_law(
    name: str, dynamics: DynamicParameters, robot: Robot, limit: float, counts: int | None
) -> Law:
    """Create a law of LAWS with a torque limit and encoder counts, None for the robot's."""
    if name == "published":
        return PublishedBackstepping(dynamics, time_step=PERIOD, torque_limit=limit)
    tuned = tuned_backstepping if name == "standard" else tuned_polar_pose
    return tuned(
        dynamics,
        limit,
        robot.limits.linear_velocity,
        robot.limits.angular_velocity,
        mean_velocity=True,
        wheels=KnownWheels.of(robot, counts),
    )


def row(name: str, law: str, runs: list[DriveSamples]) -> str:
    """Return a line of the table."""
    times = np.sort([run.true.settling_time for run in runs])
    cells = " | ".join(f"{times[i]:6.2f}" for i in (0, len(times) // 2, -1))
    peak = max(run.peak_torque for run in runs)
    fastest = np.max([run.peak_speeds for run in runs], axis=0)
    drift = max(run.drift.largest(0.0)[0] for run in runs)
    return (
        f"{name:14} | {law:9} | {cells} | {int(np.isinf(times).sum()):3d}/{len(runs)}"
        f" | {1e3 * drift:8.1f} | {peak:6.2f} | {fastest[0]:5.2f} | {fastest[1]:5.2f}"
    )


def random_poses(count: int, seed: int) -> list[tuple[float, float, float]]:
    """Return poses 1 mm to 10 m away, log-uniform distance, any direction and heading."""
    generator = np.random.default_rng(seed)
    away = np.exp(generator.uniform(math.log(1e-3), math.log(10.0), count))
    path, theta = generator.uniform(-math.pi, math.pi, (2, count))
    return [
        (float(x), float(y), float(t))
        for x, y, t in zip(away * np.cos(path), away * np.sin(path), theta, strict=True)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENGINES, default="ideal")
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument("--torque-limit", type=float, help="N m; default: the robot's traction")
    parser.add_argument("--encoder-counts", type=int, help="default: the robot's; 0: exact")
    parser.add_argument("--starts", type=int, default=15, help="runs per line")
    parser.add_argument("--time", type=float, default=12.0, help="robot time per run, s")
    parser.add_argument("--seed", type=int, default=0, help="seed of starts and encoders")
    parser.add_argument(
        "--poses", type=int, default=0, help="number of additional random start poses"
    )
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot)
    limit = torque_limit(arguments, robot)
    offsets = np.random.default_rng(arguments.seed).uniform(-1e-3, 1e-3, (arguments.starts, 3))
    starts = [tuple(start) for start in offsets.tolist()]
    print(f"{robot.name}, engine {arguments.engine}, torque limit {limit:g} N m")
    print(
        "goal x y theta | law       | settling time s: least, median, largest | lost | drift mm |"
        " torque N m | v m/s | omega rad/s"
    )
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for goal in GOALS:
            for law in LAWS:
                work = partial(drive, arguments, law, Reference(*goal))
                runs = cluster.map(work, enumerate(starts, arguments.seed))
                print(row("{:g} {:g} {:g}".format(*goal), law, runs), flush=True)
        for law in LAWS if arguments.poses else ():
            anywhere = random_poses(arguments.poses, arguments.seed)
            work = partial(drive, arguments, law, Reference())
            runs = cluster.map(work, enumerate(anywhere, arguments.seed))
            print(row("from anywhere", law, runs), flush=True)


def drive(
    arguments: argparse.Namespace,
    law: str,
    goal: Reference,
    start: tuple[int, tuple[float, float, float]],
) -> DriveSamples:
    """Drive to a goal by a law of LAWS, from a seed and its start."""
    seed, pose = start
    robot = load_robot(arguments.robot)
    limit = torque_limit(arguments, robot)
    with closing(make_simulator(arguments.engine, robot)) as engine:
        return simulate_drive(
            engine,
            robot,
            make_law(law, engine.parameters(), robot, limit, arguments.encoder_counts),
            lambda t: goal,
            arguments.time,
            start=pose,
            encoder_counts=arguments.encoder_counts,
            torque_limit=limit,
            seed=seed,
        )


if __name__ == "__main__":
    main()
