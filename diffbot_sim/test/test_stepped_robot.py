# SPDX-License-Identifier: Apache-2.0
"""Which torque acted when, in a simulator that is advanced period by period."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_description.robot import MotorDrive
from diffbot_sim.gz.launches import left_out
from diffbot_sim.gz.stepped_robot import (
    SteppedRobot,
    WheelReading,
    damping_gains,
    moves_at_any_torque,
)
from diffbot_sim.virtual_robot import Actuator, Encoders

MS = 1_000_000


def make(counts=0, delay=0, grips=True):
    return SteppedRobot(Actuator(5.0, delay), Encoders(counts, 0.01), 0.01, grips)


def reading(ms, angle=0.0, speed=0.0):
    return WheelReading(ms * MS, (angle, -angle), (speed, -speed))


def period(robot, torque, ms, speed):
    robot.command(torque)
    robot.step()
    return robot.read(reading(ms, 0.1 * speed, speed))


def test_first_sample_has_no_torque():
    sample = make().begin(reading(0, 0.3))
    assert (sample.stamp, sample.position, sample.effort) == (0.0, (0.3, -0.3), (0.0, 0.0))


def test_one_sample_per_period_whatever_is_said_in_between():
    robot = make()
    robot.begin(reading(0))
    assert robot.command((0.5, -9.0)) == (0.5, -5.0)
    assert robot.read(reading(0)) is None  # not asked to step yet
    robot.step()
    for ms in (0, 1, 5, 9):
        assert robot.read(reading(ms, 0.01 * ms, 0.1 * ms)) is None
    sample = robot.read(reading(10, 0.1, 1.0))
    assert sample.effort == (0.5, -5.0)
    assert (sample.stamp, sample.position, sample.velocity) == (0.01, (0.1, -0.1), (1.0, -1.0))
    assert robot.read(reading(10, 0.1, 1.0)) is None  # said again


@given(torques=st.lists(st.floats(-5, 5), min_size=1, max_size=20), first=st.integers(0, 10**6))
def test_every_sample_has_the_torque_of_its_own_period(torques, first):
    robot = make()
    robot.begin(reading(first))
    for number, torque in enumerate(torques, start=1):
        sample = period(robot, (torque, torque), first + 10 * number, float(number))
        assert sample.effort == (torque, torque)
        assert math.isclose(sample.stamp, (first + 10 * number) / 1000)


def test_torque_that_moved_nothing_at_the_start_is_not_reported():
    robot = make()
    robot.begin(reading(0))
    assert period(robot, (0.4, 0.4), 10, 0.0).effort == (0.0, 0.0)
    assert robot.ignored == 1
    assert period(robot, (0.4, 0.4), 20, 0.2).effort == (0.4, 0.4)
    # From then on rest is rest: torques may balance each other.
    assert period(robot, (0.4, 0.4), 30, 0.2).effort == (0.4, 0.4)
    assert robot.ignored == 1


def test_friction_may_hold_a_wheel():
    robot = make(grips=False)
    robot.begin(reading(0))
    assert period(robot, (0.4, 0.4), 10, 0.0).effort == (0.4, 0.4)


def test_delay_is_between_the_torque_reported_and_the_torque_sent():
    robot = make(delay=1)
    robot.begin(reading(0))
    assert robot.command((0.4, 0.2)) == (0.0, 0.0)
    robot.step()
    assert robot.read(reading(10)).effort == (0.4, 0.2)
    assert robot.command((0.0, 0.0)) == (0.4, 0.2)


def test_encoders_count_from_the_first_reading():
    robot = make(counts=100)
    first = robot.begin(reading(0, 12.0)).velocity
    assert first == (0.0, 0.0)


def test_a_command_that_is_no_number_changes_nothing():
    robot = make()
    robot.begin(reading(0))
    robot.command((0.1, 0.2))
    with pytest.raises(ValueError, match="finite"):
        robot.command((math.nan, 0.0))
    assert robot.acting == (0.1, 0.2)


@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("friction", {"coulomb": (0.0, 0.1)}),
        ("friction", {"rolling_resistance": 0.01}),
        ("friction", {"static": (0.1, 0.0), "stribeck_velocity": (0.1, 0.1)}),
        ("drive", {"dead_band": (0.1, 0.0)}),
        ("contact", {"caster_friction": 0.1}),
    ],
)
def test_a_robot_that_something_holds_does_not_move_at_any_torque(section, values):
    robot = load_robot("twil")
    assert moves_at_any_torque(robot)
    stuck = replace(robot, **{section: replace(getattr(robot, section), **values)})
    assert not moves_at_any_torque(stuck)


def test_what_these_simulators_lack_is_named():
    robot = load_robot("twil")
    assert left_out(robot, "gz") == left_out(robot, "gazebo_ros") == []
    friction = replace(
        robot.friction,
        coulomb_backward=(0.1, 0.1),
        rolling_resistance=0.01,
        gear_loss=(0.0, 0.1),
    )
    robot = replace(robot, friction=friction, drive=MotorDrive(dead_band=(0.1, 0.1)))
    names = ["friction.coulomb_backward", "friction.rolling_resistance", "friction.gear_loss"]
    assert left_out(robot, "gz") == names
    assert left_out(robot, "gazebo_ros") == [*names, "drive.dead_band"]


def test_undamped_torque_accelerates_as_the_equations_say_where_the_step_damps_the_wheel_alone():
    robot, step = load_robot("agv"), 0.001
    spin, radius = robot.wheels.inertia_spin, robot.wheels.radius
    half_mass = robot.body.mass / 2.0 + robot.wheels.mass  # one wheel's share, straight ahead
    for gain, viscous in zip(damping_gains(robot, step), robot.friction.viscous, strict=True):
        # As DART steps: the wheel by itself with implicit damping, then the impulse of the floor
        # that makes it roll, v = r w.
        torque, w, v = 4.0, 0.0, 0.0
        for _ in range(10):
            free = w + step * (gain * torque - viscous * w) / (spin + step * viscous)
            impulse = (radius * free - v) / (radius**2 / spin + 1.0 / half_mass)
            w, v = free - radius * impulse / spin, v + impulse / half_mass
            assert v == pytest.approx(radius * w, rel=1e-9)
        total = spin + half_mass * radius**2
        exact = torque / viscous * (1.0 - math.exp(-viscous / total * 10 * step))
        # Euler's steps leave 1.6e-4; without the gain the wheel would be 4 and 7e-3 too slow.
        assert w == pytest.approx(exact, rel=5e-4)
