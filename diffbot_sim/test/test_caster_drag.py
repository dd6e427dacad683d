# SPDX-License-Identifier: Apache-2.0
"""Drag of casters over one step: within its limits, against the motion, exactly to rest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_description import closed_form, load_robot
from diffbot_description.ground_loads import ground_loads
from diffbot_sim.engines.caster_drag import CasterDrag

FREE = load_robot("agv").without_friction()
ROBOT = replace(FREE, contact=replace(FREE.contact, caster_friction=0.2))
K = closed_form(ROBOT.model)
DRAG = CasterDrag(ROBOT, K)
STEP = 0.001
speed = st.floats(-1.0, 1.0)
LIMIT = 0.2 * sum(ground_loads(ROBOT).casters)


def test_only_casters_with_load_and_friction_drag():
    assert not CasterDrag(FREE, K).exists
    assert [(x, y) for x, y, _ in DRAG.casters] == [(c.x, c.y) for c in ROBOT.casters[:2]]
    assert sum(limit for _, _, limit in DRAG.casters) == pytest.approx(LIMIT)
    loaded = CasterDrag(ROBOT, K, mass=60.0, x=-0.2)
    assert [(x, y) for x, y, _ in loaded.casters] == [(c.x, c.y) for c in ROBOT.casters[2:]]


@given(speed, speed)
def test_drag_takes_energy_and_is_within_its_limit(v, omega):
    force, moment = DRAG.wrench(Velocity(v, omega), (0.0, 0.0), STEP)
    assert abs(force) <= LIMIT * (1.0 + 1e-9)
    farthest = max(np.hypot(x, y) for x, y, _ in DRAG.casters)
    assert abs(moment) <= LIMIT * farthest * (1.0 + 1e-9)
    drift = K.drift(Velocity(v, omega))
    middle = np.array([v, omega]) + 0.5 * STEP * np.array(
        [drift.v + force / DRAG.mass, drift.omega + moment / DRAG.inertia]
    )
    assert middle @ (force, moment) <= 1e-9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_straight_ahead_it_is_the_whole_limit(sign):
    force, moment = DRAG.wrench(Velocity(sign * 0.5, 0.0), (1.0, 1.0), STEP)
    assert force == pytest.approx(-sign * LIMIT)
    assert moment == pytest.approx(0.0, abs=1e-9)


@given(st.floats(-0.99, 0.99))
def test_a_robot_at_rest_is_held_against_the_torque_to_the_newton(fraction):
    torque = 0.5 * fraction * LIMIT * ROBOT.wheels.radius
    force, moment = DRAG.wrench(Velocity(0.0, 0.0), (torque, torque), STEP)
    assert force == pytest.approx(-fraction * LIMIT, abs=1e-3)
    assert moment == pytest.approx(0.0, abs=1e-6)


def test_a_slow_robot_is_stopped_within_the_step_and_not_turned_round():
    u = Velocity(1e-5, -2e-5)
    force, moment = DRAG.wrench(u, (0.0, 0.0), STEP)
    after = u.v + STEP * force / DRAG.mass, u.omega + STEP * moment / DRAG.inertia
    assert after == pytest.approx((0.0, 0.0), abs=1e-8)
