# SPDX-License-Identifier: Apache-2.0
"""Rows of the regressions: their times, signs and body velocities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.rls import PositionRegression, VelocityRegression

GEOMETRY = WheelGeometry(0.1, 0.1, 0.5)
K7, K8 = 0.8, -3.0

torque = st.floats(-2.0, 2.0)
period = st.floats(0.002, 0.03)


def samples_of_linear_plant(steps, wrap=False):
    """Samples of dv/dt = K7 (tl + tr), domega/dt = K8 (tl - tr), solved in closed form.

    Torque is constant over each (uneven) period, so angles are exact parabolas.
    """
    time, left, right, v, omega = 0.0, 0.3, -0.2, 0.0, 0.0
    yield JointSample(time, (left, right), (0.0, 0.0), (0.0, 0.0))
    for length, tau_left, tau_right in steps:
        dv, domega = K7 * (tau_left + tau_right), K8 * (tau_left - tau_right)
        path = v * length + 0.5 * dv * length**2
        turn = omega * length + 0.5 * domega * length**2
        v, omega, time = v + dv * length, omega + domega * length, time + length
        turned = GEOMETRY.wheel_velocity(path, turn)
        left, right = left + turned[0], right + turned[1]
        angles = (left % math.tau, right % math.tau) if wrap else (left, right)
        yield JointSample(time, angles, GEOMETRY.wheel_velocity(v, omega), (tau_left, tau_right))


@given(
    st.lists(st.tuples(period, torque, torque), min_size=3, max_size=30),
    st.sampled_from([PositionRegression, VelocityRegression]),
    st.booleans(),
)
def test_rows_hold_exactly_in_the_torque(steps, kind, wrap):
    """K5 = K6 = 0: every row must satisfy y = K phi to rounding, for uneven periods too."""
    regression, rows = kind(GEOMETRY), 0
    for sample in samples_of_linear_plant(steps, wrap):
        row = regression.push(sample)
        if row is None:
            continue
        rows += 1
        (_, total), dv = row.linear
        (_, difference), domega = row.angular
        assert dv == pytest.approx(K7 * total, abs=1e-7)
        assert domega == pytest.approx(K8 * difference, abs=1e-7)
    assert rows == len(steps) - (kind is PositionRegression)


@pytest.mark.parametrize("kind", [PositionRegression, VelocityRegression])
def test_regressors_are_body_velocities(kind):
    """Steady v = 0.6 m/s, omega = -1.5 rad/s: omega^2 and v omega, not wheel speeds."""
    v, omega = 0.6, -1.5
    left, right = GEOMETRY.wheel_velocity(v, omega)
    regression = kind(GEOMETRY)
    for step in range(4):
        t = 0.01 * step
        row = regression.push(JointSample(t, (left * t, right * t), (left, right), (0.5, 0.2)))
    assert row.linear[0] == pytest.approx((omega**2, 0.7))
    assert row.angular[0] == pytest.approx((v * omega, 0.3))
    assert row.velocity == pytest.approx((v, omega))
    assert (row.linear[1], row.angular[1]) == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("kind", [PositionRegression, VelocityRegression])
def test_reset_bridges_nothing(kind):
    regression = kind(GEOMETRY)
    for step in range(5):
        regression.push(JointSample(0.01 * step, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)))
    regression.reset()
    assert regression.velocity is None
    assert regression.push(JointSample(9.0, (50.0, 50.0), (0.0, 0.0), (0.0, 0.0))) is None
