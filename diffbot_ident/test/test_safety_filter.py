# SPDX-License-Identifier: Apache-2.0
"""Safety filter: predictions against scipy; never outside nor too fast with wrong priors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from diffbot_description import load_robot
from diffbot_description.arena import Arena, extent, reach, silhouette
from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.excitation.body_model import BodyModel, BodyPrior, Motion, brake_torque
from diffbot_ident.excitation.excitations import make_excitation, nominal_prior
from diffbot_ident.excitation.safety_filter import LOOK_BACK

TWIL, AGV = load_robot("twil"), load_robot("agv")
PRIORS = {robot.name: nominal_prior(robot) for robot in (TWIL, AGV)}
PERIOD = 0.01


def step(truth, state, torque):
    """The closed form over one control period in steps of 2.5 ms.

    The state is x, y, theta, v, omega and the way, m.
    """
    k5, k6, k7, k8 = truth
    x, y, theta, v, omega, path = state
    left, right = torque
    for _ in range(4):
        h = PERIOD / 4
        x, y = x + h * v * math.cos(theta), y + h * v * math.sin(theta)
        theta, path = theta + h * omega, path + h * v
        v, omega = (
            v + h * (k5 * omega * omega + k7 * (left + right)),
            omega + h * (k6 * v * omega + k8 * (left - right)),
        )
    return x, y, theta, v, omega, path


def estimate(values, variances):
    """An estimate whose parameters are identifiable where their variance is finite."""
    known = np.isfinite(variances)
    states = tuple(EstimateState.ESTIMATED if k else EstimateState.UNESTIMATED for k in known)
    covariance = np.diag(np.where(known, variances, 1.0))
    return Estimate(parameter_states=states).with_values(np.array(values), covariance)


def drive(
    robot,
    kind,
    seed,
    errors,
    seconds,
    delay=0,
    start=(0.0, 0.0, 0.0),
    *,
    side=3.0,
    gap=0.0,
    truth=None,
    learned=False,
):
    """Largest |x|, |y| of the midpoint and |v|, |omega| of a robot driven by an excitation.

    The robot is the closed form without friction, as nothing then helps to stop; the excitation's
    prior is off by `errors`, unless it has learned the truth. Its state is exact, its torques are
    late. Every 3 s no samples come for `gap` seconds, with zero torque; what comes next has the
    mean speeds of the gap, as odometry has. Asserts that the body's outline keeps to the arena.
    """
    prior = PRIORS[robot.name]
    truth = np.array(prior.values if truth is None else truth)
    prior = replace(prior, values=tuple(np.array(prior.values) * (1.0 + np.array(errors))))
    excitation = make_excitation(kind, robot, seed, arena=Arena(side, side), prior=prior)
    if learned:
        excitation.learn(estimate(truth, [0.0] * 4))
    radius, half = robot.wheels.radius, robot.wheels.half_track
    corners = silhouette(robot)
    state, before = (*start, 0.0, 0.0, 0.0), None
    torques, farthest = [(0.0, 0.0)] * delay, np.zeros(4)
    for i in range(round(seconds / PERIOD)):
        if i * PERIOD >= 3.0 and i % round(3.0 / PERIOD) < round(gap / PERIOD):
            before = before or state
            torques.append((0.0, 0.0))
        else:
            v, omega = state[3:5]
            if before is not None:
                v, omega = (state[5] - before[5]) / gap, (state[2] - before[2]) / gap
                before = None
                excitation.interrupt()
            speeds = ((v - half * omega) / radius, (v + half * omega) / radius)
            torques.append(excitation.torque(Motion(state[:3], (v, omega), speeds)))
        torque = torques.pop(0)
        assert max(map(abs, torque)) <= robot.excitation.amplitude * (1 + 1e-12)
        state = step(truth, state, torque)
        assert max(extent(corners, state[:3])) <= 0.5 * side
        farthest = np.maximum(farthest, np.abs([*state[:2], *state[3:5]]))
    return farthest, excitation


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
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


@pytest.mark.parametrize("kind", ["prbs", "multisine", "optimised"])
@pytest.mark.parametrize(
    ("robot", "side", "gap", "learned"),
    [(TWIL, 3.0, 0.15, True), (AGV, 5.0, 0.15, True), (AGV, 5.0, 0.3, False)],
)
def test_lost_samples_do_not_let_it_out(robot, side, kind, gap, learned):
    """2 seeds, 10 s, an exact prior; with what was learned exact, there is less in reserve.

    A first gap of 0.3 s then is too long for what is in reserve: it may end millimetres outside.
    """
    limits = robot.excitation
    for seed in range(2):
        farthest, excitation = drive(
            robot, kind, seed, (0.0,) * 4, 10.0, side=side, gap=gap, learned=learned
        )
        assert (farthest[2:] <= [limits.linear_velocity, limits.angular_velocity]).all()
        # It goes on, rather than stand where it was stopped.
        assert excitation.information > 5.0


def test_after_lost_samples_it_brakes_then_decides_anew():
    excitation = make_excitation("prbs", TWIL, 1, arena=Arena(3, 3), prior=PRIORS["twil"])
    for _ in range(5):
        excitation.torque(Motion())
    decisions = excitation.decisions
    excitation.interrupt()
    rolling = Motion((0.0, 0.0, 0.0), (0.6, 0.0), (8.0, 8.0))
    for _ in range(LOOK_BACK + 1):
        assert max(excitation.torque(rolling)) < 0.0
        assert excitation.decisions == decisions
    excitation.torque(rolling)
    assert excitation.decisions == decisions + 1


def test_outside_its_room_it_comes_back():
    """As after a gap: 10 cm beyond the room, at rest, heading along the wall or at it."""
    room = 1.5 - reach(TWIL) - 0.1
    for heading in (0.0, 1.0, 2.5):
        start = (room + 0.09, 0.0, heading)
        _, excitation = drive(TWIL, "multisine", 0, (0.0,) * 4, 6.0, start=start)
        _, free = drive(TWIL, "multisine", 0, (0.0,) * 4, 6.0)
        assert excitation.information > 0.6 * free.information


@pytest.mark.parametrize("offset", [-0.02, 0.02])
@pytest.mark.parametrize("robot", [TWIL, AGV])
def test_a_description_without_offset_may_be_wrong(robot, offset):
    """K5 = K6 = 0 in the prior, 2 cm in truth, which K6 = K5 K8 / (b K7) follows."""
    _, _, k7, k8 = PRIORS[robot.name].values
    truth = (offset, offset * k8 / (robot.wheels.half_track * k7), k7, k8)
    errors = (-1.0, -1.0, 0.0, 0.0)
    limits = robot.excitation
    for kind in ("prbs", "optimised"):
        farthest, excitation = drive(robot, kind, 0, errors, 6.0, truth=truth)
        assert (farthest[2:] <= [limits.linear_velocity, limits.angular_velocity]).all()
        low, high = (f(excitation._filter._values, axis=1)[:2] for f in (np.min, np.max))
        assert (low <= truth[:2]).all() and (high >= truth[:2]).all()


def test_what_is_learned_of_no_offset_narrows_it():
    prior = replace(PRIORS["twil"], values=(0.0, 0.0, *PRIORS["twil"].values[2:]))
    excitation = make_excitation("prbs", TWIL, 0, arena=Arena(3, 3), prior=prior)
    excitation.learn(estimate((0.001, 0.0, *prior.values[2:]), (1e-6, math.inf, 1.0, 1.0)))
    k5, k6 = excitation._filter._values[:2]
    assert (k5.min(), k5.max()) == pytest.approx((-0.002, 0.004))
    assert k6.max() == -k6.min() > 0.5
    assert (k6[1:] * (k5[1:] - 0.001) < 0.0).all()  # no model gains energy by turning


@given(
    st.tuples(st.floats(-0.4, 0.4), st.floats(-0.4, 0.4)),
    st.floats(-0.8, 0.8),
    st.floats(-4.0, 4.0),
)
def test_prediction_is_near_the_exact_motion(torque, v, omega):
    prior = PRIORS["twil"]
    k5, k6, k7, k8 = prior.values
    model = BodyModel(0.075, 0.136, np.array(prior.values)[:, None])
    paths = model.constant_torque(
        np.zeros((3, 1)), np.array([[v], [omega]]), np.array(torque)[:, None], 0.2
    )

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
        ({"friction": (0.0, 0.0, -1.0, 0.0)}, "coulomb"),
    ],
)
def test_bad_priors_are_named(change, field):
    with pytest.raises(ValueError, match=field):
        replace(BodyPrior((0.08, -3.8, 2.6, -16.0)), **change)
