"""The model (41) with friction: one robot or many, and its inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_description import DynamicParameters
from diffbot_description.dynamics import accelerations, acting_torque

K = DynamicParameters(0.08444, -3.7706, 2.6468, -16.084)
speed = st.floats(-10.0, 10.0)
torque = st.floats(-100.0, 100.0)


@given(speed, speed, torque, torque)
def test_accelerations_of_one_robot_are_drift_and_input(v, omega, left, right):
    drift, by_torque = K.drift(Velocity(v, omega)), K.input_acceleration((left, right))
    expected = np.add(drift, by_torque)
    assert accelerations(K, v, omega, left, right) == pytest.approx(expected, abs=1e-9)
    assert K.input_matrix @ (left, right) == pytest.approx(by_torque, abs=1e-9)
    assert K.torque(Velocity(*expected), drift) == pytest.approx((left, right), abs=1e-9)


def test_accelerations_of_many_robots_are_those_of_each():
    random = np.random.default_rng(1)
    many = np.array(K)[:, None] * random.uniform(0.5, 2.0, (4, 5))
    v, omega, left, right = random.normal(size=(4, 5))
    found = accelerations(many, v, omega, left, right)
    for i in range(5):
        one = DynamicParameters(*many[:, i].tolist())
        expected = accelerations(one, v[i], omega[i], left[i], right[i])
        assert [a[i] for a in found] == pytest.approx(expected)


def test_friction_acts_against_the_wheel():
    assert acting_torque(1.0, 2.0, 0.1, 0.05, 1.0) == pytest.approx(0.75)
    pair = acting_torque(
        *np.array([[1.0, 1.0], [2.0, -2.0], [0.1, 0.1], [0.05, 0.05], [1.0, -1.0]])
    )
    assert pair == pytest.approx([0.75, 1.25])
