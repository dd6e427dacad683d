#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Motors from synthetic logs of 0.7 s at 1 kHz: resistance, Ke and named faults, truth known.

    ./diffbot python benchmarks/motor_logs.py [--robots 100] [--seed 1000]
    ./diffbot python benchmarks/motor_logs.py bags --robots 40 [--rate 200] [--seconds 5]
    ./diffbot python benchmarks/motor_logs.py scale --robots 100 [--unlike] [--seconds 20]

Currents have noise of 5 % and an offset of up to 5 % of the largest current, speeds 40 to 200 steps
(made_recordings.motor_logs). Prints errors and the coverage of the 95 % intervals, then how many of
each fault are named, and the number of false alarms. `scale`: torque per unit of effort from
weighed masses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
from benchmark_tables import INTERVALS, Table, contains, interval_cells, options, percent
from ensemble import Ensemble, ensemble
from made_recordings.motor_logs import FAULTS, PERIOD, Motor, drawn, make_log
from made_recordings.random_runs import record_random
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.number_range import Array
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.effort_scale import in_newton_metres
from diffbot_recordings.motor_analysis import MotorAnalysis, analyse_motors
from diffbot_recordings.options import WEIGHED, Options, Weighing
from diffbot_recordings.recording_analysis import analyse_recording
from diffbot_recordings.samples import EFFORTS, POSITIONS, RecordingError
from diffbot_recordings.segments import Segment
from diffbot_recordings.torque_analysis import analyse_torque, learn_weighed
from diffbot_recordings.verdict import Value
from diffbot_sim.engines import make_simulator
from diffbot_study.random_robots import RandomRobot, draw

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
    parser = options(__doc__, robots=100, seed=1000, cluster=True)
    parser.add_argument("part", nargs="?", choices=("logs", "bags", "scale"), default="logs")
    parser.add_argument("--rate", type=int, default=200, help="rate of the bags, Hz")
    parser.add_argument("--seconds", type=float, help="of a recording, s; bags 5, scale 20")
    parser.add_argument("--unlike", action="store_true", help="unequal constants of the wheels")
    given = parser.parse_args()
    with ensemble(given) as robots:
        if given.part == "scale":
            print_scales(robots, given.seconds or 20.0, given.unlike)
        elif given.part == "bags":
            work = partial(from_bag, rate=given.rate, seconds=given.seconds or 5.0)
            print_motors(robots, work)
        else:
            print_motors(robots, analysed)


def print_motors(robots: Ensemble, analyse: Callable[..., Analysed]) -> None:
    """Print the accuracy of the motor parameters, and how many faults are named.

    Args:
        robots: The robots.
        analyse: Analyses a seed and its fault.
    """
    healthy = robots.map(analyse, fault=None)
    print_parameters(healthy)
    blamed = sum(not all(a.verdict.usable for a in result) for _, result in healthy)
    table = Table("fault", "named", "of")
    table.row("none", blamed, len(healthy))
    for fault, words in FAULTS.items():
        result = robots.map(analyse, fault=fault)
        table.row(fault, sum(words in own[0].verdict.reason for _, own in result), len(result))


Analysed = tuple[tuple[Motor, Motor], Sequence[MotorAnalysis]]
"""Two motors, and the analyses of their log."""


def print_parameters(healthy: Sequence[Analysed]) -> None:
    """Print errors and intervals of motors without a fault."""
    table = Table("errors in %", *INTERVALS)
    for name, field in NAMES.items():
        errors, deviations = [], []
        for motors, result in healthy:
            for motor, analysis in zip(motors, result, strict=True):
                value, true = analysis.verdict.value(name), float(getattr(motor, field))
                errors.append(value.value / true - 1.0)
                deviations.append(value.std / true)
        table.row(name, *interval_cells(errors, deviations))


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


def print_scales(robots: Ensemble, seconds: float, unlike: bool) -> None:
    """Print the accuracy of the torque per unit of effort."""
    drawn = robots.map(weighed, seconds=seconds, unlike=unlike)
    print(f"{len(drawn)} robots, {seconds:g} s each; errors of the constant in %")
    table = Table("by", *INTERVALS, "K5..K8 inside, %", "refused")
    for by in ("mass", "load", "both"):
        errors, deviations, inside, refused = [], [], [], []
        for robot in drawn:
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
            errors.append(scale.constant.value / robot.constant - 1.0)
            deviations.append(scale.constant.std / robot.constant)
            estimate = result.estimate
            inside.append(contains(estimate.values, np.sqrt(estimate.variances), robot.truth))
        shares = percent(np.mean(inside, axis=0))
        table.row(by, *interval_cells(errors, deviations), shares, len(refused))
        for reason in refused[:3]:
            print(f"    {reason}")


if __name__ == "__main__":
    main()
