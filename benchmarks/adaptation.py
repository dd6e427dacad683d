#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tracking of a figure-8 with +50 % mass and inertia in mid-run, with and without adaptation.

x = sin 2Wt, y = -0.5 cos Wt, W = 2 pi / 40 s, with the standard backstepping law. The robot starts
at rest 0.5 m from the reference; each seed draws the direction, the encoders' phases and the torque
noise. At 60 s a load makes the equivalent mass and yaw inertia 50 % larger, K5..K8 1.5 x smaller.
The tables show the rms error of the true pose (position in mm, heading in mrad) over the lap before
the load (20 to 60 s: the run without a load) and over a lap from 12 s after it on (72 to 112 s):
medians, the worst seed, the number of seeds within 20 % of the lap before, and the number of seeds
no worse than the fixed law with the same seed: to 1 %, and on the average of all seeds.

    ./diffbot python benchmarks/adaptation.py                    # 30 seeds, 3 noises: 25 min
    ./diffbot python benchmarks/adaptation.py --seeds 4 --noise 0.01
    ./diffbot python benchmarks/adaptation.py --random --seeds 20 --noise 0.01
    ./diffbot python benchmarks/adaptation.py --idle             # 10 min without excitation

With --random each seed drives a different random robot with its own friction and encoders
(diffbot_study.random_robots), which the law and the estimator know; --misjudged 0.1: they assume
10 % too much friction; --misjudged=-1: none, as for a robot from a URDF. The law and the estimator
get joint states only; the true values are used only for the tables.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from figure_eight import figure_eight, start_beside
from numpy.typing import NDArray

from arc_odometry import JointSample
from diffbot_controllers import tuned_backstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import Robot, load_robot
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.virtual_robot import PayloadSchedule, payload_from_text
from diffbot_study.driving import DriveSamples, LiveAdaptation, simulate_drive
from diffbot_study.random_robots import draw
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster
from pose2d_trajectories import Reference

LOAD_TIME, RECOVERY, LAP = 60.0, 12.0, 40.0  # s
BEFORE = (LOAD_TIME - LAP, LOAD_TIME)
AFTER = (LOAD_TIME + RECOVERY, LOAD_TIME + RECOVERY + LAP)
RETURNED, SAME = 1.2, 1.01
IDLE, SETTLING = 600.0, 5.0  # s


def drive(
    engine_name: str,
    robot: Robot,
    counts: int,
    noise: float,
    reference: Callable[[float], Reference],
    duration: float,
    seed: int,
    adaptive: bool,
    load: str = "none",
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    misjudged: float = 0.0,
) -> tuple[DriveSamples, NDArray[np.float64], NDArray[np.float64]]:
    """Return a run, the rows of LiveAdaptation (none without adaptation), and the final K5..K8."""
    reported = with_friction(robot, 1.0 + misjudged)
    with closing(make_simulator(engine_name, robot)) as engine:
        nominal, limits = engine.parameters(), robot.limits
        law = tuned_backstepping(
            nominal,
            limits.traction,
            limits.linear_velocity,
            limits.angular_velocity,
            mean_velocity=True,
            wheels=KnownWheels.of(reported, counts),
        )
        schedule = PayloadSchedule(payload_from_text(load, robot), LOAD_TIME)

        def put_on(sample: JointSample) -> None:
            schedule.apply(engine, sample.stamp)

        live = LiveAdaptation(reported, nominal, law, also=put_on) if adaptive else None
        run = simulate_drive(
            engine,
            robot,
            law,
            reference,
            duration,
            start=start,
            encoder_counts=counts,
            torque_noise=noise,
            seed=seed,
            on_sample=live or put_on,
        )
        return run, live.rows if live else np.empty((0, 14)), np.array(engine.parameters())


def with_friction(robot: Robot, factor: float) -> Robot:
    """Return the robot with its viscous and Coulomb friction scaled by a factor."""
    friction = robot.friction
    viscous, coulomb = (
        (factor * left, factor * right) for left, right in (friction.viscous, friction.coulomb)
    )
    return replace(robot, friction=replace(friction, viscous=viscous, coulomb=coulomb))


def robot_of(arguments: argparse.Namespace, seed: int, folder: str) -> tuple[Robot, int]:
    """Return a run's robot and encoder counts; the file of a random robot goes to a folder."""
    if arguments.random:
        robot = draw(seed).written(Path(folder)).robot
        return robot, robot.encoder.counts
    return load_robot(arguments.robot), arguments.encoder_counts


def rms(run: DriveSamples, window: tuple[float, float]) -> tuple[float, float]:
    """Return the rms of the true errors over a window: position in mm, heading in mrad."""
    inside = (run.time >= window[0]) & (run.time < window[1])
    x, y, heading = run.true.error[inside].T
    return 1e3 * math.sqrt(np.mean(x * x + y * y)), 1e3 * math.sqrt(np.mean(heading * heading))


def with_load(arguments: argparse.Namespace, noise: float, seed: int) -> list[float]:
    """Return rms errors of position and heading: fixed before, after, adaptive before, after.

    Also returns the rms of the relative errors of K7 and K8 in use over the lap after the load, %.
    """
    eight = figure_eight(1.0, 0.5, LAP, False)
    results: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        robot, counts = robot_of(arguments, seed, folder)
        for adaptive in (False, True):
            run, rows, true = drive(
                arguments.engine,
                robot,
                counts,
                noise,
                eight.at,
                AFTER[1],
                seed,
                adaptive,
                "50%",
                start_beside(eight, seed),
                arguments.misjudged,
            )
            results += [*rms(run, BEFORE), *rms(run, AFTER)]
    after = rows[rows[:, 0] >= AFTER[0]]
    errors = 100.0 * (after[:, 3:5] / true[2:] - 1.0)
    return [*results, *np.sqrt(np.mean(errors**2, axis=0))]


def table(noise: float, rows: NDArray[np.float64]) -> Iterable[str]:
    """Yield the table lines for one noise; rows are those of with_load, one per seed."""
    for column, name in enumerate(("position mm", "heading mrad")):
        fixed_before, fixed_after, before, after = rows[:, column:8:2].T
        cells = [
            f"{np.median(v):8.3f} {v.max():8.3f}"
            for v in (fixed_before, fixed_after, before, after)
        ]
        counts = [
            np.sum(fixed_after <= RETURNED * fixed_before),
            np.sum(after <= RETURNED * before),
            np.sum(before <= SAME * fixed_before),
            np.sum(after <= SAME * fixed_after),
        ]
        mean = before.mean() / fixed_before.mean()
        yield (
            f"{100 * noise:4g} % {name:12} | {' | '.join(cells)} | "
            f"{counts[0]:4d} {counts[1]:4d} of {len(rows)} | {counts[2]:4d} {counts[3]:4d} | "
            f"{mean:6.3f}"
        )
    texts = (f"{np.median(v):.1f}, {v.max():.1f}" for v in rows[:, 8:].T)
    yield f"{'':7}K7, K8 in use after the load, rms of error, %: {'; '.join(texts)}"


def loads(arguments: argparse.Namespace) -> None:
    """Print the table."""
    robots = f"{arguments.robot}, {arguments.encoder_counts} counts"
    print(f"{'random robots' if arguments.random else robots}, {arguments.engine}: rms of errors")
    print("median and worst seed of: fixed before, fixed after, adaptive before, adaptive after |")
    print(
        "seeds back within 20 %: fixed, adaptive | no worse than fixed: before, after | mean ratio"
    )
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for noise in arguments.noise:
            rows = np.array(cluster.map(partial(with_load, arguments, noise), seeds))
            print("\n".join(table(noise, rows)), flush=True)


def eight_then(speed: float) -> Callable[[float], Reference]:
    """Return a lap of the figure-8, then a straight line at constant speed, m/s; 0: at rest."""
    eight = figure_eight(1.0, 0.5, LAP, False)
    last = eight.at(LAP)

    def reference(time: float) -> Reference:
        if time < LAP:
            return eight.at(time)
        x, y = math.cos(last.theta), math.sin(last.theta)
        path = speed * (time - LAP)
        return Reference(x=last.x + path * x, y=last.y + path * y, theta=last.theta, v=speed)

    return reference


def idle(arguments: argparse.Namespace) -> None:
    """Print the drift of the parameters in use over 10 minutes without excitation after a lap.

    "intervals" is the largest change in half widths of the initial 95 % intervals, 5 s after the
    lap; at most 1 is required.
    """
    print(f"{arguments.robot}, {arguments.engine}, {arguments.encoder_counts} counts, {IDLE:g} s")
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        for name, speed in (("standing", 0.0), ("straight", 0.05)):
            for noise in arguments.noise:
                runs = cluster.map(partial(idle_rows, arguments, speed, noise), seeds)
                for seed, rows in zip(seeds, runs, strict=True):
                    print(idle_line(name, noise, seed, rows), flush=True)


def idle_rows(
    arguments: argparse.Namespace, speed: float, noise: float, seed: int
) -> NDArray[np.float64]:
    """Return the parameters over a lap followed by a constant speed (m/s)."""
    with tempfile.TemporaryDirectory() as folder:
        robot, counts = robot_of(arguments, seed, folder)
        _, rows, _ = drive(
            arguments.engine,
            robot,
            counts,
            noise,
            eight_then(speed),
            LAP + SETTLING + IDLE,
            seed,
            adaptive=True,
            start=start_beside(figure_eight(1.0, 0.5, LAP, False), seed),
            misjudged=arguments.misjudged,
        )
    return rows


def idle_line(name: str, noise: float, seed: int, rows: NDArray[np.float64]) -> str:
    """Return a table line: changes of K5..K8 in use, also in half widths of their intervals."""
    rows = rows[rows[:, 0] >= LAP + SETTLING]
    in_use, deviations = rows[:, 1:5], rows[0, 9:13]
    change = np.abs(in_use - in_use[0]).max(axis=0)
    return (
        f"{name:9} {100 * noise:3g} % seed {seed}: largest change % "
        f"{(100.0 * change / np.abs(in_use[0])).round(3)} "
        f"in intervals {(change / (NORMAL_95 * deviations)).round(2)}, "
        f"refused {int(rows[:, 13].sum())} of {len(rows)}"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENGINES, default="ideal")
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument(
        "--random", action="store_true", help="a different random robot for each seed"
    )
    parser.add_argument(
        "--misjudged", type=float, default=0.0, help="relative error of the assumed friction"
    )
    parser.add_argument("--encoder-counts", type=int, default=4096, help="0: exact")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01, 0.05])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    add_cluster_options(parser, limit=None)
    parser.add_argument(
        "--idle", action="store_true", help="run 10 minutes without excitation instead"
    )
    arguments = parser.parse_args()
    (idle if arguments.idle else loads)(arguments)


if __name__ == "__main__":
    main()
