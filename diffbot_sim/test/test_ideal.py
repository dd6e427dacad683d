# SPDX-License-Identifier: Apache-2.0
"""The ideal engine without friction: exactness, energy, payload, bad input."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from strict_urdf import model_of

from diffbot_description import load_robot, urdf
from diffbot_sim.engines.ideal import IdealSimulator

ROBOTS = {name: load_robot(name).without_friction() for name in ("twil", "agv")}
SIMULATORS = {name: IdealSimulator(robot) for name, robot in ROBOTS.items()}
names = st.sampled_from(sorted(SIMULATORS))
fractions = st.tuples(st.floats(-1, 1), st.floats(-1, 1))
durations = st.floats(1e-4, 0.05)
motions = st.lists(st.tuples(fractions, durations), min_size=1, max_size=8)


@cache
def described(name):
    return model_of(urdf(load_robot(name)))


def torques(name, fraction):
    limit = load_robot(name).limits.torque
    return limit * fraction[0], limit * fraction[1]


def state(sim):
    return np.array([*sim.velocity(), *sim.pose(), *sim.wheel_angles()])


@given(names, motions)
def test_agrees_with_dop853(name, motion):
    sim, model = SIMULATORS[name], described(name)
    k, r, b = sim.parameters(), model.wheel_radius, model.half_track
    sim.reset((1.0, -2.0, 0.3))
    y = np.array([0, 0, 1.0, -2.0, 0.3, 0, 0])
    for fraction, duration in motion:
        left, right = torques(name, fraction)

        def rate(_, y, left=left, right=right):
            v, w, _, _, theta, _, _ = y
            dv = k.k5 * w * w + k.k7 * (left + right)
            dw = k.k6 * v * w + k.k8 * (left - right)
            wheels = (v - b * w) / r, (v + b * w) / r
            return [dv, dw, v * math.cos(theta), v * math.sin(theta), w, *wheels]

        y = solve_ivp(rate, (0, duration), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        sim.step((left, right), duration)
    # DOP853 itself is good to about 1e-11 here.
    assert state(sim) == pytest.approx(y, rel=1e-9, abs=1e-11)


@given(names, motions)
def test_energy_is_the_work_of_the_wheels(name, motion):
    sim, model = SIMULATORS[name], described(name)
    sim.reset()
    work = scale = 0.0
    for fraction, duration in motion:
        torque = torques(name, fraction)
        before = sim.wheel_angles()
        sim.step(torque, duration)
        parts = [t * (a - b) for t, a, b in zip(torque, sim.wheel_angles(), before, strict=True)]
        work += sum(parts)
        scale += sum(map(abs, parts))
    v, omega = sim.velocity()
    energy = 0.5 * model.equivalent_mass * v**2 + 0.5 * model.equivalent_inertia * omega**2
    assert energy == pytest.approx(work, rel=1e-9, abs=1e-11 * scale + 1e-15)


@given(names, fractions, fractions, durations, st.lists(st.floats(0.05, 1), min_size=2, max_size=5))
def test_the_way_a_step_is_divided_does_not_matter(name, first, second, duration, parts):
    sim = SIMULATORS[name]
    ends = []
    for pieces in ([1.0], np.array(parts) / sum(parts)):
        sim.reset()
        sim.step(torques(name, first), 0.05)
        for piece in pieces:
            sim.step(torques(name, second), float(piece) * duration)
        ends.append(state(sim))
    assert ends[1] == pytest.approx(ends[0], rel=1e-11, abs=1e-12)


def test_straight_line_and_circle_have_known_solutions(twil):
    sim = IdealSimulator(twil)
    k = sim.parameters()
    for _ in range(100):
        sim.step((0.2, 0.2), 0.01)
    assert sim.time == pytest.approx(1.0)
    assert sim.velocity() == pytest.approx((0.4 * k.k7, 0.0), rel=1e-12)
    assert sim.pose() == pytest.approx((0.2 * k.k7, 0.0, 0.0), rel=1e-12)
    # A steady circle needs the torques that cancel K5 omega^2 and K6 v omega.
    sim.reset()
    sim._v, sim._omega = 0.5, 1.0
    total, difference = -k.k5 / k.k7, -k.k6 * 0.5 / k.k8
    for _ in range(100):
        sim.step(((total + difference) / 2, (total - difference) / 2), 0.01)
    circle = (0.5 * math.sin(1.0), 0.5 * (1.0 - math.cos(1.0)), 1.0)
    assert sim.velocity() == pytest.approx((0.5, 1.0), rel=1e-12)
    assert sim.pose() == pytest.approx(circle, rel=1e-12)


def test_payload_acts_as_a_heavier_body(robot):
    """Accelerations from rest, with equivalent mass and inertia by hand (parallel axes)."""
    sim = IdealSimulator(robot)
    bare = sim.parameters()
    sim.step((1.0, -0.5), 0.02)
    before = state(sim)
    sim.set_payload(3.0, 0.15, 0.1, 0.02)
    assert np.array_equal(state(sim), before)
    model = model_of(urdf(robot))
    mass = model.equivalent_mass + 3.0
    inertia = model.equivalent_inertia + 0.02 + 3.0 * 0.15**2
    sim.reset()
    sim.step((0.3, 0.3), 0.01)
    assert sim.velocity()[0] == pytest.approx(0.01 * 0.6 / (model.wheel_radius * mass), rel=1e-12)
    sim.reset()
    sim.step((-0.3, 0.3), 1e-4)
    spin = 1e-4 * 0.6 * model.half_track / (model.wheel_radius * inertia)
    assert sim.velocity()[1] == pytest.approx(spin, rel=1e-6)
    sim.set_payload(0.0, 0.0, 0.0, 0.0)
    assert sim.parameters() == bare


@pytest.mark.parametrize(
    ("torque", "duration", "words"),
    [
        ((math.nan, 0.0), 0.01, "left wheel torque"),
        ((0.0, math.inf), 0.01, "right wheel torque"),
        ((0.0, 0.0), 0.0, "step duration"),
        ((0.0, 0.0), math.nan, "step duration"),
        ((0.0, 0.0), 2.0, "several steps"),
    ],
)
def test_bad_steps_are_refused_and_change_nothing(twil, torque, duration, words):
    sim = IdealSimulator(twil)
    sim.step((0.3, 0.1), 0.05)
    before = state(sim)
    with pytest.raises(ValueError, match=words):
        sim.step(torque, duration)
    assert np.array_equal(state(sim), before)


@pytest.mark.parametrize(
    "payload", [(-1, 0, 0, 0), (1, math.nan, 0, 0), (1, 0, 0, -1), (0, 0, 0, 1)]
)
def test_bad_payloads_are_refused(twil, payload):
    sim = IdealSimulator(twil)
    parameters = sim.parameters()
    with pytest.raises(ValueError, match="payload"):
        sim.set_payload(*payload)
    assert sim.parameters() == parameters


def test_absurd_torque_ends_in_a_clear_error(twil):
    sim = IdealSimulator(twil)
    with pytest.raises(FloatingPointError, match="torque"):
        for _ in range(100):
            sim.step((1e9, -1e8), 0.05)
