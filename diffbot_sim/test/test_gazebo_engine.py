# SPDX-License-Identifier: Apache-2.0
"""The gazebo engine: against the closed form and the ideal engine, friction, payload, bad input."""

import math

import numpy as np
import pytest
from gazebo_helpers import gentle, servers, state

from diffbot_description import load_robot
from diffbot_sim.engines.gazebo_engine import GazeboSimulator
from diffbot_sim.engines.ideal import IdealSimulator


@pytest.fixture(scope="module")
def server(gazebo, robot):
    sim = GazeboSimulator(robot)
    yield sim
    sim.close()


@pytest.fixture
def sim(server):
    """The robot at rest at the origin, without payload."""
    server.set_payload(0.0, 0.0, 0.0, 0.0)
    server.reset()
    return server


def drive(sim, robot, periods, fraction=1.0):
    for k in range(periods):
        sim.step(gentle(fraction * robot.excitation.amplitude, k), 0.01)


def measured(sim, amplitude):
    """K7 and K8 from the speeds after torque steps from rest, straight on and on the spot."""
    sim.reset()
    sim.step((amplitude, amplitude), 0.2)
    k7 = sim.velocity()[0] / (0.2 * 2 * amplitude)
    sim.reset()
    sim.step((-amplitude, amplitude), 0.05)
    k8 = -sim.velocity()[1] / (0.05 * 2 * amplitude)
    return k7, k8


def test_reset_puts_it_at_rest_at_the_pose(sim, robot):
    drive(sim, robot, 50)
    assert np.abs(state(sim)[5:]).max() > 0.1
    sim.reset((1.0, -2.0, 7.0))
    assert state(sim).tolist() == [0, 0, 1.0, -2.0, 7.0, 0, 0, 0, 0] and sim.time == 0.0
    sim.step((0.0, 0.0), 0.5)
    assert state(sim) == pytest.approx([0, 0, 1.0, -2.0, 7.0, 0, 0, 0, 0], abs=1e-4)


def test_stands_on_its_wheels(sim, robot):
    sim.step((0.0, 0.0), 0.5)
    height, roll, pitch = sim.attitude()
    assert height == pytest.approx(robot.wheels.radius, abs=5e-5)
    assert max(abs(roll), abs(pitch)) < 1e-3


def test_follows_the_ideal_engine(sim, robot):
    """5 s; twil goes 4.4 m. Measured on it: 0.11 mm/s, 0.14 mrad/s, 0.7 mm, 0.74 mrad at most."""
    ideal = IdealSimulator(robot)
    worst, moved = np.zeros(9), 0.0
    for k in range(500):
        for engine in (sim, ideal):
            engine.step(gentle(robot.excitation.amplitude, k), 0.01)
        worst = np.maximum(worst, np.abs(state(sim) - state(ideal)))
        moved = max(moved, math.hypot(*ideal.pose()[:2]))
    assert moved > 4.0
    assert np.all(worst[:5] < [0.0003, 0.001, 0.0014, 0.0014, 0.0015]), worst
    assert np.all(worst[5:] < [0.005, 0.005, 0.005, 0.005]), worst
    assert sim.time == pytest.approx(5.0)


def test_wheels_roll_without_slip(sim, robot):
    """The arcs of the wheel angles, added up, are the pose; 3 s of turns both ways, 3 m.

    The pose is that of half an inner step later, 0.85 mm; without it, 0.01 mm are left.
    """
    wheels = robot.wheels
    x = y = theta = 0.0
    before = np.zeros(2)
    for k in range(300):
        sim.step(gentle(robot.excitation.amplitude, k), 0.01)
        now = np.array(sim.wheel_angles())
        left, right = wheels.radius * (now - before)
        turn = (right - left) / wheels.separation
        x += 0.5 * (left + right) * math.cos(theta + 0.5 * turn)
        y += 0.5 * (left + right) * math.sin(theta + 0.5 * turn)
        theta += turn
        before = now
    assert abs(theta) > 0.1 and math.hypot(x, y) > 1.0
    assert sim.pose() == pytest.approx((x, y, theta), abs=1e-3)


def test_rates_are_the_slope_of_the_angles(sim, robot):
    """Central difference over 1 ms each way, at nearly constant acceleration."""
    drive(sim, robot, 30)
    torque = gentle(robot.excitation.amplitude, 30)
    angles = [sim.wheel_angles()]
    for _ in range(2):
        sim.step(torque, 0.001)
        angles.append(sim.wheel_angles())
        if len(angles) == 2:
            rates = sim.wheel_velocities()
    slope = (np.array(angles[2]) - angles[0]) / 0.002
    assert slope == pytest.approx(rates, rel=1e-3, abs=1e-4)


def test_signs_of_torque_and_turn(sim, robot):
    amplitude = 0.3 * robot.excitation.amplitude
    sim.step((0.0, amplitude), 0.2)
    left, right = sim.wheel_velocities()
    assert right > abs(left)
    assert sim.velocity()[0] > 0.0 and sim.velocity()[1] > 0.0 and sim.pose()[2] > 0.0


def test_heading_is_unwrapped(sim, robot):
    torque = 0.5 * robot.excitation.amplitude
    while sim.time < 8.0:
        sim.step((-torque, torque) if sim.velocity()[1] < 2.0 else (0.0, 0.0), 0.05)
    theta = sim.pose()[2]
    left, right = sim.wheel_angles()
    assert theta > 1.5 * math.tau
    arc = (right - left) * robot.wheels.radius / robot.wheels.separation
    assert theta == pytest.approx(arc, rel=1e-3)


def test_accelerations_from_rest_are_the_closed_form(sim, robot):
    expected = sim.parameters()
    k7, k8 = measured(sim, 0.3 * robot.excitation.amplitude)
    assert (k7, k8) == pytest.approx((expected.k7, expected.k8), rel=1e-3)


@pytest.mark.parametrize("steps", [1, 7, 20])
def test_the_length_of_the_steps_changes_little(sim, robot, steps):
    """0.14 s with constant torque, cut into pieces that are no multiple of the inner step."""
    torque = (0.3 * robot.excitation.amplitude, 0.2 * robot.excitation.amplitude)
    sim.step(torque, 0.14)
    whole = state(sim)
    sim.reset()
    for _ in range(steps):
        sim.step(torque, 0.14 / steps)
    assert state(sim) == pytest.approx(whole, rel=2e-3, abs=1e-4)
    assert sim.time == pytest.approx(0.14)


def test_payload_shows_in_the_motion_and_comes_off_again(sim, robot):
    before = sim.parameters()
    amplitude = 0.3 * robot.excitation.amplitude
    mass = 0.3 * robot.body.mass
    # Ahead of the bare robot's centre of mass, behind it, off again.
    for payload in ((mass, 0.12, 0.05, 0.02), (mass, 0.02, 0.05, 0.0), (0.0,) * 4):
        sim.set_payload(*payload)
        expected = sim.parameters()
        assert measured(sim, amplitude) == pytest.approx((expected.k7, expected.k8), rel=2e-3)
        assert (expected.k7 < 0.85 * before.k7) is bool(payload[0])
    assert expected == before


def test_payload_in_mid_motion_makes_no_jump(sim, robot):
    for payload in ((0.4 * robot.body.mass, 0.1, 0.1, 0.01), (0.0,) * 4):
        drive(sim, robot, 50)
        before = state(sim)
        assert np.abs(before[[0, 1, 5, 6]]).min() > 1e-3
        sim.set_payload(*payload)
        assert state(sim) == pytest.approx(before, abs=2e-6)
        # It rolls on, a millisecond further.
        sim.step((0.0, 0.0), 0.001)
        assert state(sim)[[0, 1, 7, 8]] == pytest.approx(before[[0, 1, 7, 8]], rel=0.02, abs=0.01)
        rolled = before[5:7] + 0.001 * before[7:9]
        assert sim.wheel_angles() == pytest.approx(rolled, abs=1e-4)


def test_friction_of_the_yaml_holds_and_brakes(gazebo, twil, tmp_path):
    text = twil.path.read_text()
    text = text.replace("viscous: [0.0, 0.0]", "viscous: [0.02, 0.02]")
    text = text.replace("coulomb: [0.0, 0.0]", "coulomb: [0.1, 0.1]")
    path = tmp_path / "rough.yaml"
    path.write_text(text)
    robot = load_robot(path)
    assert robot.friction.viscous == (0.02, 0.02) and robot.friction.coulomb == (0.1, 0.1)
    sim, ideal = GazeboSimulator(robot), IdealSimulator(robot)
    try:
        for _ in range(100):
            sim.step((0.09, 0.09), 0.01)
        assert abs(sim.pose()[0]) < 1e-3
        sim.reset()
        for engine in (sim, ideal):
            engine.step((0.4, 0.4), 0.5)
        assert sim.velocity()[0] == pytest.approx(ideal.velocity()[0], rel=5e-3)
        for engine in (sim, ideal):
            for _ in range(30):
                engine.step((0.0, 0.0), 0.05)
        assert abs(sim.velocity()[0]) < 1e-3
        assert sim.pose()[0] == pytest.approx(ideal.pose()[0], rel=0.02)
    finally:
        sim.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sim: sim.step((math.nan, 0.0), 0.01), "left wheel torque"),
        (lambda sim: sim.step((0.0, math.inf), 0.01), "right wheel torque"),
        (lambda sim: sim.step((0.0, 0.0), 0.0), "step duration"),
        (lambda sim: sim.step((0.0, 0.0), 1.1), "step duration"),
        (lambda sim: sim.reset((0.0, math.nan, 0.0)), "pose"),
        (lambda sim: sim.set_payload(-1.0, 0.0, 0.0, 0.0), "payload mass"),
        (lambda sim: sim.set_payload(1.0, math.nan, 0.0, 0.0), "payload x"),
        (lambda sim: sim.set_payload(0.0, 0.0, 0.0, 0.1), "without mass"),
    ],
)
def test_bad_input_is_refused_and_nothing_moves(sim, robot, call, message):
    drive(sim, robot, 5)
    before, truth = state(sim), sim.parameters()
    with pytest.raises(ValueError, match=message):
        call(sim)
    assert np.array_equal(state(sim), before)
    assert sim.time == pytest.approx(0.05) and sim.parameters() == truth


def test_full_torque_keeps_the_state_finite(sim, robot):
    for sides in ((1, 1), (-1, -1), (1, -1), (1, 0)):
        sim.reset()
        for _ in range(20):
            sim.step((robot.limits.torque * sides[0], robot.limits.torque * sides[1]), 0.02)
        assert np.all(np.isfinite(state(sim)))


def test_robot_that_leans_is_refused_and_its_server_ends(gazebo, twil, tmp_path):
    """Casters that hang in the air: the robot drops on its nose."""
    path = tmp_path / "leaning.yaml"
    path.write_text(twil.path.read_text().replace("clearance: 0.0}", "clearance: 0.018}"))
    before = set(servers())
    with pytest.raises(ValueError, match="cannot stand.*casters"):
        GazeboSimulator(load_robot(path))
    assert set(servers()) == before
