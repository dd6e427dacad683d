# SPDX-License-Identifier: Apache-2.0
"""Robots whose wheels differ: file, URDF, odometry and engines mean the same radii."""

import math

import numpy as np
import pytest
import yaml

from diffbot_description import load_robot, urdf
from diffbot_sim.engines import make_simulator

RADII = (0.0757, 0.0743)


def with_radii(folder, radii, name="twil"):
    data = yaml.safe_load(load_robot(name).path.read_text(encoding="utf-8"))
    data["wheels"]["radii"] = radii
    path = folder / "unequal.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return load_robot(path)


@pytest.fixture
def unequal(tmp_path):
    return with_radii(tmp_path, list(RADII))


def driven(simulator, steps=300):
    for k in range(steps):
        torque = (0.1 * math.cos(k / 30.0) + 0.02, 0.12 * math.cos(k / 45.0) - 0.01)
        simulator.step(torque, 0.01)
    return simulator


@pytest.mark.parametrize("engine, tolerance", [("ideal", 1e-12), ("mujoco", 1e-4)])
def test_wheels_roll_on_their_own_radii(unequal, engine, tolerance):
    simulator = driven(make_simulator(engine, unequal))
    geometry = unequal.geometry
    _, turn = geometry.body_velocity(*simulator.wheel_angles())
    assert turn == pytest.approx(simulator.pose()[2], abs=tolerance)
    velocity = geometry.body_velocity(*simulator.wheel_velocities())
    assert velocity == pytest.approx(simulator.velocity(), abs=5.0 * tolerance)
    equal = load_robot("twil").geometry
    assert equal.body_velocity(*simulator.wheel_angles())[1] != pytest.approx(turn, abs=0.01)


def test_both_engines_go_the_same_way(unequal):
    ends = [np.array(driven(make_simulator(e, unequal), 150).pose()) for e in ("ideal", "mujoco")]
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)


def test_the_ideal_engine_takes_a_torque_on_the_smaller_wheel_for_more_force(unequal):
    simulator = make_simulator("ideal", unequal)
    simulator.step((0.2, 0.0), 0.001)
    left = simulator.velocity()
    simulator.reset()
    simulator.step((0.0, 0.2), 0.001)
    right = simulator.velocity()
    assert right[0] / left[0] == pytest.approx(RADII[0] / RADII[1], rel=1e-6)


def test_the_axle_is_level(unequal):
    """Each wheel's lowest point is on the floor, so that neither engine tilts the robot."""
    text = urdf(unequal)
    for radius in RADII:
        assert f'<sphere radius="{radius}"/>' in text
    height, roll, _ = make_simulator("mujoco", unequal).attitude()
    assert height == pytest.approx(0.075, abs=1e-5)
    assert abs(roll) < 1e-6


def test_equal_radii_are_as_none(tmp_path):
    robot, equal = load_robot("twil"), with_radii(tmp_path, [0.075, 0.075])
    assert equal.geometry == robot.geometry
    assert equal.wheels.rolling_radii == robot.wheels.rolling_radii
    ends = [driven(make_simulator("ideal", r), 50).pose() for r in (robot, equal)]
    assert ends[0] == ends[1]


def test_radii_that_do_not_fit_the_radius_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"wheels.radii = \[0.08, 0.08\] m have the mean 0.08 m"):
        with_radii(tmp_path, [0.08, 0.08])
    with pytest.raises(ValueError, match=r"wheels.radii"):
        with_radii(tmp_path, [0.075])
