# SPDX-License-Identifier: Apache-2.0
"""Kinematics, friction, motors and simulation of the four-wheel omnidirectional robot."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from diffbot_papers.omni.model import (
    GearedMotor,
    OmniRobot,
    OmniState,
    advance,
    advance_pose,
    body_forces,
    body_velocities,
    simulate,
    wheel_velocities,
)

number = st.floats(-3.0, 3.0)
body = st.tuples(number, number, number)
four = st.tuples(number, number, number, number)
# Wheels 1 to 4 as in Fig. 1(b): position and rolling direction, in units of b.
PLACES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
ROLLING = np.array([[0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])


def wheel_conflict(wheels):
    """Return the part of four rim speeds that contradicts (12), m/s; each wheel's residual."""
    v1, v2, v3, v4 = wheels
    return (v1 + v3 - v2 - v4) / 4.0


@given(body, st.floats(0.05, 1.0))
def test_wheel_speeds_are_those_of_the_rims_of_a_rigid_body(velocity, b):
    """v + W x p of each wheel's place, along its rolling direction."""
    v, vn, w = velocity
    x, y = b * PLACES.T
    rims = np.sum(np.column_stack((v - w * y, vn + w * x)) * ROLLING, axis=1)
    np.testing.assert_allclose(wheel_velocities(velocity, b), rims, atol=1e-12)
    np.testing.assert_allclose(body_velocities(rims, b), velocity, atol=1e-12)
    assert wheel_conflict(rims) == pytest.approx(0.0, abs=1e-12)


@given(body, four, st.floats(0.05, 1.0))
def test_wheels_and_body_have_the_same_power(velocity, forces, b):
    """(4)-(6) against (12), with the minus signs that belong there."""
    wheels = np.dot(forces, wheel_velocities(velocity, b))
    assert np.dot(body_forces(forces, b), velocity) == pytest.approx(wheels, abs=1e-9)


@given(four, st.floats(0.05, 1.0))
def test_inverse_kinematics_is_least_squares(wheels, b):
    matrix = np.array([[0, 1, b], [-1, 0, b], [0, -1, b], [1, 0, b]])
    expected = np.linalg.lstsq(matrix, np.array(wheels), rcond=None)[0]
    np.testing.assert_allclose(body_velocities(wheels, b), expected, atol=1e-9)
    left = np.abs(np.array(wheels) - matrix @ expected)
    np.testing.assert_allclose(left, abs(wheel_conflict(wheels)), atol=1e-9)


@given(body, body, st.floats(0.01, 2.0))
def test_poses_follow_the_differential_equation(pose, velocity, duration):
    """(11) by a general solver."""
    v, vn, w = velocity

    def rates(_t, p):
        return [
            v * math.cos(p[2]) - vn * math.sin(p[2]),
            v * math.sin(p[2]) + vn * math.cos(p[2]),
            w,
        ]

    expected = solve_ivp(rates, (0.0, duration), pose, rtol=1e-9, atol=1e-9).y[:, -1]
    np.testing.assert_allclose(advance_pose(pose, velocity, duration), expected, atol=1e-6)


axis = {
    "velocity": number,
    "force": st.floats(-50.0, 50.0),
    "mass": st.floats(0.5, 40.0),
    "viscous": st.just(0.0) | st.floats(0.0, 5.0),
    "coulomb": st.just(0.0) | st.floats(0.0, 30.0),
}


@given(st.fixed_dictionaries(axis), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_two_steps_are_one_long_step(values, first, second):
    """An exact solution does not depend on where it is cut; standstill lies within many steps."""
    halfway = advance(**values, duration=first)
    twice = advance(**(values | {"velocity": halfway}), duration=second)
    assert advance(**values, duration=first + second) == pytest.approx(float(twice), abs=1e-9)


@given(st.fixed_dictionaries(axis), st.floats(0.01, 1.0))
def test_axis_agrees_with_an_implicit_time_stepping(values, duration):
    """Backward Euler, in which Coulomb friction is a threshold: another way to standstill."""
    steps = 1000
    h = duration / steps
    mass, v = values["mass"], values["velocity"]
    for _ in range(steps):
        free = v + h * values["force"] / mass
        slid = max(abs(free) - h * values["coulomb"] / mass, 0.0)
        v = math.copysign(slid, free) / (1.0 + h * values["viscous"] / mass)
    # First order: twice the largest acceleration times the step.
    largest = (50.0 + 30.0 + 5.0 * 100.0) / mass
    assert float(advance(**values, duration=duration)) == pytest.approx(v, abs=2.0 * h * largest)


def test_a_robot_at_rest_stays_there_under_less_force_than_friction_holds():
    """And does not creep or chatter: exactly 0 after each of 100 steps."""
    v = 0.0
    for force in np.tile((29.9, -29.9), 50):
        v = float(advance(v, force, 35.0, 3.5, 30.0, 0.01))
        assert v == 0.0
    assert advance(0.0, -30.1, 35.0, 3.5, 30.0, 0.01) < 0.0


def test_motor_follows_its_differential_equation():
    motor = GearedMotor()

    def rate(_t, i):
        rotor = motor.reduction * 0.7 / motor.wheel_radius
        return (12.0 - motor.resistance * i - motor.emf_constant * rotor) / motor.inductance

    times = np.linspace(0.0, 2e-4, 401)
    exact = solve_ivp(rate, (0.0, 2e-4), [-1.0], t_eval=times, rtol=1e-10, atol=1e-12).y[0]
    end, mean = motor.advance(-1.0, 12.0, 0.7, 2e-4)
    assert end == pytest.approx(exact[-1], abs=1e-8)
    assert mean == pytest.approx(np.trapezoid(exact, times) / 2e-4, abs=1e-5)


def test_duty_is_limited_and_in_steps():
    motor = GearedMotor(supply=24.0, duty_steps=255)
    np.testing.assert_array_equal(
        motor.duty([0.04, -24.0, 99.0, -1e9]), [0.0, -255.0, 255.0, -255.0]
    )
    assert motor.voltage(255) == 24.0


def test_simulation_follows_the_differential_equations():
    """All axes at once, against an implicit solver of (1)-(12) with L_a; no axis comes to rest.

    The steps are first order: 1 mm/s and 1 mrad/s of 0.4 m/s and 1 rad/s, halved with the step.
    """
    robot = OmniRobot(coulomb=(3.0, 4.0, 0.5))
    motor, b = robot.motor, robot.wheel_distance
    voltage = np.array([24.0, -8.0, -6.0, 14.0])

    def rates(_t, x):
        (v, vn, w), current, theta = x[:3], x[3:7], x[9]
        force = body_forces(motor.wheel_force(current), b) - np.array(robot.viscous) * x[:3]
        speeding = (force - np.array(robot.coulomb) * np.sign(x[:3])) / robot.masses
        speeding += (w * vn, -w * v, 0.0)
        emf = motor.emf_constant * motor.reduction / motor.wheel_radius * wheel_velocities(x[:3], b)
        charging = (voltage - motor.resistance * current - emf) / motor.inductance
        cos, sin = math.cos(theta), math.sin(theta)
        return np.concatenate((speeding, charging, (v * cos - vn * sin, v * sin + vn * cos, w)))

    start = np.array([0.8, 0.6, 1.0])
    state = OmniState(start, np.zeros(4), np.zeros(3))
    result = simulate(robot, state, voltage, 0.4)
    x = np.concatenate((start, np.zeros(7)))
    exact = solve_ivp(rates, (0.0, 0.4), x, method="Radau", rtol=1e-6, atol=1e-8).y[:, -1]
    np.testing.assert_allclose(result.velocity, exact[:3], atol=1e-3)
    np.testing.assert_allclose(result.current, exact[3:7], atol=7e-3)
    np.testing.assert_allclose(result.pose, exact[7:], atol=3e-4)


@settings(max_examples=6)
@given(body)
def test_without_friction_and_motors_the_velocity_in_the_world_stays(velocity):
    """What (1), (2) as printed would break: the body's axes turn, the velocity does not."""
    robot = OmniRobot(viscous=(0.0,) * 3, coulomb=(0.0,) * 3)
    state = OmniState(np.array(velocity), np.zeros(4), np.zeros(3))
    result = simulate(robot, state, None, 0.5)
    v, vn, w = result.velocity
    theta = result.pose[2]
    world = (v * math.cos(theta) - vn * math.sin(theta), v * math.sin(theta) + vn * math.cos(theta))
    np.testing.assert_allclose(world, velocity[:2], atol=1e-9)
    assert w == pytest.approx(velocity[2])
    np.testing.assert_allclose(result.pose[:2], 0.5 * np.array(velocity[:2]), atol=1e-4)


def test_steps_of_any_length_coast_alike_and_stop_for_good():
    """Motors off: the standstill is exact, so one call is as good as 50."""
    state = OmniState(np.array([1.3, 0.0, 0.0]), np.zeros(4), np.zeros(3))
    robot, cut = OmniRobot(), state
    for _ in range(50):
        cut = simulate(robot, cut, None, 0.04)
    assert simulate(robot, state, None, 1.0).velocity[0] == pytest.approx(
        float(advance(1.3, 0.0, 35.0, 3.73, 29.45, 1.0)), abs=1e-12
    )
    np.testing.assert_array_equal(cut.velocity, 0.0)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: OmniRobot(mass=-1.0), "mass = -1.0"),
        (lambda: OmniRobot(inertia=math.nan), "inertia = nan"),
        (lambda: OmniRobot(viscous=(1.0, -2.0, 1.0)), "viscous"),
        (lambda: OmniRobot(coulomb=(1.0, 2.0)), "coulomb"),
        (lambda: GearedMotor(resistance=0.0), "resistance = 0.0"),
        (lambda: simulate(OmniRobot(), OmniState.at_rest(), None, 0.0), "duration = 0.0"),
    ],
)
def test_impossible_robots_are_refused_by_name(make, word):
    with pytest.raises(ValueError, match=word):
        make()
