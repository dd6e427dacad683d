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
    ./diffbot python benchmarks/adaptation.py --robots 4 --noise 0.01
    ./diffbot python benchmarks/adaptation.py --random --robots 20 --noise 0.01
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
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmark_tables import Table, options, spread, text
from driving import figure_eight, law_of, start_beside
from ensemble import Ensemble, ensemble
from numpy.typing import NDArray

from arc_odometry import JointSample
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import Robot, load_robot
from diffbot_ident.estimate import NORMAL_95
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.virtual_robot import PayloadSchedule, payload_from_text
from diffbot_study.driving import DriveSamples, LiveAdaptation, simulate_drive
from diffbot_study.random_robots import draw
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
        nominal = engine.parameters()
        law = law_of("backstepping", nominal, robot, KnownWheels.of(reported, counts))
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
    return load_robot(arguments.type), arguments.encoder_counts


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


def loads(seeds: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the tables; rows of with_load, one per seed."""
    median_worst = [
        f"{law} {when}" for law in ("fixed", "adaptive") for when in ("before", "after")
    ]
    table = Table(
        "median, worst rms", *median_worst, "back within 20 %: fixed, adaptive",
        "no worse than fixed: before, after", "mean ratio before",
    )  # fmt: skip
    for noise in arguments.noise:
        rows = np.array(seeds.map(with_load, arguments, noise))
        for column, name in enumerate(("position mm", "heading mrad")):
            fixed_before, fixed_after, before, after = rows[:, column:8:2].T
            back = (
                np.sum(fixed_after <= RETURNED * fixed_before),
                np.sum(after <= RETURNED * before),
            )
            same = np.sum(before <= SAME * fixed_before), np.sum(after <= SAME * fixed_after)
            ratio = before.mean() / fixed_before.mean()
            cells = map(spread, (fixed_before, fixed_after, before, after))
            table.row(f"{100 * noise:g} %: {name}", *cells, back, same, ratio)
        texts = "; ".join(text(spread(column)) for column in rows[:, 8:].T)
        print(f"K7, K8 in use after the load, rms of error, %, median and worst: {texts}")


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


def idle(seeds: Ensemble, arguments: argparse.Namespace) -> None:
    """Print the drift of the parameters in use over 10 minutes without excitation after a lap.

    "intervals" is the largest change in half widths of the initial 95 % intervals, 5 s after the
    lap; at most 1 is required.
    """
    table = Table("", "seed", "largest change of K5..K8, %", "in intervals", "refused", "of")
    for name, speed in (("standing", 0.0), ("straight", 0.05)):
        for noise in arguments.noise:
            runs = seeds.map(idle_rows, arguments, speed, noise)
            for seed, rows in zip(seeds.seeds, runs, strict=True):
                rows = rows[rows[:, 0] >= LAP + SETTLING]
                in_use, deviations = rows[:, 1:5], rows[0, 9:13]
                change = np.abs(in_use - in_use[0]).max(axis=0)
                table.row(
                    f"{name}, {100 * noise:g} %", seed, 100.0 * change / np.abs(in_use[0]),
                    change / (NORMAL_95 * deviations), int(rows[:, 13].sum()), len(rows),
                )  # fmt: skip


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


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, robots=30, cluster=True)
    parser.add_argument("--engine", choices=ENGINES, default="ideal")
    parser.add_argument("--type", default="twil", help="robot of all runs")
    parser.add_argument("--random", action="store_true", help="a random robot for each seed")
    parser.add_argument("--misjudged", type=float, default=0.0, help="error of assumed friction")
    parser.add_argument("--encoder-counts", type=int, default=4096, help="0: exact")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01, 0.05])
    parser.add_argument("--idle", action="store_true", help="10 minutes without excitation instead")
    arguments = parser.parse_args()
    with ensemble(arguments) as seeds:
        (idle if arguments.idle else loads)(seeds, arguments)


if __name__ == "__main__":
    main()
