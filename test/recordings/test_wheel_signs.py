# SPDX-License-Identifier: Apache-2.0
"""Recordings with wheels whose angles and efforts are negative where they roll forward.

Robots are drawn at random, seeds 0 to 7: 1 to 100 kg, centre of mass 5 to 40 % of the half track
ahead of the axle or behind it. Motion is the model (41), integrated here at 1 ms by Heun's method,
with encoders of 4096 counts, efforts with 2 % of noise, and periods of 5 to 20 ms.
"""

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from diffbot_description import closed_form, load_robot
from diffbot_description.robot import Joints
from diffbot_recordings.bag_topics import find_wheels, joints, torques
from diffbot_recordings.segments import Segment
from diffbot_recordings.table import CsvSource
from diffbot_recordings.table_rows import RowFilter
from diffbot_recordings.wheel_signs import WheelSigns, opposite_centre

DURATION, STEP = 30.0, 0.001
SEEDS = range(3)


def drawn(seed):
    rng = np.random.default_rng(seed)
    twil = load_robot("twil")
    mass = math.exp(rng.uniform(0.0, math.log(100.0)))
    size = (mass / 4.7) ** 0.3 * rng.uniform(0.8, 1.2)
    wheels = replace(
        twil.wheels,
        radius=size * twil.wheels.radius,
        separation=size * twil.wheels.separation,
        mass=0.05 * mass,
        inertia_spin=0.03 * mass * (size * twil.wheels.radius) ** 2,
    )
    ahead = float(rng.choice([-1.0, 1.0])) * rng.uniform(0.05, 0.4) * wheels.half_track
    yaw = mass * size**2 * 0.0128 * rng.uniform(0.7, 1.5)
    body = replace(
        twil.body,
        mass=0.9 * mass,
        center_of_mass=replace(twil.body.center_of_mass, x=ahead),
        inertia=replace(twil.body.inertia, yaw=yaw),
    )
    return replace(twil, wheels=wheels, body=body)


@cache
def driven(robot, seed):
    """Period of a random drive, and rows [time, angles, torques] with forward positive."""
    rng = np.random.default_rng([seed, 1])
    k5, k6, k7, k8 = closed_form(robot.model)
    r, b = robot.wheels.radius, robot.wheels.half_track
    period = float(rng.choice([0.005, 0.01, 0.02]))
    hold, inner = round(0.2 / period), round(period / STEP)
    size = 0.5 / (2 * k7)  # an acceleration of 0.5 m/s^2
    v = omega = 0.0
    angles, torque, rows = np.zeros(2), np.zeros(2), []
    for k in range(round(DURATION / period)):
        if k % hold == 0:
            torque = size * rng.choice([-1.0, 1.0], 2)
            if abs(v) > 0.5:
                torque = np.full(2, -np.sign(v) * size)
            elif abs(omega) * b > 0.5:
                torque = np.sign(omega) * size * np.array([1.0, -1.0])
        acting = torque * (1.0 + 0.02 * rng.standard_normal(2))
        total, difference = acting.sum(), acting[0] - acting[1]
        for _ in range(inner):
            a, c = k5 * omega**2 + k7 * total, k6 * v * omega + k8 * difference
            u, w = v + STEP * a, omega + STEP * c
            a, c = (a + k5 * w**2 + k7 * total) / 2, (c + k6 * u * w + k8 * difference) / 2
            angles += STEP / r * (v + STEP / 2 * a + b * (omega + STEP / 2 * c) * np.array([-1, 1]))
            v, omega = v + STEP * a, omega + STEP * c
        count = math.tau / 4096
        rows.append([period * (k + 1), *np.floor(angles / count) * count, *torque])
    return period, np.array(rows)


def recorded(robot, seed, signs):
    """The drive as it is recorded with joints of these signs."""
    period, rows = driven(robot, seed)
    times, *columns = (rows * [1, *signs, *signs]).T
    names = ("left_position", "right_position", "left_effort", "right_effort")
    return Segment(times, period, dict(zip(names, columns, strict=True)))


def checked(robot, seed, signs, described):
    """What is said of a recording whose K7 and K8 are as a fit of it finds them."""
    check = WheelSigns(robot.geometry)
    assert len(list(check.watched([recorded(robot, seed, signs)]))) == 1
    k = closed_form(robot.model)
    b = robot.wheels.half_track
    # Of one reversed wheel both axes are exchanged: K7' = b |K8| and K8' = -K7 / b.
    k7, k8 = (k.k7, k.k8) if signs[0] == signs[1] else (-k.k8 * b, -k.k7 / b)
    return check.contradiction(k7, k8, described)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("signs", "side"), [((-1, 1), "left"), ((1, -1), "right")])
def test_the_wheel_of_the_reversed_sign_is_named(seed, signs, side):
    robot = drawn(seed)
    result = checked(robot, seed, signs, robot)
    assert result is not None
    assert result.startswith(f"the sign of the {side} wheel is reversed")
    assert f"set joints.signs: {list(signs)} in the robot's file" in result


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("signs", [(1, 1), (-1, -1)])
def test_right_signs_are_no_contradiction(seed, signs):
    robot = drawn(seed)
    assert checked(robot, seed, signs, robot) is None
    assert checked(robot, seed, signs, None) is None


def test_without_a_description_either_wheel_may_be_the_reversed_one():
    robot = drawn(0)
    result = checked(robot, 0, (1, -1), None)
    assert result is not None
    assert result.startswith("the sign of the left wheel or the right wheel is reversed")
    assert "description" not in result


def test_without_a_coupling_the_exchanged_inertias_show_it():
    robot = drawn(1)
    middle = replace(robot.body.center_of_mass, x=0.0)
    robot = replace(robot, body=replace(robot.body, center_of_mass=middle))
    k, b = closed_form(robot.model), robot.wheels.half_track
    assert abs(math.log(-k.k8 * b / k.k7)) > 0.2  # else nothing shows it
    result = checked(robot, 1, (1, -1), robot)
    assert result is not None
    assert result.startswith("the sign of the left wheel or the right wheel is reversed")
    assert checked(robot, 1, (1, 1), robot) is None


def test_a_centre_of_mass_on_the_other_side_may_be_two_reversed_signs():
    robot = load_robot("twil")
    k5 = closed_form(robot.model).k5
    result = opposite_centre(-k5, 0.01 * k5, robot)
    assert result is not None
    assert "joints.signs: [-1, -1]" in result
    assert opposite_centre(k5, 0.01 * k5, robot) is None
    assert opposite_centre(-k5, k5, robot) is None
    assert opposite_centre(-k5, 0.0, None) is None


# Where recordings are read.


def signed_robot():
    twil = load_robot("twil")
    return replace(twil, joints=Joints(("a", "b"), ("c", "d"), (1, -1, -1, 1)))


def test_messages_of_a_bag_are_read_forward():
    robot = signed_robot()
    sides = find_wheels(["d", "c", "b", "a"], None, None, robot)
    state = SimpleNamespace(
        name=["d", "c", "b", "a"],
        position=[2.0, -2.0, -1.0, 1.0],
        velocity=[0.2, -0.2, -0.1, 0.1],
        effort=[4.0, -4.0, -3.0, 3.0],
    )
    read = joints(sides, ("position", "velocity", "effort"), robot)
    assert read(state) == pytest.approx((1.0, 2.0, 0.1, 0.2, 6.0, 8.0))
    command = SimpleNamespace(data=[3.0, -3.0, -4.0, 4.0])
    assert torques(sides, robot)(command) == (6.0, 8.0)
    assert torques(sides, None)(command) == (0.0, 0.0)


def test_columns_of_a_table_are_read_forward(tmp_path):
    twil = load_robot("twil")
    robot = replace(twil, joints=replace(twil.joints, signs=(1, -1)))
    names = ("left_position", "right_position", "left_effort", "right_effort", "gyro_z")
    path = tmp_path / "t.csv"
    path.write_text(
        f"time,{','.join(names)}\n" + "\n".join(f"{0.01 * k},{k},{k},3,3,7" for k in range(20))
    )
    source = CsvSource(path, {}, RowFilter(), robot=robot)
    channels = {}
    for batch in source.batches():
        channels |= batch.channels
    assert channels["left_position"][3] == 3.0 and channels["right_position"][3] == -3.0
    assert channels["left_effort"][0] == 3.0 and channels["right_effort"][0] == -3.0
    assert "right_position = -right_position" in source.understood[1]
