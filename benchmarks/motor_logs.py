#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Motors from synthetic logs of 0.7 s at 1 kHz: resistance, Ke and named faults, truth known.

    ./diffbot python benchmarks/motor_logs.py [--robots 100] [--seed 1000]
    ./diffbot python benchmarks/motor_logs.py --bags 40 [--rate 200] [--seconds 5] [--seed 1000]
    ./diffbot python benchmarks/motor_logs.py --scale 100 [--unlike] [--seconds 20] [--seed 1000]

Currents have noise of 5 % and an offset of up to 5 % of the largest current, speeds 40 to 200 steps
(made_recordings.motor_logs). Prints the 95th percentiles of the errors and the coverage of the 95 %
intervals, then how many of each fault are named, and the number of false alarms.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from made_recordings.motor_logs import FAULTS, PERIOD, Motor, drawn, make_log
from made_recordings.random_runs import record_random
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.number_range import Array
from diffbot_ident.torque.estimate import NAMES as KS
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.effort_scale import in_newton_metres
from diffbot_recordings.motor_analysis import MotorAnalysis, analyse_motors
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording
from diffbot_recordings.samples import EFFORTS, POSITIONS, RecordingError
from diffbot_recordings.segments import Segment
from diffbot_recordings.torque_analysis import analyse_torque, learn_weighed
from diffbot_recordings.verdict import Value
from diffbot_recordings.weighed_mass import WEIGHED, Weighing
from diffbot_sim.engines import make_simulator
from diffbot_study.random_robots import RandomRobot, draw
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

NAMES = {
    "R": "resistance",
    "Ke": "constant",
    "inertia": "inertia",
    "Coulomb friction": "coulomb",
}


# Relative standard deviation of the weighing, from its default interval.
WEIGHING = WEIGHED / NORMAL_95
# Largest delay of data logged without a stamp, s.
LATE = 0.002
# Offset of the seed for the recording with the load.
LOADED = 10**6
BARE, WITH_LOAD = "bare", "loaded"  # names of the recordings
# Range of (right - left) / (right + left) of the wheels' constants with --unlike.
UNLIKE = (-0.3, 0.3)


def main() -> None:
    """Print both tables, or the table of the scale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--bags", type=int, metavar="N", help="N recordings as bags")
    parser.add_argument("--rate", type=int, default=200, help="rate of the bags, Hz")
    parser.add_argument(
        "--scale", type=int, metavar="N", help="N robots with an unknown unit of effort"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        help="duration of each recording, s (default: 5 for bags, 20 for the scale)",
    )
    parser.add_argument("--unlike", action="store_true", help="unequal constants of the wheels")
    add_cluster_options(parser, limit=None)
    arguments = parser.parse_args()
    first = arguments.seed
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        if arguments.scale is not None:
            seeds = range(first, first + arguments.scale)
            print_scales(cluster, seeds, arguments.seconds or 20.0, arguments.unlike)
        elif arguments.bags is not None:
            seeds, seconds = range(first, first + arguments.bags), arguments.seconds or 5.0
            print(f"{len(seeds)} bags of {seconds:g} s at {arguments.rate} Hz")
            print_motors(cluster, seeds, partial(from_bag, rate=arguments.rate, seconds=seconds))
        else:
            print_motors(cluster, range(first, first + arguments.robots), analysed)


def print_motors(cluster: Cluster, seeds: range, analyse: Callable[..., Analysed]) -> None:
    """Print the accuracy of the motor parameters, and how many faults are named.

    Args:
        cluster: Cluster that runs the seeds.
        seeds: Seeds of the robots.
        analyse: Analyses a seed and its fault.
    """
    healthy = cluster.map(partial(analyse, fault=None), seeds)
    print_parameters(healthy)
    blamed = sum(not all(a.verdict.usable for a in result) for _, result in healthy)
    print(f"\nhealthy robots that are blamed: {blamed} of {len(healthy)}")
    for fault, words in FAULTS.items():
        result = cluster.map(partial(analyse, fault=fault), seeds)
        named = sum(words in own[0].verdict.reason for _, own in result)
        print(f"{fault}: named in {named} of {len(seeds)}")


Analysed = tuple[tuple[Motor, Motor], Sequence[MotorAnalysis]]
"""Two motors, and the analyses of their log."""


def print_parameters(healthy: Sequence[Analysed]) -> None:
    """Print errors and intervals of motors without a fault."""
    print("parameter         error % (95th percentile)  intervals that hold %")
    for name, field in NAMES.items():
        errors, holds = [], []
        for motors, result in healthy:
            for motor, analysis in zip(motors, result, strict=True):
                value, true = analysis.verdict.value(name), float(getattr(motor, field))
                errors.append(abs(value.value / true - 1.0))
                holds.append(abs(value.value - true) <= NORMAL_95 * value.std)
        print(
            f"{name:17} {100.0 * np.percentile(errors, 95.0):25.2f} {100.0 * np.mean(holds):22.1f}"
        )


def analysed(seed: int, fault: str | None) -> Analysed:
    """Analyse the log of two motors."""
    rng = np.random.default_rng(seed)
    motors = drawn(rng)
    return motors, analyse_motors([(PERIOD, make_log(motors, rng, fault))])


def from_bag(seed: int, rate: int, seconds: float, fault: str | None) -> Analysed:
    """Analyse the bag of two motors as `identify` does."""
    rng = np.random.default_rng(seed)
    motors = drawn(rng)
    columns = make_log(motors, rng, fault, seconds)
    every = round(1.0 / (rate * PERIOD))
    with tempfile.TemporaryDirectory() as folder:
        with RecordedBag(Path(folder) / "bag") as bag:
            for k in range(0, len(columns["time"]), every):
                stamp = 1.0 + float(columns["time"][k])
                volts, amps, speed = (
                    (float(columns[f"left_{name}"][k]), float(columns[f"right_{name}"][k]))
                    for name in ("voltage", "current", "velocity")
                )
                state = JointSample(stamp, (0.0, 0.0), speed, (0.0, 0.0))
                bag.joint_state("/joint_states", state, effort=False)
                late = np.sort(rng.uniform(0.0, LATE, 2)).tolist()
                bag.torques("/motor_voltages", stamp + late[0], volts)
                bag.torques("/motor_currents", stamp + late[1], amps)
        result = analyse_recording(Options([Path(folder) / "bag"])).analyses
    return motors, cast(Sequence[MotorAnalysis], result)


@dataclass(frozen=True)
class Weighed:
    """A robot with an unknown unit of effort, with recordings and weighed masses.

    Attributes:
        constant: Torque per unit of effort, N m, mean of both wheels.
        truth: True K5 to K8, shape (4,).
        bare: Recording without load.
        loaded: Recording with the load.
        geometry: Geometry of the wheels.
        mass: Weighed mass of the robot.
        load: Weighed mass of the load.
        inertia: Inertia of a wheel, kg m^2.
        place: Position of the load ahead of the axle, m.
    """

    constant: float
    truth: Array
    bare: Segment
    loaded: Segment
    geometry: WheelGeometry
    mass: Value
    load: Value
    inertia: float
    place: float


def weighed(seed: int, seconds: float, unlike: bool) -> Weighed:
    """Draw, drive, load and drive again; the wheels' constants may be unequal."""
    rng = np.random.default_rng([seed, 7])
    result = draw(seed)
    model = result.robot.model
    mass = model.mass_body + 2.0 * model.wheel_mass
    load, constant = mass * float(rng.uniform(0.2, 0.8)), float(np.exp(rng.uniform(-4.0, 1.6)))
    place = float(rng.uniform(-0.3, 0.3)) * model.half_track
    inertia = load * (0.3 * model.half_track) ** 2
    fraction = float(np.random.default_rng([seed, 8]).uniform(*UNLIKE)) if unlike else 0.0
    constants = constant * np.array((1.0 - fraction, 1.0 + fraction))
    truth, bare = driven(result, seconds, constants, BARE)
    again = replace(result, seed=seed + LOADED)
    _, loaded = driven(again, seconds, constants, WITH_LOAD, (load, place, 0.1, inertia))

    def on_the_scales(name: str, true: float) -> Value:
        return Value(name, true * (1.0 + WEIGHING * rng.standard_normal()), WEIGHING * true, "kg")

    return Weighed(
        constant,
        truth,
        bare,
        loaded,
        result.robot.geometry,
        on_the_scales("mass", mass),
        on_the_scales("load", load),
        model.wheel_inertia_spin,
        place,
    )


def driven(
    random_robot: RandomRobot,
    seconds: float,
    constants: Array,
    run_name: str,
    payload: tuple[float, float, float, float] | None = None,
) -> tuple[Array, Segment]:
    """Return K5 to K8 without payload, and a recording of efforts."""
    with closing(make_simulator("ideal", random_robot.robot)) as engine:
        truth = np.array(engine.parameters())
        if payload is not None:
            engine.set_payload(*payload)
        run = record_random(random_robot, seconds, engine)
    position = np.array([sample.position for sample in run.samples])
    effort = np.array([sample.effort for sample in run.samples]) / constants
    times = np.array([sample.stamp for sample in run.samples])
    channels = {name: position[:, i] for i, name in enumerate(POSITIONS)}
    channels |= {name: effort[:, i] for i, name in enumerate(EFFORTS)}
    return truth, Segment(times, random_robot.period, channels, run=run_name)


def print_scales(cluster: Cluster, seeds: range, seconds: float, unlike: bool) -> None:
    """Print the accuracy of the torque per unit of effort."""
    robots = cluster.map(partial(weighed, seconds=seconds, unlike=unlike), seeds)
    columns = " ".join(f"{name.upper():>6}" for name in KS)
    print(f"{len(robots)} robots, {seconds:g} s each; intervals that hold, %")
    print(f"by     median %  95th percentile %  constant {columns}  refused")
    for by in ("mass", "load", "both"):
        errors, holds, refused = [], [], []
        for robot in robots:
            weighing = Weighing(
                "ampere",
                robot.mass if by != "load" else None,
                robot.inertia,
                robot.load if by != "mass" else None,
                robot.place,
            )
            learn = partial(analyse_torque, geometry=robot.geometry)
            segments = [robot.bare] if by == "mass" else [robot.bare, robot.loaded]
            try:
                learnt, loaded, weighing = learn_weighed(
                    segments, robot.geometry, weighing, learn, (BARE, WITH_LOAD)
                )
                if learnt is None:
                    raise RecordingError("nothing was identified")
                result, scale = in_newton_metres(learnt, loaded, weighing)
            except RecordingError as error:
                refused.append(str(error))
                continue
            value = scale.constant
            errors.append(abs(value.value / robot.constant - 1.0))
            k = zip(result.estimate.values, result.estimate.variances, robot.truth, strict=True)
            deviations = [abs(outcome - true) / np.sqrt(variance) for outcome, variance, true in k]
            own = abs(value.value - robot.constant) / value.std
            holds.append(np.array([own, *deviations]) < NORMAL_95)
        middle, far = 100.0 * np.percentile(errors, [50.0, 95.0])
        shares = " ".join(f"{100.0 * fraction:6.1f}" for fraction in np.mean(holds, axis=0)[1:])
        constant = 100.0 * np.mean(holds, axis=0)[0]
        print(f"{by:6} {middle:8.2f} {far:18.2f} {constant:9.1f} {shares} {len(refused):8d}")
        for reason in refused[:3]:
            print(f"    {reason}")


if __name__ == "__main__":
    main()
