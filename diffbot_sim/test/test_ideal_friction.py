# SPDX-License-Identifier: Apache-2.0
"""Friction of the ideal engine: holding, stopping, reversing, one wheel dragged by the other."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from diffbot_description import load_robot, wheel_friction
from diffbot_description.ground_loads import ground_loads
from diffbot_sim.engines.ideal import IdealSimulator

part = st.floats(-1, 1)


@lru_cache
def simulator(viscous, coulomb, gear_loss=(0.0, 0.0)):
    """The ideal twil with friction [left, right]; kept, as a URDF takes 0.3 s to make."""
    robot = load_robot("twil")
    friction = replace(robot.friction, viscous=viscous, coulomb=coulomb, gear_loss=gear_loss)
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


GEARS = (0.2, 0.3)


@given(part, part, st.floats(1e-4, 0.05))
def test_gears_hold_at_rest_up_to_the_limit_without_torque_over_their_efficiency(
    left, right, duration
):
    sim = simulator((0.0, 0.0), (0.1, 0.15), GEARS)
    sim.reset((1.0, 2.0, 3.0))
    for sign in (1, -1, 1):
        sim.step((sign * 0.1 / 0.8 * left, sign * 0.15 / 0.7 * right), duration)
    assert state(sim).tolist() == [0, 0, 1.0, 2.0, 3.0, 0, 0]
    sim.step((0.1001 / 0.8, 0.1501 / 0.7), 0.05)
    assert min(sim.wheel_velocities()) > 0.0


@pytest.mark.parametrize("coulomb", [0.0, 0.1])
def test_gears_take_their_share_of_the_torque_that_drives_and_add_it_to_the_one_that_brakes(
    coulomb, twil
):
    """Straight run without viscous friction: accelerations and the time to rest by hand."""
    sim = simulator((0.0, 0.0), (coulomb, coulomb), (0.2, 0.2))
    k7, sign = sim.parameters().k7, -1.0
    sim.reset()
    sim.step((sign * 0.5, sign * 0.5), 0.1)
    speed = 2.0 * k7 * (0.8 * 0.5 - coulomb) * 0.1
    assert sim.velocity()[0] == pytest.approx(sign * speed, rel=1e-12)
    # It brakes to rest, and starts into the other direction within the same step.
    brake, other = 2.0 * k7 * (1.2 * 0.3 + coulomb), 2.0 * k7 * (0.8 * 0.3 - coulomb)
    stop = speed / brake
    sim.step((-sign * 0.3, -sign * 0.3), stop + 0.02)
    assert sim.velocity()[0] == pytest.approx(-sign * other * 0.02, rel=1e-10)


@given(st.lists(st.tuples(part, part, st.floats(1e-3, 0.05)), min_size=1, max_size=8))
@pytest.mark.parametrize("coulomb", [(0.0, 0.0), (0.1, 0.15)])
def test_gears_never_drive_and_take_at_least_their_share_of_the_work(twil, coulomb, motion):
    """Energy: work of the motors less its increase is at least the loss of the net rotation."""
    sim = simulator((0.01, 0.0), coulomb, GEARS)
    sim.reset()

    def energy():
        v, omega = sim.velocity()
        return 0.5 * (twil.model.equivalent_mass * v**2 + twil.model.equivalent_inertia * omega**2)

    for left, right, duration in motion:
        before, angles = energy(), sim.wheel_angles()
        sim.step((left, right), duration)
        turned = np.subtract(sim.wheel_angles(), angles)
        torque = np.array([left, right])
        taken = torque @ turned - (energy() - before)
        least = (np.array(coulomb) + GEARS * np.abs(torque)) @ np.abs(turned)
        assert taken >= least - 1e-12 * (1.0 + before)


def test_coasts_to_rest_where_the_exact_solution_says(twil):
    """Straight run: m v' = -c - d v has an exponential solution, and the robot then stays."""
    sim = simulator((0.02, 0.02), (0.1, 0.1))
    k7, r = sim.parameters().k7, twil.wheels.radius
    for _ in range(50):
        sim.step((0.5, 0.5), 0.01)
    speed, start = sim.velocity()[0], sim.pose()[0]
    rate, brake = 2 * k7 * 0.02 / r, 2 * k7 * 0.1
    stop = math.log1p(speed * rate / brake) / rate
    direction = speed / rate - brake / rate * stop
    steps = math.ceil(stop / 0.01)
    for _ in range(steps - 1):
        sim.step((0.0, 0.0), 0.01)
    assert sim.velocity()[0] > 0.0
    sim.step((0.0, 0.0), 0.01)
    assert sim.velocity() == (0.0, 0.0)
    assert sim.pose()[0] - start == pytest.approx(direction, rel=1e-12)
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
@pytest.mark.parametrize("gear_loss", [(0.0, 0.0), GEARS])
def test_agrees_with_smoothed_friction(gear_loss, motion):
    """An independent integrator with sign(w) smoothed over 1e-3 rad/s (error below 2e-3 rad/s)."""
    viscous, coulomb, eps = (0.01, 0.02), (0.1, 0.15), 1e-3
    sim = simulator(viscous, coulomb, gear_loss)
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
                t - d * s - (c + g * abs(t)) * math.tanh(s / eps)
                for t, d, c, g, s in zip(torque, viscous, coulomb, gear_loss, wheels, strict=True)
            ]
            return [
                k.k5 * w * w + k.k7 * (net[0] + net[1]),
                k.k6 * v * w + k.k8 * (net[0] - net[1]),
            ]

        u = solve_ivp(rate, (0, duration), u, method="Radau", rtol=1e-7, atol=1e-8).y[:, -1]
        sim.step(torque, duration)
    assert sim.velocity() == pytest.approx(u, abs=2e-3)


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


STICKY = {
    "viscous": (0.01, 0.02),
    "coulomb": (0.10, 0.15),
    "coulomb_backward": (0.12, 0.08),
    "static": (0.20, 0.22),
    "stribeck_velocity": (0.3, 0.2),
}


@lru_cache
def sticky():
    """The ideal twil with all that a wheel's friction may have, and its law."""
    robot = load_robot("twil")
    robot = replace(robot, friction=replace(robot.friction, **STICKY))
    return IdealSimulator(robot), wheel_friction(robot)


@given(
    st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0]), part, part, st.floats(1e-3, 0.02)
)
def test_static_friction_falls_as_an_independent_integrator_says(left, right, a, b, duration):
    """Both wheels turn, from slow to stopping: DOP853, until one of them stops."""
    sim, laws = sticky()
    robot, k = load_robot("twil"), sim.parameters()
    sim.reset()
    sim.step((0.4 * left, 0.4 * right), 0.01)
    r, half = robot.wheels.radius, robot.wheels.half_track
    signs = [math.copysign(1.0, w) for w in sim.wheel_velocities()]
    torque = (0.3 * a, 0.3 * b)

    def speeds(u):
        return (u[0] - half * u[1]) / r, (u[0] + half * u[1]) / r

    def rate(_, u):
        net = [
            tau - law.viscous * w - sign * law.dry(w, sign)
            for tau, law, w, sign in zip(torque, laws, speeds(u), signs, strict=True)
        ]
        return [
            k.k5 * u[1] ** 2 + k.k7 * (net[0] + net[1]),
            k.k6 * u[0] * u[1] + k.k8 * (net[0] - net[1]),
        ]

    def stopped(_, u):
        return min(sign * w for sign, w in zip(signs, speeds(u), strict=True))

    stopped.terminal = True
    path = solve_ivp(
        rate, (0, duration), sim.velocity(), method="DOP853", rtol=1e-12, atol=1e-13,
        max_step=1e-3, events=stopped,
    )  # fmt: skip
    sim.step(torque, float(path.t[-1]))
    assert sim.velocity() == pytest.approx(path.y[:, -1], abs=1e-10)


@given(part, part)
def test_static_friction_holds_up_to_its_limit_in_both_directions(left, right):
    sim, _ = sticky()
    sim.reset()
    sim.step((0.2 * left, 0.22 * right), 0.05)
    assert state(sim).tolist() == [0.0] * 7


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_static_friction_lets_go_above_its_limit(sign):
    sim, _ = sticky()
    sim.reset()
    sim.step((sign * 0.2001, sign * 0.2201), 0.05)
    assert min(sign * w for w in sim.wheel_velocities()) > 0.0


def test_backward_friction_is_its_own(twil):
    """Sliding without viscous friction: a constant deceleration by direction."""
    robot = replace(
        twil, friction=replace(twil.friction, coulomb=(0.1, 0.1), coulomb_backward=(0.3, 0.3))
    )
    sim = IdealSimulator(robot)
    for sign, coulomb in ((1.0, 0.1), (-1.0, 0.3)):
        sim.reset()
        sim.step((sign, sign), 0.2)
        before = sim.velocity()[0]
        sim.step((0.0, 0.0), 0.05)
        change = -sign * 2.0 * sim.parameters().k7 * coulomb * 0.05
        assert sim.velocity()[0] - before == pytest.approx(change, rel=1e-12)


def dragging(coulomb, gear_loss=(0.0, 0.0)):
    robot = load_robot("agv").without_friction()
    return replace(
        robot,
        friction=replace(robot.friction, coulomb=coulomb, gear_loss=gear_loss),
        contact=replace(robot.contact, caster_friction=0.3),
    )


@settings(max_examples=10)
@given(st.lists(st.tuples(part, part, st.floats(5e-3, 0.05)), min_size=1, max_size=4))
@pytest.mark.parametrize(
    ("coulomb", "gear_loss"),
    [((0.0, 0.0), (0.0, 0.0)), ((0.4, 0.6), (0.0, 0.0)), ((0.4, 0.6), (0.2, 0.1))],
)
def test_dragging_casters_agree_with_smoothed_ones(coulomb, gear_loss, motion):
    """Starts, turns and stops; directions smoothed over 1e-5 m/s and rad/s."""
    robot = dragging(coulomb, gear_loss)
    sim = IdealSimulator(robot)
    k, r, half, eps = sim.parameters(), robot.wheels.radius, robot.wheels.half_track, 1e-5
    casters = [
        (c.x, c.y, 0.3 * load)
        for c, load in zip(robot.casters, ground_loads(robot).casters, strict=True)
        if load
    ]
    assert len(casters) == 2
    u = np.zeros(2)
    for left, right, duration in motion:
        torque = (6.0 * left, 6.0 * right)

        def rate(_, u, torque=torque):
            v, w = u
            speeds = (v - half * w) / r, (v + half * w) / r
            net = [
                t - (c + g * abs(t)) * math.tanh(s / eps)
                for t, c, g, s in zip(torque, coulomb, gear_loss, speeds, strict=True)
            ]
            dv = k.k5 * w * w + k.k7 * (net[0] + net[1])
            dw = k.k6 * v * w + k.k8 * (net[0] - net[1])
            for x, y, limit in casters:
                along, across = v - y * w, x * w
                force = -limit / math.sqrt(along**2 + across**2 + eps**2)
                dv += force * along / robot.model.equivalent_mass
                dw += force * (x * across - y * along) / robot.model.equivalent_inertia
            return [dv, dw]

        u = solve_ivp(rate, (0, duration), u, method="Radau", rtol=1e-7, atol=1e-9).y[:, -1]
        sim.step(torque, duration)
    assert sim.velocity() == pytest.approx(u, abs=2e-3)


def test_dragging_casters_hold_and_stop_a_robot_for_good():
    sim = IdealSimulator(dragging((0.0, 0.0)))
    robot = dragging((0.0, 0.0))
    drag = 0.3 * sum(ground_loads(robot).casters)
    limit = 0.5 * drag * robot.wheels.radius
    sim.step((0.999 * limit, 0.999 * limit), 0.1)
    assert sim.velocity() == (0.0, 0.0)
    sim.step((1.001 * limit, 1.001 * limit), 0.1)
    expected = 0.001 * drag / robot.model.equivalent_mass * 0.1
    assert sim.velocity()[0] == pytest.approx(expected, rel=1e-6)
    sim.step((8.0, 5.0), 0.3)
    for _ in range(60):
        sim.step((0.0, 0.0), 0.05)
    assert sim.velocity() == sim.wheel_velocities() == (0.0, 0.0)
    rest = state(sim)
    sim.step((0.5 * limit, -0.2 * limit), 0.5)
    assert np.array_equal(state(sim), rest)
