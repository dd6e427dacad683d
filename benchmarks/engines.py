#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the engines: identification, parking and a figure-8 of one robot.

Each engine runs the same cases with the same seeds: the robot's own encoders, torque up to its
traction limit, the standard laws as in launch/*.launch.xml. Prints, over the seeds,

    K5..K8    rms and largest error after 60 s of identification, with exact wheel angles and the
              robot's encoders, % of the closed form, and the share of the latter whose interval of
              two standard deviations contains the truth
    parking   longest time until the true pose stays within 1 cm and 1 degree of the goal's
    figure-8  largest rms error of the true pose and of the drift of odometry over the lap after
              convergence; 2 m x 1 m, 20 s per lap, start 0.5 m beside it
    speed     ratio of robot time to wall time in periods of 10 ms, in one process, without ROS

    ./diffbot python benchmarks/engines.py --engines ideal mujoco gazebo [--robot twil]
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from functools import partial

import numpy as np
from figure_eight import figure_eight, start_beside

from diffbot_controllers import tuned_backstepping, tuned_polar_pose
from diffbot_description import Robot, load_robot
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_study.driving import PERIOD, DriveSamples, simulate_drive
from diffbot_study.simulated_identification import simulate_identification
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster
from pose2d_trajectories import Reference

GOALS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
LAWS = {"backstepping": tuned_backstepping, "pose": tuned_polar_pose}
EIGHT = (1.0, 0.5, 20.0)  # amplitudes in m and period in s


def identification(cluster: Cluster, robot: Robot, engine: str, seeds: range) -> list[str]:
    """Return the lines for K5..K8."""
    lines = []
    for counts in (0, robot.encoder.counts):
        work = partial(simulate_identification, robot, engine, seconds=60.0, encoder_counts=counts)
        runs = cluster.map(work, seeds)
        errors = np.array([run.errors for run in runs])
        for name, row in (
            ("rms", np.sqrt(np.mean(errors**2, axis=0))),
            ("largest", np.max(np.abs(errors), axis=0)),
        ):
            cells = " / ".join(f"{value:.2f}" for value in row)
            lines.append(f"K5 / K6 / K7 / K8, {counts or 'no'} counts: {name} % | {cells}")
    inside = np.mean([np.abs(run.normalised_errors) < 2.0 for run in runs])
    return [*lines, f"intervals that hold the truth, % | {100.0 * inside:.0f}"]


def parking(cluster: Cluster, robot: Robot, engine: str, seeds: range) -> list[str]:
    """Return the lines for parking from rest at the origin, +-1 mm and +-1 mrad."""
    lines = []
    for goal in GOALS:
        for name in LAWS:
            times = cluster.map(partial(parked, robot, engine, name, goal), seeds)
            x, y, theta = goal
            lines.append(f"{name} to ({x:g}, {y:g}, {theta:g}), s | {max(times):.2f}")
    return lines


def parked(
    robot: Robot, engine: str, name: str, goal: tuple[float, float, float], seed: int
) -> float:
    """Return the settling time of a law of LAWS from the start of a seed, s."""
    start = np.random.default_rng(seed).uniform(-1e-3, 1e-3, 3).tolist()
    with closing(make_simulator(engine, robot)) as simulator:
        law = LAWS[name](*_limits(simulator, robot), mean_velocity=True)
        reference = Reference(*goal)
        run = simulate_drive(
            simulator, robot, law, lambda t: reference, 12.0, start=tuple(start), seed=seed
        )
    return run.true.settling_time


def driven(robot: Robot, engine: str, seed: int) -> DriveSamples:
    """Drive two laps of the figure-8 from the start of a seed."""
    trajectory = figure_eight(*EIGHT, backwards=False)
    with closing(make_simulator(engine, robot)) as simulator:
        return simulate_drive(
            simulator,
            robot,
            tuned_backstepping(*_limits(simulator, robot), mean_velocity=True),
            trajectory.at,
            2.0 * EIGHT[2],
            start=start_beside(trajectory, seed),
            seed=seed,
        )


def eight(cluster: Cluster, robot: Robot, engine: str, seeds: range) -> list[str]:
    """Return the lines for the figure-8."""
    period = EIGHT[2]
    runs = cluster.map(partial(driven, robot, engine), seeds)
    lines = []
    for name in ("true", "drift"):
        distance, heading = np.max([getattr(run, name).rms(period) for run in runs], axis=0)
        cell = f"{1e3 * distance:.2f} mm, {np.degrees(heading):.3f}°"
        lines.append(f"figure-8, {name} rms | {cell}")
    return lines


def speed(simulator: Simulator) -> list[str]:
    """Return the line for the speed; the robot stands, and turns a little."""
    simulator.reset()
    start = time.perf_counter()
    for _ in range(500):
        simulator.step((0.01, -0.01), PERIOD)
    return [f"speed, × real time | {500 * PERIOD / (time.perf_counter() - start):.0f}"]


def _limits(simulator: Simulator, robot: Robot) -> tuple:
    limits = robot.limits
    speeds = (limits.linear_velocity, limits.angular_velocity)
    return simulator.parameters(), limits.traction, *speeds


def main() -> None:
    """Print the lines of each engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument("--seeds", type=int, default=5, help="runs per line")
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    robot, seeds = load_robot(arguments.robot), range(arguments.seeds)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for engine in arguments.engines:
            print(f"# {robot.name}, {engine}, {len(seeds)} seeds", flush=True)
            for part in (parking, eight, identification):
                print(*part(cluster, robot, engine, seeds), sep="\n", flush=True)
            with closing(make_simulator(engine, robot)) as simulator:
                print(*speed(simulator), sep="\n", flush=True)


if __name__ == "__main__":
    main()
