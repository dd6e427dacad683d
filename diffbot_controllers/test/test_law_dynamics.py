# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_controllers import LinearizingController, PublishedBackstepping
from diffbot_controllers.laws.drivetrain import limit_torque
from diffbot_description import DynamicParameters

speed = st.floats(-10.0, 10.0)
torque = st.floats(-1e3, 1e3)
TWIL = DynamicParameters(0.08444, -3.7706, 2.6468, -16.084)


@given(speed, speed, speed, speed)
def test_torque_gives_the_acceleration_asked_for_by_the_model_equations(v, omega, dv, domega):
    left, right = TWIL.torque(Velocity(dv, domega), TWIL.drift(Velocity(v, omega)))
    # (41) of the 2017 paper, written out.
    assert 0.08444 * omega**2 + 2.6468 * (left + right) == pytest.approx(dv, abs=1e-9)
    assert -3.7706 * v * omega - 16.084 * (left - right) == pytest.approx(domega, abs=1e-9)


@given(speed, speed, speed, speed)
def test_mean_drift_is_the_mean_over_the_period(v, omega, dv, domega):
    period = 0.1
    # Gauss-Legendre with two points is exact for polynomials of degree 3.
    times = 0.5 * period * (1.0 + np.array([-1.0, 1.0]) / math.sqrt(3.0))
    vs, omegas = v + dv * times, omega + domega * times
    mean = TWIL.mean_drift(Velocity(v, omega), Velocity(dv, domega), period)
    assert mean.v == pytest.approx(0.08444 * np.mean(omegas**2), abs=1e-9)
    assert mean.omega == pytest.approx(-3.7706 * np.mean(vs * omegas), abs=1e-9)


@pytest.mark.parametrize(
    ("k", "name"),
    [
        ((0.1, -3.0, 0.0, -16.0), "k7 = 0.0"),
        ((0.1, -3.0, -2.6, -16.0), "k7 = -2.6"),
        ((0.1, -3.0, 2.6, 0.0), "k8 = 0.0"),
        ((0.1, -3.0, 2.6, 16.0), "k8 = 16.0"),
        ((math.nan, -3.0, 2.6, -16.0), "k5 = nan"),
        ((0.1, math.inf, 2.6, -16.0), "k6 = inf"),
    ],
)
def test_singular_and_senseless_dynamics_are_refused_by_name(k, name):
    with pytest.raises(ValueError, match=name):
        DynamicParameters(*k).checked()
    with pytest.raises(ValueError, match=name):
        LinearizingController(DynamicParameters(*k))
    with pytest.raises(ValueError, match=name):
        PublishedBackstepping(DynamicParameters(*k))


@given(torque, torque, st.floats(1e-3, 100.0))
def test_limited_torque_is_within_the_limit_and_steers_first(left, right, limit):
    a, b = limit_torque((left, right), limit)
    assert abs(a) <= limit and abs(b) <= limit
    turn = max(-2.0 * limit, min(2.0 * limit, right - left))
    assert b - a == pytest.approx(turn, abs=1e-9)
    if abs(left) <= limit and abs(right) <= limit:
        assert (a, b) == pytest.approx((left, right), abs=1e-9)


def test_infinite_limit_leaves_torque_alone():
    assert limit_torque((223.0, -7.0), math.inf) == pytest.approx((223.0, -7.0))
