# SPDX-License-Identifier: Apache-2.0
"""Robots whose wheels differ: file, URDF, odometry and engines mean the same radii."""

import math

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_ivp

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


def lagrange(model, radii, torques, seconds):
    """[v, omega] of a robot that starts at rest, by the kinetic energy of body and wheels.

    2 T = m v^2 + I omega^2 + J (w_l^2 + w_r^2) with w = (v -+ b omega) / r; a torque tau of a wheel
    does the work tau w; the body's centre of mass, d ahead, turns with it.
    """
    b, spin = model.half_track, model.wheel_inertia_spin
    mass = model.mass_body + 2.0 * model.wheel_mass
    inertia = model.inertia_body + model.mass_body * model.com_offset**2
    inertia += 2.0 * (model.wheel_inertia_yaw + model.wheel_mass * b**2)
    moment = model.mass_body * model.com_offset
    rolling = np.array([[1.0, -b], [1.0, b]]) / np.array(radii)[:, None]
    matrix = np.diag((mass, inertia)) + spin * rolling.T @ rolling

    def rates(_, u):
        v, omega = u
        carried = np.array([moment * omega**2, -moment * v * omega])
        return np.linalg.solve(matrix, rolling.T @ torques + carried)

    return solve_ivp(rates, (0.0, seconds), (0.0, 0.0), rtol=1e-11, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("radii", [RADII, (0.07, 0.08), (0.075, 0.075)])
@pytest.mark.parametrize("torques", [(0.1, 0.1), (-0.1, -0.1), (0.2, 0.1), (-0.05, 0.1)])
def test_the_ideal_engine_moves_as_the_wheels_energy_says(tmp_path, radii, torques):
    """Without the coupling of v and omega the turn by equal torques is 13 % off."""
    robot = with_radii(tmp_path, list(radii))
    simulator = make_simulator("ideal", robot)
    for _ in range(10):
        simulator.step(torques, 0.1)
    exact = lagrange(robot.model, radii, torques, 1.0)
    assert simulator.velocity() == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("torques", [(0.1, 0.1), (-0.05, 0.1)])
def test_so_do_contacts(tmp_path, torques):
    robot = with_radii(tmp_path, [0.07, 0.08])
    simulator = make_simulator("mujoco", robot)
    for _ in range(10):
        simulator.step(torques, 0.1)
    exact = lagrange(robot.model, (0.07, 0.08), torques, 1.0)
    assert simulator.velocity() == pytest.approx(exact, abs=1e-3)


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
