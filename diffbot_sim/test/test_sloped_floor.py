# SPDX-License-Identifier: Apache-2.0
"""A robot on a slope moves as gravity demands, or stays where friction holds it."""

import math
from dataclasses import replace

import pytest

from diffbot_description import closed_form, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import STEEPEST, SlopedFloor

TWIL = load_robot("twil")
G = 9.81


def rolled(robot, slope, downhill, seconds, load=None, engine="ideal"):
    """The engine of a robot that rolled without torque for a while."""
    simulator, floor = make_simulator(engine, robot), SlopedFloor(robot, slope, downhill)
    if load is not None:
        simulator.set_payload(*load)
    for _ in range(round(seconds / 0.01)):
        floor.step(simulator, (0.0, 0.0), 0.01)
    return simulator


@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
@pytest.mark.parametrize("load", [None, (2.0, 0.05, 0.1, 0.02)])
def test_it_rolls_downhill_with_the_share_of_gravity_that_the_wheels_inertia_leaves(engine, load):
    result = rolled(TWIL, 2.0, 0.0, 1.0, load, engine)
    model = TWIL.model if load is None else TWIL.model.with_payload(load[0], load[1], load[3])
    mass = model.mass_body + 2.0 * model.wheel_mass
    expected = G * math.sin(math.radians(2.0)) * mass / model.equivalent_mass
    assert result.velocity()[0] == pytest.approx(expected, rel=1e-9 if engine == "ideal" else 2e-3)
    assert result.velocity()[1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_gears_lose_a_share_of_the_torque_that_climbs_and_none_of_gravity(engine, direction):
    """Up and down the slope from rest; the acceleration by hand."""
    geared = replace(TWIL, friction=replace(TWIL.friction, gear_loss=(0.2, 0.2)))
    simulator, floor = make_simulator(engine, geared), SlopedFloor(geared, 2.0, 180.0)
    for _ in range(50):
        floor.step(simulator, (direction * 0.5, direction * 0.5), 0.01)
    model = TWIL.model
    weight = G * math.sin(math.radians(2.0)) * (model.mass_body + 2.0 * model.wheel_mass)
    driven = 2.0 * direction * 0.8 * 0.5 / model.wheel_radius
    expected = 0.5 * (driven - weight) / model.equivalent_mass
    tolerance = 1e-9 if engine == "ideal" else 2e-3
    assert simulator.velocity()[0] == pytest.approx(expected, rel=tolerance)


def test_across_the_slope_its_centre_of_mass_turns_downhill():
    """At first domega/dt = -K6 g sin(slope), to the left if the floor falls to the left."""
    result = rolled(TWIL, 2.0, 90.0, 0.01)
    expected = -closed_form(TWIL.model).k6 * G * math.sin(math.radians(2.0))
    assert result.velocity()[1] / 0.01 == pytest.approx(expected, rel=1e-3)


def test_energy_is_kept_while_it_swings():
    """Height lost by the centres of mass is kinetic energy, over 3 s of a turn of its own."""
    result = rolled(TWIL, 5.0, 70.0, 3.0)
    model, (x, y, theta), (v, omega) = TWIL.model, result.pose(), result.velocity()
    d = model.com_offset
    body = (x + d * (math.cos(theta) - 1.0), y + d * math.sin(theta))
    direction = math.radians(70.0)
    along = [a * math.cos(direction) + b * math.sin(direction) for a, b in (body, (x, y))]
    fallen = G * math.sin(math.radians(5.0))
    fallen *= model.mass_body * along[0] + 2.0 * model.wheel_mass * along[1]
    moving = 0.5 * (model.equivalent_mass * v**2 + model.equivalent_inertia * omega**2)
    assert abs(theta) > 0.5
    assert moving == pytest.approx(fallen, rel=1e-4)


def test_friction_holds_it_up_to_the_slope_that_it_can_bear():
    stuck = replace(TWIL, friction=replace(TWIL.friction, coulomb=(0.02, 0.02)))
    model = TWIL.model
    weight = (model.mass_body + 2.0 * model.wheel_mass) * G
    steepest = math.degrees(math.asin(2.0 * 0.02 / model.wheel_radius / weight))
    assert rolled(stuck, 0.95 * steepest, 0.0, 0.5).velocity() == (0.0, 0.0)
    assert rolled(stuck, 1.05 * steepest, 0.0, 0.5).velocity()[0] > 0.0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((-1.0,), "slope = -1"),
        ((STEEPEST + 1.0,), "slope = 21"),
        ((math.nan,), "slope = nan"),
        ((1.0, math.inf), "downhill = inf"),
    ],
)
def test_a_wrong_floor_is_refused_by_name(arguments, named):
    with pytest.raises(ValueError, match=named):
        SlopedFloor(TWIL, *arguments)
