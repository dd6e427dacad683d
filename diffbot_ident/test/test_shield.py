"""Shield: predictions against scipy, and never outside nor too fast for priors that are wrong."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from diffbot_description import load_robot
from diffbot_ident.arena import Arena, reach
from diffbot_ident.body_model import BodyModel, BodyPrior, brake_torque
from diffbot_ident.excitations import make_excitation, nominal_prior
from diffbot_ident.motion import Motion

TWIL, AGV = load_robot("twil"), load_robot("agv")
PRIORS = {robot.name: nominal_prior(robot) for robot in (TWIL, AGV)}
PERIOD = 0.01


def drive(robot, kind, seed, errors, seconds, delay=0, start=(0.0, 0.0, 0.0)):
    """Largest |x|, |y| of the midpoint and |v|, |omega| of a robot driven by an excitation.

    The robot is the closed form in steps of 2.5 ms, without friction, as nothing then helps to
    stop; the excitation's prior is off by `errors`. Its state is exact, its torques are late.
    """
    truth = np.array(PRIORS[robot.name].values)
    prior = replace(PRIORS[robot.name], values=tuple(truth * (1.0 + np.array(errors))))
    excitation = make_excitation(kind, robot, seed, arena=Arena(3.0, 3.0), prior=prior)
    radius, half = robot.wheels.radius, robot.wheels.half_track
    k5, k6, k7, k8 = truth
    x, y, theta = start
    v = omega = 0.0
    torques, farthest = [(0.0, 0.0)] * delay, np.zeros(4)
    for _ in range(round(seconds / PERIOD)):
        speeds = ((v - half * omega) / radius, (v + half * omega) / radius)
        torques.append(excitation.torque(Motion((x, y, theta), (v, omega), speeds)))
        left, right = torques.pop(0)
        assert max(abs(left), abs(right)) <= robot.excitation.amplitude * (1 + 1e-12)
        for _ in range(4):
            h = PERIOD / 4
            x, y = x + h * v * math.cos(theta), y + h * v * math.sin(theta)
            theta += h * omega
            v, omega = (
                v + h * (k5 * omega * omega + k7 * (left + right)),
                omega + h * (k6 * v * omega + k8 * (left - right)),
            )
        farthest = np.maximum(farthest, np.abs([x, y, v, omega]))
    return farthest, excitation


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([TWIL, AGV]),
    st.sampled_from(["prbs", "multisine", "optimised"]),
    st.integers(0, 10_000),
    st.tuples(*[st.floats(-0.3, 0.3)] * 4),
    st.integers(0, 3),
)
def test_never_outside_nor_too_fast(robot, kind, seed, errors, delay):
    farthest, _ = drive(robot, kind, seed, errors, 5.0, delay)
    wall = 1.5 - reach(robot)
    limits = robot.excitation
    assert (farthest <= [wall, wall, limits.linear_velocity, limits.angular_velocity]).all()


@pytest.mark.parametrize("kind", ["prbs", "optimised"])
def test_information_keeps_flowing_from_a_corner(kind):
    """Beginning at a corner of the room, the robot comes away and learns nearly as fast."""
    room = 0.5 * 3.0 - reach(TWIL) - 0.1
    _, cornered = drive(TWIL, kind, 5, (0.0,) * 4, 8.0, start=(room, room, math.pi / 4))
    _, free = drive(TWIL, kind, 5, (0.0,) * 4, 8.0)
    assert cornered.information > 0.75 * free.information


@settings(max_examples=20, deadline=None)
@given(
    st.tuples(st.floats(-0.4, 0.4), st.floats(-0.4, 0.4)),
    st.floats(-0.8, 0.8),
    st.floats(-4.0, 4.0),
)
def test_prediction_is_near_the_exact_motion(torque, v, omega):
    prior = PRIORS["twil"]
    k5, k6, k7, k8 = prior.values
    model = BodyModel(0.075, 0.136, np.array(prior.values)[:, None])
    paths = model.held(np.zeros((3, 1)), np.array([[v], [omega]]), np.array(torque)[:, None], 0.2)

    def derivative(_, state):
        return [
            state[3] * math.cos(state[2]),
            state[3] * math.sin(state[2]),
            state[4],
            k5 * state[4] ** 2 + k7 * (torque[0] + torque[1]),
            k6 * state[3] * state[4] + k8 * (torque[0] - torque[1]),
        ]

    exact = solve_ivp(derivative, (0, 0.2), [0, 0, 0, v, omega], rtol=1e-9, atol=1e-9).y[:, -1]
    assert paths.pose[:2, -1, 0] == pytest.approx(exact[:2], abs=0.015)
    assert paths.velocity[:, -1, 0] == pytest.approx(exact[3:], abs=0.3)


@given(st.floats(-0.9, 0.9), st.floats(-4.5, 4.5))
def test_braking_ends_at_rest_and_gives_no_energy(v, omega):
    prior = PRIORS["twil"]
    k5, k6, *_ = prior.values
    model = BodyModel(0.075, 0.136, np.array(prior.values)[:, None])
    paths = model.braked(np.zeros((3, 1)), np.array([[v], [omega]]), 0.28)
    # M v^2 + I omega^2 up to a factor, as K5 / -K6 = I / M.
    energy = paths.velocity[0] ** 2 + paths.velocity[1] ** 2 * k5 / -k6
    assert energy[-1] < 1e-3 and energy.max() <= energy[0] * 1.1 + 1e-6


@given(st.tuples(st.floats(-20, 20), st.floats(-20, 20)))
def test_brake_opposes_each_wheel(speeds):
    for torque, speed in zip(brake_torque(speeds, 0.4, 2.0), speeds, strict=True):
        assert torque * speed <= 0.0 and abs(torque) <= 0.4


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"values": (0.1, -3.0, -2.0, -16.0)}, "K7"),
        ({"values": (0.1, -3.0, 2.0, float("nan"))}, "finite"),
        ({"spread": (0.3, 0.3, 0.3, 1.0)}, "spread"),
        ({"coulomb": (-1.0, 0.0)}, "coulomb"),
    ],
)
def test_bad_priors_are_named(change, field):
    with pytest.raises(ValueError, match=field):
        replace(BodyPrior((0.08, -3.8, 2.6, -16.0)), **change)
