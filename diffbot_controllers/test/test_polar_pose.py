# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from closed_loop import run
from hypothesis import given
from hypothesis import strategies as st

from diffbot_controllers import Approach, ApproachGains, LinearizingController, PolarPoseController
from diffbot_controllers.laws.dual import Dual
from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator
from pose2d_trajectories import Reference

PERIOD = 0.01
LIMIT = 5.0


@pytest.fixture(scope="module")
def plant():
    return make_simulator("ideal", load_robot("twil"))


def controller(plant, direction="either", gains=None):
    k = plant.parameters()
    loops = LinearizingController(k, torque_limit=LIMIT)
    gains = gains or ApproachGains(linear_velocity=3.0, angular_velocity=10.0, deceleration=7.0)
    return PolarPoseController(loops, gains, direction)


@given(st.floats(0.05, 3.0), st.floats(-3.0, 3.0), st.floats(-1.5, 1.5))
def test_backwards_velocities_are_those_of_82_and_83(e, psi, alpha):
    approach = Approach(ApproachGains(gamma1=1.2, gamma2=2.3, ratio=0.7), "backwards")
    x, y = e * math.cos(psi), e * math.sin(psi)
    v, omega = approach.velocity(Dual(x), Dual(y), Dual(psi + alpha))
    assert v.value == pytest.approx(-1.2 * e * math.cos(alpha), abs=1e-9)
    turn = alpha if alpha != 0.0 else 1e-12
    assert omega.value == pytest.approx(
        -2.3 * alpha
        - 1.2 * math.cos(alpha) * math.sin(alpha)
        + 1.2 * 0.7 * math.cos(alpha) * (math.sin(turn) / turn) * psi,
        abs=1e-9,
    )


@given(st.floats(0.05, 3.0), st.floats(-3.0, 3.0), st.floats(-1.5, 1.5))
def test_forwards_is_the_mirror_image_of_backwards(e, psi, alpha):
    # A robot that turns round, and a goal that does: its driving is the same the other way round.
    gains = ApproachGains()
    x, y = e * math.cos(psi), e * math.sin(psi)
    back = Approach(gains, "backwards").velocity(Dual(x), Dual(y), Dual(psi + alpha))
    forth = Approach(gains, "forwards").velocity(Dual(-x), Dual(-y), Dual(psi + alpha))
    assert forth[0].value == pytest.approx(-back[0].value, abs=1e-9)
    assert forth[1].value == pytest.approx(back[1].value, abs=1e-9)


@pytest.mark.parametrize("direction", ["forwards", "backwards", "either"])
def test_parks_from_anywhere_in_every_driving_direction(plant, direction):
    # 8 poses within 2 m and 2 turns, seed 1.
    generator = np.random.default_rng(1)
    goal = Reference(0.3, -0.2, 4.0)
    for _ in range(8):
        start = (*generator.uniform(-2.0, 2.0, 2), generator.uniform(-12.0, 12.0))
        law = controller(plant, direction)
        plant.reset(start)
        result = run(plant, lambda s, t, law=law: law.update(s, goal, PERIOD), lambda t: goal, 4.0)
        assert result.settling_time <= 3.5
        assert np.abs(result.torque).max() <= LIMIT


def test_direction_is_that_of_the_arrival(plant):
    goal = Reference(1.0)
    signs = {}
    for direction in ("forwards", "backwards", "either"):
        law = controller(plant, direction)
        plant.reset()
        result = run(plant, lambda s, t, law=law: law.update(s, goal, PERIOD), lambda t: goal, 4.0)
        signs[direction] = result.velocity[np.argmax(result.distance < 0.1), 0]
        assert result.settling_time <= 3.0
    assert signs["forwards"] > 0.1 and signs["either"] > 0.1
    assert signs["backwards"] < -0.1


def test_record_explains_the_torque(plant):
    law = controller(plant)
    plant.reset()
    goal = Reference(1.0, 1.0, 9.0)
    run(plant, lambda s, t: law.update(s, goal, PERIOD), lambda t: goal, 0.05)
    record = law.record
    assert record.loops.reference == record.velocity_reference
    assert record.polar.e == pytest.approx(math.hypot(record.offset.x, record.offset.y))
    assert record.reference == (1.0, 1.0, 9.0)


def test_bad_arguments_are_refused_by_name(plant):
    for name in ("gamma1", "gamma2", "ratio", "near", "linear_velocity", "deceleration"):
        for value in (0.0, -1.0, math.nan):
            with pytest.raises(ValueError, match=f"{name} = "):
                ApproachGains(**{name: value})
    with pytest.raises(ValueError, match="direction = 'sideways'"):
        controller(plant, "sideways")


@given(
    st.floats(-5.0, 5.0), st.floats(-5.0, 5.0), st.floats(-9.0, 9.0), st.sampled_from([1.0, 4.0])
)
def test_velocities_stay_within_their_bounds(x, y, theta, lateral):
    gains = ApproachGains(linear_velocity=0.8, angular_velocity=3.0, lateral_acceleration=lateral)
    v, omega = Approach(gains).velocity(Dual(x), Dual(y), Dual(theta))
    assert abs(v.value) <= 0.8 * (1.0 + 1e-12)
    assert abs(omega.value) <= 3.0 * (1.0 + 1e-12)
    assert abs(v.value * omega.value) <= lateral * (1.0 + 1e-12)
