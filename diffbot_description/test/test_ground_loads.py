# SPDX-License-Identifier: Apache-2.0
"""What wheels and casters carry: equilibrium of forces and moments."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_description.ground_loads import GRAVITY, ground_loads

AGV = load_robot("agv")


@given(st.floats(0.0, 50.0), st.floats(-0.2, 0.3))
def test_loads_balance_weight_and_moments(mass, x):
    loads = ground_loads(AGV, mass, x)
    weight = GRAVITY * (AGV.body.mass + 2.0 * AGV.wheels.mass + mass)
    moment = GRAVITY * (AGV.body.mass * AGV.body.center_of_mass.x + mass * x)
    assert sum(loads.wheels) + sum(loads.casters) == pytest.approx(weight)
    carried = sum(load * caster.x for load, caster in zip(loads.casters, AGV.casters, strict=True))
    assert carried == pytest.approx(moment, abs=1e-9)
    assert loads.wheels[0] == pytest.approx(loads.wheels[1])
    assert min(loads.casters) >= 0.0


def test_only_the_casters_on_the_heavy_side_carry():
    front = ground_loads(AGV).casters
    assert front[0] == front[1] > 0.0 and front[2:] == (0.0, 0.0)
    rear = ground_loads(AGV, mass=60.0, x=-0.2).casters
    assert rear[2] == rear[3] > 0.0 and rear[:2] == (0.0, 0.0)


def test_a_caster_aside_takes_load_from_its_wheel():
    """One caster at the front left: moments about x and y say all three loads."""
    robot = replace(AGV, casters=AGV.casters[:1])
    (left, right), (caster,) = ground_loads(robot)
    x, y, half = AGV.casters[0].x, AGV.casters[0].y, AGV.wheels.half_track
    equations = [[1.0, 1.0, 1.0], [0.0, 0.0, x], [half, -half, y]]
    body = GRAVITY * AGV.body.mass
    weight = body + 2.0 * GRAVITY * AGV.wheels.mass
    expected = np.linalg.solve(equations, [weight, body * AGV.body.center_of_mass.x, 0.0])
    assert [left, right, caster] == pytest.approx(expected.tolist())
