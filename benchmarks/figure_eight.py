#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors on figures of 8, over the second lap, of the standard and the published backstepping law.

The figures are x = Ax sin 2Wt, y = -Ay cos Wt, W = 2 pi / Tp, nine of them, forwards and backwards,
starting at full speed. The robot starts at rest 0.5 m from the reference; each seed draws the
direction and encoder phases, with perturbations of up to 1 mm and 1 mrad. The table shows, for the
worst start, rms errors and the largest distance over the lap after convergence: of the true pose,
of the odometry pose (which the law observes) and of their difference, the drift of odometry. "lost"
is the number of starts with an error of 0.2 m or 45 degrees in that lap.

    ./diffbot python benchmarks/figure_eight.py --torque-limit 5 --encoder-counts 0
    ./diffbot python benchmarks/figure_eight.py --engine mujoco [--robot agv]
"""

from __future__ import annotations

import argparse
import math
from contextlib import closing
from functools import partial

import numpy as np

from diffbot_controllers import PublishedBackstepping, tuned_backstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import Robot, load_robot
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_study.driving import PERIOD, DriveSamples, simulate_drive
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster
from pose2d_trajectories import Trajectory, make_trajectory

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


def figure_eight(ax: float, ay: float, period: float, backwards: bool) -> Trajectory:
    """Return one of the figures."""
    return make_trajectory(
        "figure_eight",
        amplitude_x=ax,
        amplitude_y=ay,
        period=period,
        ramp_up=0.0,
        backwards=backwards,
    )


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


def row(name: str, law: str, runs: list[DriveSamples], since: float) -> str:
    """Return a line of the table."""
    cells = []
    for part in ("true", "by_odometry", "drift"):
        errors = [getattr(run, part) for run in runs]
        distance, heading = np.max([e.rms(since) for e in errors], axis=0)
        largest = max(e.largest(since)[0] for e in errors)
        cells.append(f"{1e3 * distance:7.2f} {math.degrees(heading):7.3f} {1e3 * largest:7.2f}")
    lost = sum(bool(np.any(np.array(run.true.largest(since)) > LOST)) for run in runs)
    peak = max(np.abs(run.torque[run.time >= since]).max() for run in runs)
    return f"{name:24} | {law:9} | {' | '.join(cells)} | {lost:2d}/{len(runs)} | {peak:5.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENGINES, default="ideal")
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument("--torque-limit", type=float, help="N m; default: the robot's traction")
    parser.add_argument("--encoder-counts", type=int, help="default: the robot's; 0: exact")
    parser.add_argument("--starts", type=int, default=5, help="runs per line")
    parser.add_argument(
        "--published-starts", type=int, default=2, help="runs per line for Listing 3"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first start")
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot)
    limit = torque_limit(arguments, robot)
    counts = {"standard": arguments.starts, "published": arguments.published_starts}
    print(f"{robot.name}, engine {arguments.engine}, torque limit {limit:g} N m")
    print("true pose, pose by odometry, drift: each rms mm, rms degrees, largest mm")
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for ax, ay, period in EIGHTS:
            for backwards in (False, True):
                for law, starts in counts.items():
                    work = partial(drive, arguments, law, (ax, ay, period, backwards))
                    runs = cluster.map(work, range(arguments.seed, arguments.seed + starts))
                    direction = "backwards" if backwards else "forwards"
                    name = f"{ax:g} x {ay:g} m {period:g} s {direction}"
                    if runs:
                        print(row(name, law, runs, period), flush=True)


def torque_limit(arguments: argparse.Namespace, robot: Robot) -> float:
    """Return the requested torque limit, or the robot's traction limit, N m."""
    return arguments.torque_limit or robot.limits.traction


def drive(
    arguments: argparse.Namespace, law: str, eight: tuple[float, float, float, bool], seed: int
) -> DriveSamples:
    """Drive two laps of a figure_eight by a law, from the start of a seed."""
    robot = load_robot(arguments.robot)
    limit = torque_limit(arguments, robot)
    trajectory = figure_eight(*eight)
    with closing(make_simulator(arguments.engine, robot)) as engine:
        dynamics = engine.parameters()
        made = PublishedBackstepping(dynamics, time_step=PERIOD, torque_limit=limit)
        if law == "standard":
            made = tuned_backstepping(
                dynamics,
                limit,
                robot.limits.linear_velocity,
                robot.limits.angular_velocity,
                mean_velocity=True,
                wheels=KnownWheels.of(robot, arguments.encoder_counts),
            )
        return simulate_drive(
            engine,
            robot,
            made,
            trajectory.at,
            2.0 * eight[2],
            start=start_beside(trajectory, seed),
            encoder_counts=arguments.encoder_counts,
            torque_limit=limit,
            seed=seed,
        )


if __name__ == "__main__":
    main()
