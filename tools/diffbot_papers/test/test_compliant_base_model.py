# SPDX-License-Identifier: Apache-2.0
"""Base, arm and regression against independent derivations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from diffbot_papers.compliant_base import model as channel
from diffbot_papers.compliant_base.estimation import draw_prior
from diffbot_papers.compliant_base.model import (
    GRAVITY,
    TABLE_1,
    Arm,
    BaseParameters,
    row_covariance,
    rows,
)
from diffbot_papers.compliant_base.planning import Foresight, plausible
from diffbot_papers.compliant_base.simulation import (
    CONSTANT,
    ArmLimits,
    ArmMotion,
    CompliantBase,
    Sinusoid,
    changed,
)

REST = float(CONSTANT.offset)
BASE = BaseParameters.from_array(TABLE_1)
LIVELY = Sinusoid(REST, 0.3, 12.0)


def simulate(motion, seconds, period, base=BASE):
    times = period * np.arange(1, round(seconds / period) + 1)
    arm = changed(Sinusoid(REST, 0.0, 0.0), motion, times, 0.2)
    return arm, CompliantBase(base, Arm(), REST, period).follow(arm)


@given(st.integers(0, 10_000))
def test_rows_are_equation_4_written_with_vectors(seed):
    rng = np.random.default_rng(seed)
    x, values = rng.standard_normal(22), rng.standard_normal((8, 3))
    base = BaseParameters.from_array(x)
    force, _, r, v, a, theta, omega, alpha = values
    fall = Rotation.from_rotvec(theta).as_matrix().T @ GRAVITY - GRAVITY
    forces = base.mass * (fall - a) - base.damping[:3] * v - base.stiffness[:3] * r
    moments = -base.inertia @ alpha - np.cross(omega, base.inertia @ omega)
    moments -= np.cross(base.arm_base, force)
    moments -= base.damping[3:] * omega + base.stiffness[3:] * theta
    regressors, outputs = rows(values)
    assert regressors @ x == pytest.approx(np.concatenate((forces, moments)), abs=1e-12)
    assert outputs == pytest.approx(values[:2].ravel())
    assert base.as_array() == pytest.approx(x)


def test_covariance_of_rows_is_that_of_many_draws():
    rng = np.random.default_rng(1)
    deviation = 1e-3 * rng.uniform(0.5, 1.5, (8, 3))
    noise = deviation * rng.standard_normal((40_000, 8, 3))
    a, f = rows(noise)
    drawn, expected = np.cov((a @ TABLE_1 - f).T), row_covariance(deviation, TABLE_1)
    size = np.sqrt(np.diag(expected))
    # 40,000 draws give correlations within 0.02 (4 standard errors) and variances within 3 %.
    assert drawn / np.outer(size, size) == pytest.approx(expected / np.outer(size, size), abs=0.03)


def test_momentum_changes_by_weight_and_suspension():
    """Positions of both bodies, differenced twice, know nothing of the model's mass matrix."""
    h = 0.0005
    arm, values = simulate(LIVELY, 0.6, h)
    r, v, theta = (values[:, :, i] for i in (channel.POSITION, channel.VELOCITY, channel.ANGLE))
    turned = Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix().reshape(*theta.shape, 3)
    reach = BASE.arm_base + Arm().centre(arm.angle)
    first = (turned @ r[..., None])[..., 0]
    second = first + (turned @ reach[..., None])[..., 0]
    change = np.diff(BASE.mass * first + Arm().mass * second, n=2, axis=1) / h**2
    springs = BASE.damping[:3] * v + BASE.stiffness[:3] * r
    outer = -(turned @ springs[..., None])[..., 0]
    # At rest the springs carry both weights along the axes of the base as it stood then.
    outer += (BASE.mass + Arm().mass) * (GRAVITY - (turned @ GRAVITY))
    late = slice(400, -1)
    error = np.abs(change - outer[:, 1:-1])[:, late].max()
    assert error < 0.005 * np.abs(outer).max()


def test_held_arm_is_in_static_balance():
    angle = 0.2
    times = 0.005 * np.arange(1, 1201)
    arm = changed(Sinusoid(REST, 0.0, 0.0), Sinusoid(angle, 0.0, 0.0), times, 0.2)
    last = CompliantBase(BASE, Arm(), REST, 0.005).follow(arm)[:, -1]
    moved = Arm().centre(np.array(angle)) - Arm().centre(np.array(REST))
    expected = np.cross(moved, Arm().mass * GRAVITY)
    # Tilts of 1 mrad change the lever arms by as much.
    assert BASE.stiffness[3:] * last[:, channel.ANGLE] == pytest.approx(expected, abs=0.03)
    assert last[:, channel.ANGULAR_ACCELERATION] == pytest.approx(0.0, abs=1e-6)


def test_step_converges():
    """Half the step, a quarter of the error (trapezoidal rule)."""
    ends = [simulate(LIVELY, 0.4, period)[1][:, -1, 2:4] for period in (0.01, 0.005, 0.000625)]
    coarse, half = (np.abs(end - ends[2]).max() for end in ends[:2])
    assert half < 0.4 * coarse


def test_foresight_agrees_with_the_simulation():
    """Linear, about one posture: a few percent of each channel's largest value."""
    times = 0.005 * np.arange(1, 81)
    arm, before = simulate(LIVELY, 0.4, 0.005)
    world = CompliantBase(BASE, Arm(), REST, 0.005)
    world.follow(arm)
    go_on = LIVELY.later(0.4)
    true = world.follow(go_on.motion(times))
    state = before[:, -1, [2, 5, 3, 6]].reshape(3, 12)
    foresight = Foresight(TABLE_1, Arm(), REST, float(arm.angle[-1]), state, 0.005)
    motion = go_on.motion(np.concatenate(([0.0], times)))
    foreseen = foresight.sense(ArmMotion(*(each[None] for each in motion)))[:, :, 0]
    size = np.sqrt((true**2).mean(axis=(0, 1)))
    error = np.sqrt(((foreseen - true) ** 2).mean(axis=(0, 1)))
    print(error / size)
    assert (error < 0.15 * size).all()


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_every_choice_keeps_the_limits(unit):
    limits = ArmLimits()
    sinusoid = Sinusoid(*limits.sinusoid(np.array(unit)))
    motion = sinusoid.motion(np.linspace(0.0, 4.0, 400))
    assert limits.excess(motion) <= 1e-9


def test_change_of_motion_has_the_derivatives_it_says():
    times = np.linspace(0.0, 0.4, 4001)
    motion = changed(CONSTANT, LIVELY, times, 0.2)
    slope = np.gradient(motion.angle, times)[1:-1]
    assert slope == pytest.approx(motion.speed[1:-1], abs=1e-3)
    slope = np.gradient(motion.speed, times)[1:-1]
    assert slope == pytest.approx(motion.acceleration[1:-1], abs=0.1)
    assert motion.angle[0] == CONSTANT.motion(times[:1]).angle[0]
    assert motion.angle[-1] == pytest.approx(LIVELY.motion(times[-1:]).angle[0])


@given(st.integers(0, 10_000))
def test_foresight_never_gets_an_impossible_body(seed):
    rng = np.random.default_rng(seed)
    guess = draw_prior(TABLE_1, seed)
    estimate = guess.start + 3.0 * guess.deviation * rng.standard_normal(22)
    BaseParameters.from_array(plausible(estimate, guess.start)).check_physical()


def test_bad_input_is_refused_by_name():
    with pytest.raises(ValueError, match="mass"):
        CompliantBase(replace(BASE, mass=0.0), Arm(), REST, 0.005)
    with pytest.raises(ValueError, match="damping x"):
        BaseParameters.from_array(np.where(np.arange(22) == 10, np.nan, TABLE_1))
    with pytest.raises(ValueError, match="across"):
        Arm(across=0.0)
