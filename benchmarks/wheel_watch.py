#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wheel watch: time to stop a robot with wheel faults, and false alarms without faults.

First table, faults: times and distances from fault to stop, medians and worst of all runs. "since"
starts when the fault becomes effective:

 - stuck in motion (the wheel turned at 2 rad/s or more): from the fault;
 - stuck at rest: from the first torque of more than HELD of the limit on this wheel;
 - signs and sides: the time for which a torque of more than half the limit accelerated a wheel that
   it was commanded to brake. A wrong torque that brakes a wheel acts like friction.

"rim" is the largest distance of a wheel's rim in that time, "fault" the time since the fault
itself. "quiet": the fault never became effective in this sense, and was not detected.

Second table, robots without faults: drives of RUN s in each of the scenarios, and the number of
false alarms. Robots, engines, drives and seeds are random; each table has as many runs as its time
allows. `--robots N` instead drives N robots of diffbot_study.random_robots, which match their
files, each with its own friction, encoders, period, torque delay and noise.

    ./diffbot python benchmarks/wheel_watch.py                 # 3 min
    ./diffbot python benchmarks/wheel_watch.py --minutes 30
    ./diffbot python benchmarks/wheel_watch.py --fault --scenario "20 Hz" "slope 10 degrees"
    ./diffbot python benchmarks/wheel_watch.py --robots 1000

The watch gets joint states and commanded torque; true values are used only for the tables.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from benchmark_tables import options
from ensemble import ensemble
from impaired_robot import (
    AS_IT_SHOULD_BE,
    DRIVES,
    HARMLESS,
    USUAL,
    Conditions,
    Impairment,
    Outcome,
    torque_limit,
    watched_drive,
)

from diffbot_description import Robot, load_robot
from diffbot_node.wheel_watch import STEADY
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import payload_from_text
from diffbot_study.random_robots import draw
from diffbot_study.task_cluster import Cluster

ROBOTS, ENGINES = ("twil", "agv"), ("ideal", "mujoco")
RUN, LOOK = 10.0, 4.0  # s of each drive: without a fault, and at most with a fault
MOVING = 2.0  # rad/s
MOST = 5000  # largest number of runs of a kind
EARNEST = 0.5  # smallest wrong torque that counts, as a share of the limit
PERIOD = USUAL.period

WIRINGS = {
    "both signs flipped": Impairment(wiring=((-1.0, 0.0), (0.0, -1.0))),
    "left sign flipped": Impairment(wiring=((-1.0, 0.0), (0.0, 1.0))),
    "torques swapped": Impairment(wiring=((0.0, 1.0), (1.0, 0.0))),
    "angles swapped": Impairment(swapped=True),
}
FAULTS = {**WIRINGS, "left stuck": Impairment(stuck=(0,)), "both stuck": Impairment(stuck=(0, 1))}

Job = tuple[str, str, str, str, int]  # scenario or fault, robot, engine, drive, seed
Row = TypeVar("Row")


def result(job: Job) -> tuple[str, float, float, float, bool]:
    """Drive with a fault; return kind, time since effective, time since its start, rim, stopped.

    Times in s, the rim in m.
    """
    name, robot_name, engine_name, drive, seed = job
    robot = load_robot(robot_name)
    random = np.random.default_rng(seed)
    start = round(float(random.choice([0.0, random.uniform(0.5, 4.0)])), 2)
    impairment = replace(FAULTS[name], start=start)
    with closing(make_simulator(engine_name, robot)) as engine:
        run = watched_drive(engine, robot, robot, drive, start + LOOK, impairment, seed=seed)
    log = run.log[round(start / PERIOD) :]
    kind, matters = mattering(name, log, run)
    since = PERIOD * np.count_nonzero(matters)
    first = int(np.argmax(matters)) if matters.any() else len(log)
    rim = robot.wheels.radius * PERIOD * np.abs(log[first:, 4:]).sum(axis=0)
    return kind, since, PERIOD * len(log), float(rim.max()), bool(run.why)


def mattering(name: str, log: np.ndarray, run: Outcome) -> tuple[str, np.ndarray]:
    """Return the kind of fault, and the periods in which it was effective."""
    earnest = np.abs(log[:, :2]) > EARNEST * run.limit
    if name in WIRINGS:
        commanded, acting, speed = log[:, :2], log[:, 2:4], log[:, 4:]
        if FAULTS[name].swapped:
            # The angle of each wheel is that of the other wheel.
            acting, speed = acting[:, ::-1], speed[:, ::-1]
        wrong = earnest & (commanded * speed < 0.0) & (acting * speed > 0.0)
        return name, wrong.any(axis=1)
    sides = list(FAULTS[name].stuck)
    if len(log) and (np.abs(log[0, 4:][sides]) >= MOVING).any():
        return f"{name} in motion", np.ones(len(log), bool)
    strong = np.abs(log[:, sides]) > STEADY * run.limit
    return f"{name} at rest", np.logical_or.accumulate(strong.any(axis=1))


def scenarios(
    robot: Robot, limit: float
) -> dict[str, tuple[Robot, Robot, str, Impairment, Conditions]]:
    """Return by name: real robot, assumed robot, payload, impairment and conditions."""

    def body(factor: float) -> Robot:
        inertia = robot.body.inertia
        turned = replace(
            inertia,
            roll=inertia.roll * factor,
            pitch=inertia.pitch * factor,
            yaw=inertia.yaw * factor,
        )
        return replace(
            robot, body=replace(robot.body, mass=robot.body.mass * factor, inertia=turned)
        )

    def wheels(**changes: float) -> Robot:
        sizes = {key: getattr(robot.wheels, key) * fraction for key, fraction in changes.items()}
        return replace(robot, wheels=replace(robot.wheels, **sizes))

    def rubbing(coulomb: float, viscous: float) -> Robot:
        friction = replace(
            robot.friction, coulomb=(coulomb * limit,) * 2, viscous=(viscous * limit,) * 2
        )
        return replace(robot, friction=friction)

    good, usual = AS_IT_SHOULD_BE, USUAL
    return {
        "as described": (robot, robot, "none", good, usual),
        "payload 50 %": (robot, robot, "50%", good, usual),
        "payload 100 %": (robot, robot, "100%", good, usual),
        "masses twice too large": (robot, body(2.0), "none", good, usual),
        "masses half": (robot, body(0.5), "none", good, usual),
        "radius +30 %": (robot, wheels(radius=1.3), "none", good, usual),
        "radius -30 %": (robot, wheels(radius=0.7), "none", good, usual),
        "track +30 %": (robot, wheels(separation=1.3), "none", good, usual),
        "track -30 %": (robot, wheels(separation=0.7), "none", good, usual),
        "Coulomb friction 0.5": (rubbing(0.5, 0.0), robot, "none", good, usual),
        "friction 0.3 + 0.02 w": (rubbing(0.3, 0.02), robot, "none", good, usual),
        "256 counts, wrapping": (
            robot,
            robot,
            "none",
            Impairment(wraps=True),
            Conditions(counts=256),
        ),
        "20 Hz": (robot, robot, "none", good, Conditions(period=0.05)),
        "1 kHz": (robot, robot, "none", good, Conditions(period=0.001)),
        "torque 2 periods late": (robot, robot, "none", Impairment(delay=2), usual),
        "torque 5 periods late": (robot, robot, "none", Impairment(delay=5), usual),
        "torque noise 10 %": (robot, robot, "none", good, Conditions(noise=0.1)),
        "30 % of samples lost": (robot, robot, "none", good, Conditions(lost=0.3)),
        "slope 10 degrees": (robot, robot, "none", Impairment(slope=10.0), usual),
        "some of each": (
            rubbing(0.2, 0.005),
            body(0.7),
            "30%",
            Impairment(slope=4.0, delay=2, wraps=True),
            Conditions(counts=512, noise=0.05, lost=0.1),
        ),
    }


NAMES = tuple(scenarios(load_robot("twil"), 1.0))


def stopped(job: Job) -> tuple[Job, str]:
    """Drive a robot without a fault; return the message of the watch."""
    name, robot_name, engine_name, drive, seed = job
    robot = load_robot(robot_name)
    limit = torque_limit(robot, drive)
    real, believed, load, impairment, conditions = scenarios(robot, limit)[name]
    with closing(make_simulator(engine_name, real)) as engine:
        payload = payload_from_text(load, robot)
        if payload is not None:
            engine.set_payload(*payload)
        run = watched_drive(engine, real, believed, drive, RUN, impairment, conditions, seed)
    return job, run.why


def random_robot_stopped(job: Job) -> tuple[Job, str]:
    """Drive a random robot of the job's seed; return the message of the watch."""
    _, _, engine_name, drive, seed = job
    with TemporaryDirectory() as folder:
        drawn = draw(seed).written(Path(folder))
        robot = drawn.robot
        conditions = Conditions(robot.encoder.counts, drawn.noise, period=drawn.period)
        late = Impairment(delay=round(drawn.delay))
        with closing(make_simulator(engine_name, robot)) as engine:
            run = watched_drive(engine, robot, robot, drive, RUN, late, conditions, seed)
    return job, run.why


def fault_table(rows: Iterable[tuple[str, float, float, float, bool]]) -> Iterable[str]:
    """Yield the lines of the first table."""
    kinds: dict[str, list[tuple[float, float, float, bool]]] = defaultdict(list)
    for kind, *values in rows:
        kinds[kind].append(tuple(values))
    yield f"{'fault':24} | runs quiet missed | since ms | rim mm | fault ms (median, worst)"
    for kind, runs in sorted(kinds.items()):
        quiet = [run for run in runs if not run[3] and run[0] == 0.0]
        caught = np.array([run[:3] for run in runs if run[3]] or [[np.nan] * 3])
        late = len(runs) - len(quiet) - sum(run[3] for run in runs)
        cells = " | ".join(
            f"{1e3 * np.median(caught[:, i]):5.0f} {1e3 * caught[:, i].max():6.0f}"
            for i in (0, 2, 1)
        )
        within = np.mean(caught[:, 0] <= 0.1 + 1e-9)
        yield (
            f"{kind:24} | {len(runs):4d} {len(quiet):5d} {late:6d} | {cells} | "
            f"{100 * within:4.0f} % within 100 ms"
        )


def until(
    cluster: Cluster, work: Callable[[Job], Row], jobs: list[Job], minutes: float
) -> Iterable[Row]:
    """Yield the results of as many jobs as can be started within a time."""
    end, batch = time.monotonic() + 60.0 * minutes, 8
    for first in range(0, len(jobs), batch):
        if time.monotonic() > end:
            return
        yield from cluster.map(work, jobs[first : first + batch])


def main() -> None:
    """Print both tables."""
    parser = options(__doc__, robots=0, cluster=True)
    parser.add_argument("--minutes", type=float, default=1.4, help="wall time for each table")
    parser.add_argument("--fault", nargs="*", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--scenario", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--drive", nargs="+", choices=DRIVES, default=list(DRIVES))
    parser.add_argument("--robot", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES))
    arguments = parser.parse_args()
    with ensemble(arguments) as robots:
        print_tables(robots.cluster, arguments)


def print_tables(cluster: Cluster, arguments: argparse.Namespace) -> None:
    """Print the requested tables."""
    random = np.random.default_rng(arguments.seed)

    def job(name: str, drives: list[str]) -> Job:
        robot, engine = random.choice(arguments.robot), random.choice(arguments.engine)
        drive, seed = random.choice(drives), random.integers(2**31)
        return name, str(robot), str(engine), str(drive), int(seed)

    every = [*arguments.drive, *HARMLESS]
    if arguments.robots:
        jobs = [job("as described", every) for _ in range(arguments.robots)]
        outcomes = cluster.map(random_robot_stopped, jobs)
        alarms = [f"{done[2:]}: {why}" for done, why in outcomes if why]
        print(f"{len(alarms)} false alarms in {len(jobs)} drives of {RUN:g} s, each of a")
        print("robot of its own", *alarms, sep="\n    ")
        return
    faults = [job(name, arguments.drive) for _ in range(MOST) for name in arguments.fault]
    harmless = [job(name, every) for _ in range(MOST) for name in arguments.scenario]
    print("\n".join(fault_table(until(cluster, result, faults, arguments.minutes))), flush=True)
    drives: dict[str, list[str]] = {name: [] for name in arguments.scenario}
    for done, why in until(cluster, stopped, harmless, arguments.minutes):
        drives[done[0]].append(f"{done[1:]}: {why}" if why else "")
    print(f"\n{'robot as it may be':24} | false alarms, drives of {RUN:g} s")
    for name, said in drives.items():
        alarms = [line for line in said if line]
        print(f"{name:24} | {len(alarms)} of {len(said)}", *alarms, sep="\n    ")
    count = sum(map(len, drives.values()))
    alarms = sum(bool(line) for said in drives.values() for line in said)
    print(f"{alarms} false alarms in {count * RUN / 3600.0:.2f} h of robot time")


if __name__ == "__main__":
    main()
