"""Friction of the ideal engine: holding, stopping, reversing, one wheel dragged by the other."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from diffbot_description import load_robot
from diffbot_sim.engines.ideal import IdealSimulator

part = st.floats(-1, 1)


@lru_cache
def simulator(viscous, coulomb):
    """The ideal twil with friction [left, right]; kept, as a URDF takes 0.3 s to make."""
    robot = load_robot("twil")
    friction = replace(robot.friction, viscous=viscous, coulomb=coulomb)
    return IdealSimulator(replace(robot, friction=friction))


def state(sim):
    return np.array([*sim.velocity(), *sim.pose(), *sim.wheel_angles()])


@given(part, part, st.floats(1e-4, 0.05))
def test_holds_at_rest_up_to_the_limit(left, right, duration):
    sim = simulator((0.0, 0.0), (0.1, 0.15))
    sim.reset((1.0, 2.0, 3.0))
    for sign in (1, -1, 1):
        sim.step((sign * 0.1 * left, sign * 0.15 * right), duration)
    assert state(sim).tolist() == [0, 0, 1.0, 2.0, 3.0, 0, 0]


def test_moves_just_above_the_limit():
    sim = simulator((0.01, 0.02), (0.1, 0.15))
    sim.reset()
    sim.step((0.1001, 0.1501), 0.05)
    assert min(sim.wheel_velocities()) > 0.0


def test_coasts_to_rest_where_the_exact_solution_says(twil):
    """Straight run: m v' = -c - d v has an exponential solution, and the robot then stays."""
    sim = simulator((0.02, 0.02), (0.1, 0.1))
    k7, r = sim.parameters().k7, twil.wheels.radius
    for _ in range(50):
        sim.step((0.5, 0.5), 0.01)
    speed, start = sim.velocity()[0], sim.pose()[0]
    rate, brake = 2 * k7 * 0.02 / r, 2 * k7 * 0.1
    stop = math.log1p(speed * rate / brake) / rate
    way = speed / rate - brake / rate * stop
    steps = math.ceil(stop / 0.01)
    for _ in range(steps - 1):
        sim.step((0.0, 0.0), 0.01)
    assert sim.velocity()[0] > 0.0
    sim.step((0.0, 0.0), 0.01)
    assert sim.velocity() == (0.0, 0.0)
    assert sim.pose()[0] - start == pytest.approx(way, rel=1e-12)
    rest = state(sim)
    for _ in range(100):
        sim.step((0.09, -0.09), 0.05)
    assert np.array_equal(state(sim), rest)


def test_a_held_wheel_is_a_pivot(twil):
    """The body turns about the contact point of the wheel whose friction is not overcome."""
    sim = simulator((0.0, 0.0), (3.0, 0.0))
    b = twil.wheels.half_track
    for _ in range(20):
        sim.step((0.0, 0.3), 0.01)
        x, y, theta = sim.pose()
        assert sim.wheel_velocities()[0] == 0.0
        pivot = (x - b * math.sin(theta), y + b * math.cos(theta))
        assert pivot == pytest.approx((0.0, b), abs=1e-14)
    assert theta > 0.1
    assert sim.wheel_angles()[0] == 0.0


def test_a_held_wheel_gives_way_as_the_turn_speeds_up(twil):
    """Turning about one wheel throws the body outwards: the friction needed grows with omega^2."""
    sim = simulator((0.0, 0.0), (0.5, 0.0))
    released = None
    for k in range(400):
        sim.step((0.0, 0.6), 0.01)
        if released is None and sim.wheel_velocities()[0] != 0.0:
            released = k
    assert released is not None
    assert released > 0


@settings(max_examples=10)
@given(st.lists(st.tuples(part, part, st.floats(1e-3, 0.05)), min_size=1, max_size=6))
def test_agrees_with_smoothed_friction(motion):
    """An independent integrator with sign(w) smoothed over 1e-3 rad/s (error below 2e-3 rad/s)."""
    viscous, coulomb, eps = (0.01, 0.02), (0.1, 0.15), 1e-3
    sim = simulator(viscous, coulomb)
    sim.reset()
    wheels = load_robot("twil").wheels
    k, r, b = sim.parameters(), wheels.radius, wheels.half_track
    u = np.zeros(2)
    for left, right, duration in motion:
        torque = (0.5 * left, 0.5 * right)

        def rate(_, u, torque=torque):
            v, w = u
            wheels = (v - b * w) / r, (v + b * w) / r
            net = [
                t - d * s - c * math.tanh(s / eps)
                for t, d, c, s in zip(torque, viscous, coulomb, wheels, strict=True)
            ]
            return [
                k.k5 * w * w + k.k7 * (net[0] + net[1]),
                k.k6 * v * w + k.k8 * (net[0] - net[1]),
            ]

        u = solve_ivp(rate, (0, duration), u, method="Radau", rtol=1e-7, atol=1e-8).y[:, -1]
        sim.step(torque, duration)
    assert sim.velocity() == pytest.approx(u, abs=2e-3)


@settings(max_examples=15)
@given(part, part, st.lists(st.floats(1e-3, 0.05), min_size=20, max_size=20))
def test_friction_only_takes_energy_and_ends_in_rest(left, right, durations):
    sim = simulator((0.0, 0.01), (0.2, 0.1))
    sim.reset()
    sim.step((left, right), 0.05)
    k = sim.parameters()
    # M_e and I_e up to a common factor: K5 M_e = -K6 I_e.
    energies = []
    for duration in [*durations, *[0.05] * 40]:
        sim.step((0.0, 0.0), duration)
        v, omega = sim.velocity()
        energies.append(v * v - k.k5 / k.k6 * omega * omega)
    assert all(b <= a * (1 + 1e-12) for a, b in zip(energies, energies[1:], strict=False))
    assert sim.velocity() == (0.0, 0.0)
