# SPDX-License-Identifier: Apache-2.0
"""Runs of a study's points: robots to rows of a table, one block at a time, without ROS.

A run that fails becomes a row with its reason, and the others of its chunk continue.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from diffbot_controllers import tuned_backstepping
from diffbot_controllers.friction_adaptation import friction_laws, friction_values
from diffbot_controllers.laws.backstepping_standard import StandardBackstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.tuning import approach_gains
from diffbot_description import DynamicParameters, Robot, closed_form, load_robot
from diffbot_ident.estimate import NAMES, NORMAL_95, Estimate, EstimateState
from diffbot_study.batch_driving import simulate_drives
from diffbot_study.driving import PERIOD
from diffbot_study.parquet_store import Row
from diffbot_study.random_robots import draw
from diffbot_study.recorded_runs import record_batch
from diffbot_study.simulated_identification import estimator_of, simulate_identification
from diffbot_study.study_plan import DRIVE, IDENTIFICATION, RANDOM, SETTINGS, Point
from pose2d_trajectories import Reference, make_trajectory

DRIVEN = (
    "settling_time", "rms_position", "rms_heading", "max_position", "peak_torque", "rms_torque"
)  # fmt: skip
_TYPES = {float: "float64", int: "int64", str: "string"}
_COMMON = {
    "robot": "string",
    "seed": "int64",
    "failed": "bool",
    "reason": "string",
    "wall_time": "float64",
    **{name: _TYPES[setting.kind] for name, setting in SETTINGS.items()},
}
COLUMNS = {
    IDENTIFICATION: {
        **_COMMON,
        "state": "string",
        **{
            f"{what}{name}": "float64" for what in ("", "true_", "std_", "error_") for name in NAMES
        },
        **{f"covered_{name}": "bool" for name in NAMES},
        "delay": "float64",
    },
    DRIVE: {
        **_COMMON,
        "settled": "bool",
        **dict.fromkeys(DRIVEN, "float64"),
        "torque_share": "float64",
    },
}
"""Columns of the tables; errors in per cent of the true value, all other values in SI units."""

# Points per task: drives share a block; identifications take an estimator's time each.
CHUNK = {IDENTIFICATION: 20, DRIVE: 250}
# Maximum initial deviation of a robot from its reference, m and rad; uniformly distributed.
BESIDE_PATH, BESIDE_GOAL = (0.1, 0.1), (1.0, math.pi)
EIGHT: dict[str, Any] = {"amplitude_x": 1.0, "amplitude_y": 1.0, "period": 20.0, "ramp_up": 0.0}


def chunks(points: Sequence[Point]) -> list[list[Point]]:
    """Group points into tasks; those of one task share the settings of a block."""
    results = []
    for _, group in groupby(sorted(points, key=_shared), key=_shared):
        members = list(group)
        size = CHUNK[members[0].kind]
        results += [members[at : at + size] for at in range(0, len(members), size)]
    return results


def _shared(point: Point) -> tuple[Any, ...]:
    names = ("seconds", "torque_delay", "excitation", "estimator", "path")
    return (point.kind, *(str(point.settings.get(name)) for name in names))


def run_chunk(points: Sequence[Point]) -> list[Row]:
    """Return the rows of one task's points, in any order."""
    begun = time.monotonic()
    run = _identify if points[0].kind == IDENTIFICATION else _drive
    robots: list[tuple[Point, Robot]] = []
    rows = []
    for point in points:
        try:
            robots.append((point, _robot_of(point)))
        except (ValueError, OSError) as error:
            rows.append({**_about(point), "failed": True, "reason": str(error)})
    if robots:
        rows += run(robots)
    for row in rows:
        row["wall_time"] = (time.monotonic() - begun) / len(rows)
    return rows


def _about(point: Point) -> Row:
    return {"key": point.key, "robot": point.robot, "seed": point.seed, **point.settings}


def _robot_of(point: Point) -> Robot:
    """Return the robot of a point with its friction and, for an identification, its payload."""
    settings = point.settings
    if point.robot == RANDOM:
        drawn = draw(point.seed)
        hold = max(3, round(drawn.robot.excitation.hold * drawn.period / PERIOD))
        robot = replace(drawn.robot, excitation=replace(drawn.robot.excitation, hold=hold))
    else:
        robot = load_robot(point.robot)
    factor = settings["friction"]
    friction: dict[str, Any] = {
        name: (factor * pair[0], factor * pair[1])
        for name in ("viscous", "coulomb", "coulomb_backward", "static")
        if (pair := getattr(robot.friction, name)) is not None
    }
    robot = replace(robot, friction=replace(robot.friction, **friction))
    if point.kind == IDENTIFICATION:
        own, speed = robot.excitation, settings["speed"]
        faster = replace(
            own,
            linear_velocity=speed * own.linear_velocity,
            angular_velocity=speed * own.angular_velocity,
        )
        robot = replace(_loaded(robot, settings["payload"]), excitation=faster)
    counts = settings.get("encoder_counts")
    return (
        robot if counts is None else replace(robot, encoder=replace(robot.encoder, counts=counts))
    )


def _loaded(robot: Robot, fraction: float) -> Robot:
    """Return the robot with a load that is distributed like the body's own mass."""
    body, more = robot.body, 1.0 + fraction
    inertia = body.inertia
    scaled = replace(
        inertia, roll=more * inertia.roll, pitch=more * inertia.pitch, yaw=more * inertia.yaw
    )
    return replace(robot, body=replace(body, mass=more * body.mass, inertia=scaled))


# Identification.


def _identify(points: Sequence[tuple[Point, Robot]]) -> list[Row]:
    settings = points[0][0].settings
    if settings["excitation"] != "prbs":
        return [_identify_alone(point, robot) for point, robot in points]
    try:
        recording = record_batch(
            [robot for _, robot in points],
            [point.seed for point, _ in points],
            settings["seconds"],
            torque_noise=np.array([point.settings["torque_noise"] for point, _ in points]),
            torque_delay=settings["torque_delay"],
        )
    except ValueError:  # a robot with friction that blocks do not support
        return [_identify_alone(point, robot) for point, robot in points]
    rows = []
    for index, (point, robot) in enumerate(points):
        estimator = estimator_of(settings["estimator"], robot)
        for sample in recording.samples(index):
            estimator.update(sample)
        rows.append(_identified(point, estimator.estimate(), recording.truth[:, index].tolist()))
    return rows


def _identify_alone(point: Point, robot: Robot) -> Row:
    settings = point.settings
    try:
        run = simulate_identification(
            robot,
            seed=point.seed,
            seconds=settings["seconds"],
            torque_noise=settings["torque_noise"],
            torque_delay=settings["torque_delay"],
            excitation=settings["excitation"],
            estimator=settings["estimator"],
            record=settings["seconds"],
        )
    except (ValueError, FloatingPointError, OSError) as error:
        return {**_about(point), "failed": True, "reason": str(error)}
    return _identified(point, run.estimate, run.truth.tolist())


def _identified(point: Point, estimate: Estimate, truth: Sequence[float]) -> Row:
    """Return a row; unidentifiable parameters have an infinite deviation, and count as covered."""
    row: Row = {
        **_about(point),
        "failed": estimate.state is not EstimateState.ESTIMATED,
        "reason": estimate.explanation,
        "state": estimate.state.name,
        "delay": estimate.delay,
    }
    for name, value, variance, true in zip(
        NAMES, estimate.values, estimate.variances, truth, strict=True
    ):
        deviation = math.sqrt(variance)
        row |= {
            name: value,
            f"true_{name}": true,
            f"std_{name}": deviation,
            f"error_{name}": 100.0 * (value / true - 1.0) if true else math.nan,
            f"covered_{name}": abs(value - true) <= NORMAL_95 * deviation,
        }
    return row


# Driving.


def _drive(points: Sequence[tuple[Point, Robot]]) -> list[Row]:
    rows, ready = [], []
    for point, robot in points:
        try:
            ready.append((point, robot, _law(point, robot)))
        except ValueError as error:  # for example, friction that leaves no torque to drive with
            rows.append({**_about(point), "failed": True, "reason": str(error)})
    if not ready:
        return rows
    settings = ready[0][0].settings
    try:
        result = simulate_drives(
            [_loaded(robot, point.settings["payload"]) for point, robot, _ in ready],
            [law for _, _, law in ready],
            _reference(settings["path"]),
            settings["seconds"],
            starts=np.array([_start(point) for point, _, _ in ready]).T,
            torque_noise=np.array([point.settings["torque_noise"] for point, _, _ in ready]),
            torque_delay=settings["torque_delay"],
            seeds=[point.seed for point, _, _ in ready],
        )
    except (ValueError, FloatingPointError) as error:
        if len(ready) == 1:
            return [*rows, {**_about(ready[0][0]), "failed": True, "reason": str(error)}]
        for each in ready:
            rows += _drive([each[:2]])
        return rows
    for index, (point, robot, _) in enumerate(ready):
        row: Row = {name: float(getattr(result, name)[index]) for name in DRIVEN}
        row |= {**_about(point), "failed": False, "reason": ""}
        row["settled"] = math.isfinite(row["settling_time"])
        row["torque_share"] = row["peak_torque"] / robot.limits.traction
        rows.append(row)
    return rows


def _law(point: Point, robot: Robot) -> StandardBackstepping:
    """Return the law of a point, with the errors in its model that the settings define."""
    settings, limits = point.settings, robot.limits
    true = closed_form(robot.model)
    inputs, couplings = settings["known_inputs"], settings["known_couplings"]
    reported = DynamicParameters(
        couplings * true.k5, couplings * true.k6, inputs * true.k7, inputs * true.k8
    )
    tuned = approach_gains(
        reported, limits.traction, limits.linear_velocity, limits.angular_velocity
    )
    wheels = KnownWheels.of(robot)
    values = [settings["known_friction"] * value for value in friction_values(wheels.friction)]
    law: StandardBackstepping = tuned_backstepping(
        reported,
        limits.traction,
        limits.linear_velocity,
        limits.angular_velocity,
        mean_velocity=True,
        gamma1=settings["gain"] * tuned.gamma1,
        gamma2=settings["gain"] * tuned.gamma2,
        wheels=replace(wheels, friction=friction_laws(wheels.friction, values)),
    )
    return law


def _reference(path: str) -> Any:
    if path == "parking":
        goal = Reference(0.0, 0.0, 0.0)
        return lambda _: goal
    return make_trajectory("figure_eight", **EIGHT).at


def _start(point: Point) -> list[float]:
    parking = point.settings["path"] == "parking"
    first = _reference(point.settings["path"])(0.0)
    beside, turned = BESIDE_GOAL if parking else BESIDE_PATH
    x, y, turn = np.random.default_rng([point.seed, 78]).uniform(-1.0, 1.0, 3)
    return [first.x + beside * x, first.y + beside * y, first.theta + turned * turn]
