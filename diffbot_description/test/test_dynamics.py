# SPDX-License-Identifier: Apache-2.0
"""The model (41) with friction: one robot or many, and its inverse."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_description import DynamicParameters, FrictionLaw, load_robot, wheel_friction
from diffbot_description.dynamics import accelerations, acting_torque

K = DynamicParameters(0.08444, -3.7706, 2.6468, -16.084)
speed = st.floats(-10.0, 10.0)
torque = st.floats(-100.0, 100.0)


@given(speed, speed, torque, torque)
def test_accelerations_of_one_robot_are_drift_and_input(v, omega, left, right):
    drift, by_torque = K.drift(Velocity(v, omega)), K.input_acceleration((left, right))
    expected = np.add(drift, by_torque)
    assert accelerations(K, v, omega, left, right) == pytest.approx(expected, abs=1e-9)
    matrix = np.array([[K.k7, K.k7], [K.k8, -K.k8]])  # G
    assert matrix @ (left, right) == pytest.approx(by_torque, abs=1e-9)
    assert K.torque(Velocity(*expected), drift) == pytest.approx((left, right), abs=1e-9)


def test_accelerations_of_many_robots_are_those_of_each():
    random = np.random.default_rng(1)
    many = np.array(K)[:, None] * random.uniform(0.5, 2.0, (4, 5))
    v, omega, left, right = random.normal(size=(4, 5))
    result = accelerations(many, v, omega, left, right)
    for i in range(5):
        one = DynamicParameters(*many[:, i].tolist())
        expected = accelerations(one, v[i], omega[i], left[i], right[i])
        assert [a[i] for a in result] == pytest.approx(expected)


STICKY = FrictionLaw(
    viscous=0.1, coulomb=0.3, coulomb_backward=0.2, static=0.5, stribeck_velocity=2.0
)


def test_law_at_speeds_where_it_is_known():
    """At rest S, at w_s the fall by 1/e, far above only viscous and Coulomb friction."""
    assert STICKY.breakaway(1.0) == STICKY.breakaway(-1.0) == 0.5
    assert STICKY.torque(1e-9) == pytest.approx(0.5, abs=1e-8)
    assert STICKY.torque(2.0) == pytest.approx(0.2 + 0.3 + 0.2 / math.e)
    assert STICKY.torque(-2.0) == pytest.approx(-(0.2 + 0.2 + 0.3 / math.e))
    assert STICKY.torque(30.0) == pytest.approx(3.3)
    assert STICKY.torque(-30.0) == pytest.approx(-3.2)
    assert STICKY.torque(0.0) == 0.0


def test_without_static_friction_a_wheel_breaks_away_at_coulomb():
    plain = FrictionLaw(viscous=0.1, coulomb=0.3)
    assert (plain.breakaway(1.0), plain.breakaway(-1.0)) == (0.3, 0.3)
    assert plain.torque(2.0) == pytest.approx(0.5) and plain.torque(-2.0) == pytest.approx(-0.5)
    with pytest.raises(ValueError, match=r"static = 0\.5 N m needs stribeck_velocity"):
        FrictionLaw(viscous=0.1, coulomb=0.3, static=0.5)


@given(st.floats(-50.0, 50.0))
def test_law_takes_energy_and_stays_between_coulomb_and_static(speed):
    assert STICKY.torque(speed) * speed >= 0.0
    dry = STICKY.dry(speed, speed)
    assert STICKY.sliding(speed) <= dry <= STICKY.breakaway(speed)


def test_law_of_many_wheels_is_that_of_each():
    random = np.random.default_rng(2)
    count = 50
    viscous, coulomb, back, excess = random.uniform(0.0, 1.0, (4, count))
    static = np.maximum(coulomb, back) + excess
    width = random.uniform(0.1, 3.0, count)
    speed = random.normal(size=count)
    speed[:3] = 0.0
    many = FrictionLaw(viscous, coulomb, back, static, width)
    result, released = many.torque(speed), many.breakaway(speed)
    for i in range(count):
        one = FrictionLaw(*(float(a[i]) for a in (viscous, coulomb, back, static, width)))
        assert result[i] == pytest.approx(one.torque(float(speed[i])))
        assert released[i] == one.breakaway(float(speed[i]))


def test_law_under_a_torque_has_the_gears_loss_as_further_dry_friction():
    """By hand: gears that lose 20 % of 1.5 N m, of either sign, take 0.3 N m from every wheel."""
    geared = replace(STICKY, gear_loss=0.2)
    assert geared.under(0.0) == STICKY and STICKY.under(1.5) is STICKY
    for torque in (1.5, -1.5):
        law = geared.under(torque)
        assert law.torque(30.0) - STICKY.torque(30.0) == pytest.approx(0.3)
        assert law.torque(-2.0) - STICKY.torque(-2.0) == pytest.approx(-0.3)
        assert law.breakaway(1.0) == law.breakaway(-1.0) == pytest.approx(0.8)
        assert law.viscous == STICKY.viscous and not law.gear_loss
    many = replace(STICKY, gear_loss=np.array([0.0, 0.2])).under(np.array([1.5, 1.5]))
    assert np.asarray(many.breakaway(np.ones(2))) == pytest.approx([0.5, 0.8])


@given(st.floats(-5.0, 5.0), st.floats(-1.0, 1.0), st.floats(0.0, 0.9))
def test_the_motor_s_torque_leaves_the_output_that_was_asked_for(output, direction, loss):
    law = replace(STICKY, gear_loss=loss)
    motor = law.motor_torque(output, direction)
    assert motor - direction * loss * abs(motor) == pytest.approx(output, abs=1e-12)
    many = law.motor_torque(np.array([output, -output]), np.array([direction, direction]))
    assert many == pytest.approx([motor, law.motor_torque(-output, direction)])


def test_a_geared_wheel_starts_where_the_torque_equals_the_friction_under_it():
    law = replace(STICKY, gear_loss=0.2)
    assert law.starting(1.0) == pytest.approx(0.5 / 0.8)
    for direction in (1.0, -1.0):
        assert law.under(law.starting(direction)).breakaway(direction) == pytest.approx(
            law.starting(direction)
        )


def test_wheels_get_the_gear_loss_of_their_robot():
    robot = load_robot("agv")
    geared = replace(robot, friction=replace(robot.friction, gear_loss=(0.1, 0.2)))
    assert [law.gear_loss for law in wheel_friction(geared)] == [0.1, 0.2]


def test_rolling_resistance_is_a_coulomb_torque_of_the_load():
    robot = load_robot("agv")
    friction = replace(
        robot.friction,
        coulomb=(0.3, 0.4),
        static=(0.5, 0.6),
        stribeck_velocity=(0.2, 0.3),
        rolling_resistance=0.01,
    )
    left, right = wheel_friction(replace(robot, friction=friction))
    # Moments about the front casters: the wheels carry what the casters do not.
    body = robot.body
    on_wheels = 4.0 * 9.81 + body.mass * 9.81 * (1.0 - body.center_of_mass.x / 0.38)
    torque = 0.01 * 0.5 * on_wheels * robot.wheels.radius
    assert left.coulomb == pytest.approx(0.3 + torque)
    assert right.coulomb == pytest.approx(0.4 + torque)
    assert (left.static, right.static) == pytest.approx((0.5 + torque, 0.6 + torque))
    loaded, _ = wheel_friction(replace(robot, friction=friction), mass=10.0, x=0.0)
    assert loaded.coulomb == pytest.approx(left.coulomb + 0.01 * 5.0 * 9.81 * robot.wheels.radius)


def test_friction_acts_against_the_wheel():
    assert acting_torque(1.0, 2.0, 0.1, 0.05, 1.0) == pytest.approx(0.75)
    pair = acting_torque(
        *np.array([[1.0, 1.0], [2.0, -2.0], [0.1, 0.1], [0.05, 0.05], [1.0, -1.0]])
    )
    assert pair == pytest.approx([0.75, 1.25])


def test_messages_show_parameters_by_name_with_five_digits():
    dynamic_parameters = DynamicParameters(
        0.055758361672904155, -2.087329282912594, 0.766569, -4.878433928586674
    )
    assert f"{dynamic_parameters}" == "K5 0.055758, K6 -2.0873, K7 0.76657, K8 -4.8784"
    assert repr(dynamic_parameters).startswith("DynamicParameters(k5=0.055758361672904155,")
