# SPDX-License-Identifier: Apache-2.0
"""On-line fit of sigma: against the truth of simulated motion, its own intervals, and gates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings

TRUE = Sigma(3.446, 4.576, 0.86, 0.254)
GUESS = Sigma(0.52, 0.23, 0.49, 0.62)
PERIOD = 0.02


def motion(duration, true=TRUE, seed=0, noise=(0.0, 0.0), late=0, piece=50):
    """Commands and velocities by the exact solution of (3), independent of the simulator."""
    generator = np.random.default_rng(seed)
    n = round(duration / PERIOD)
    asked = np.repeat(generator.uniform(-1.0, 1.0, (n // piece + 1, 2)), piece, axis=0)[:n]
    acting = np.vstack((np.zeros((late, 2)), asked))[:n]
    velocity = np.empty((n, 2))
    for axis in range(2):
        inertia, drag = true.axis(axis)
        kept = math.exp(-drag / inertia * PERIOD)
        velocity[:, axis] = lfilter([0.0, (1.0 - kept) / drag], [1.0, -kept], acting[:, axis])
    return asked, velocity + generator.standard_normal((n, 2)) * noise


def feed(fit, asked, velocity, since=0.0):
    for k in range(len(asked)):
        fit.update(since + k * PERIOD, velocity[k], asked[k - 1] if k else (0.0, 0.0))
    return fit


@pytest.mark.parametrize("late", [0, 5])
def test_exact_motion_gives_the_exact_sigma_whatever_the_start(late):
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=(late * PERIOD,) * 2))
    feed(fit, *motion(20.0, late=late))
    assert fit.values == pytest.approx(TRUE.as_array(), rel=1e-4)
    assert fit.trusted.as_array() == pytest.approx(TRUE.as_array(), rel=1e-4)
    assert fit.reasons() == (None, None)


def test_a_robot_faster_than_its_samples_is_fitted_exactly():
    # A time constant of three periods: trapezoids without their correction are 1 % off.
    quick = Sigma(0.06, 0.05, 1.0, 0.8)
    fit = feed(RecursiveFit(GUESS), *motion(20.0, quick, piece=7))
    assert fit.values == pytest.approx(quick.as_array(), rel=1e-3)


def test_intervals_hold_over_runs():
    # 15 runs, 4 parameters: of right 95 % intervals less than 54 hold in 1 of 30 cases.
    kept = []
    for seed in range(15):
        fit = feed(RecursiveFit(GUESS), *motion(20.0, seed=seed, noise=(0.01, 0.02)))
        deviations = np.sqrt(fit.covariance.diagonal())
        kept.append(np.abs(fit.values - TRUE.as_array()) <= 1.96 * deviations)
        # Narrow enough to tell something: the yaw drag is the least known.
        assert np.all(deviations < (0.04, 0.1, 0.02, 0.1))
    assert np.mean(kept) >= 0.9


@pytest.mark.parametrize("late", [0, 7, 15])
def test_a_dead_time_that_is_not_known_is_identified_with_sigma(late):
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=None))
    assert np.isinf(fit.covariance.diagonal()).all() and fit.trusted == GUESS
    assert "dead time not known" in fit.reasons()[0]
    feed(fit, *motion(40.0, late=late, noise=(0.005, 0.01)))
    spread = np.sqrt(fit.dead_time_variances)
    assert (np.abs(np.array(fit.dead_time) - late * PERIOD) < 3.5 * spread).all()
    assert (spread < 0.01).all()
    deviations = np.sqrt(fit.covariance.diagonal())
    assert (np.abs(fit.values - TRUE.as_array()) < 3.5 * deviations).all()
    assert fit.trusted.as_array() == pytest.approx(TRUE.as_array(), rel=0.05)


def test_a_given_dead_time_that_is_wrong_is_replaced():
    quick = Sigma(0.3, 0.15, 1.0, 1.0)
    asked, velocity = motion(40.0, quick, late=8, noise=(0.005, 0.01), piece=20)
    fit = feed(RecursiveFit(GUESS), asked, velocity)
    assert fit.dead_time == pytest.approx((0.16, 0.16), abs=0.003)
    assert (fit.dead_time_variances > 0.0).all()
    # With 0 s, as given, sigma2 is 0.3 and more.
    assert fit.values == pytest.approx(quick.as_array(), rel=0.03)
    deviations = np.sqrt(fit.covariance.diagonal())
    assert (np.abs(fit.values - quick.as_array()) < 3.5 * deviations).all()


def test_a_dead_time_beyond_the_search_is_told_and_nothing_is_trusted():
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=None))
    feed(fit, *motion(40.0, Sigma(0.3, 0.15, 1.0, 1.0), late=32, piece=47))
    assert np.isinf(fit.covariance.diagonal()).all() and fit.trusted == GUESS
    assert all("dead time" in axis.dead_time_reason for axis in fit.axes)


def test_velocities_that_are_means_over_a_period_are_recognised():
    quick = Sigma(0.15, 0.12, 1.0, 1.0)
    asked, velocity = motion(40.0, quick, piece=15)
    # The exact mean over the period before, by (3): v' = (command - v) / tau.
    tau = np.array([0.15, 0.12])
    means = asked[:-1] - tau * np.diff(velocity, axis=0) / PERIOD
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=None))
    feed(fit, asked, np.vstack((np.zeros(2), means)))
    assert fit.values == pytest.approx(quick.as_array(), rel=0.005)
    assert fit.dead_time == pytest.approx((0.5 * PERIOD, 0.5 * PERIOD), abs=1e-3)


def test_an_axis_that_is_too_fast_for_its_samples_is_refused():
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=None))
    feed(fit, *motion(40.0, Sigma(0.03, 0.5, 1.0, 1.0), piece=15))
    assert np.isinf(fit.covariance[0, 0]) and np.isfinite(fit.covariance[1, 1])
    assert "too slow for the time constant" in fit.reasons()[0]


def test_a_standing_robot_changes_nothing():
    generator = np.random.default_rng(3)
    fit = feed(RecursiveFit(GUESS), *motion(20.0, noise=(0.005, 0.01)))
    before, covariance = fit.values, fit.covariance
    n = round(60.0 / PERIOD)
    still = generator.standard_normal((n, 2)) * (0.005, 0.01)
    # The robot rolled out before; a jump of time begins anew.
    feed(fit, np.zeros((n, 2)), still, since=100.0)
    assert fit.values == pytest.approx(before, rel=1e-12)
    assert np.sqrt(fit.covariance.diagonal()) == pytest.approx(
        np.sqrt(covariance.diagonal()), rel=0.3
    )  # only what is known of the noise may change


def test_a_straight_line_at_constant_speed_spoils_nothing():
    generator = np.random.default_rng(4)
    fit = feed(RecursiveFit(GUESS), *motion(20.0, noise=(0.005, 0.01)))
    n = round(100.0 / PERIOD)
    velocity = np.tile((0.5, 0.0), (n, 1)) + generator.standard_normal((n, 2)) * (0.005, 0.01)
    feed(fit, np.tile((0.5 * TRUE.s3, 0.0), (n, 1)), velocity, since=100.0)
    assert fit.values[[0, 2]] == pytest.approx(TRUE.as_array()[[0, 2]], rel=0.02)
    assert fit.values[[1, 3]] == pytest.approx(TRUE.as_array()[[1, 3]], rel=0.05)


def test_what_a_motion_does_not_show_is_not_trusted():
    asked, velocity = motion(20.0)
    asked[:, 1] = velocity[:, 1] = 0.0
    fit = feed(RecursiveFit(GUESS), asked, velocity)
    assert fit.trusted.axis(0) == pytest.approx(TRUE.axis(0), rel=1e-3)
    assert fit.trusted.axis(1) == GUESS.axis(1)
    assert fit.reasons()[0] is None and "omega" in fit.reasons()[1]


def test_a_sensor_with_the_wrong_sign_never_reaches_the_controller():
    asked, velocity = motion(20.0)
    fit = feed(RecursiveFit(GUESS), asked, -velocity)
    assert fit.trusted == GUESS
    assert "must be finite and > 0" in fit.reasons()[0]


def test_a_load_is_noticed_and_followed():
    heavy = Sigma(1.5 * TRUE.s1, 1.5 * TRUE.s2, TRUE.s3, TRUE.s4)
    fit = feed(RecursiveFit(GUESS), *motion(40.0, noise=(0.005, 0.01)))
    feed(fit, *motion(20.0, heavy, seed=1, noise=(0.005, 0.01)), since=41.0)
    assert fit.values[:2] == pytest.approx(heavy.as_array()[:2], rel=0.05)
    assert min(fit.surprises) >= 1


@pytest.mark.parametrize("size", [5.0, 1e3, 1e6])
def test_readings_that_are_none_spoil_nothing(size):
    asked, velocity = motion(40.0, noise=(0.005, 0.01))
    clean = feed(RecursiveFit(GUESS), asked, velocity).values
    since = round(20.0 / PERIOD)
    # 53 and 200 samples, the block, have no common factor: all places of a block have their turn.
    velocity[since::53] += size * np.array([1.0, -1.0])
    fit = feed(RecursiveFit(GUESS), asked, velocity)
    assert fit.values == pytest.approx(clean, rel=0.01)
    assert fit.surprises == (0, 0)


def test_a_wheel_that_is_held_for_a_moment_is_no_load():
    asked, velocity = motion(40.0, noise=(0.005, 0.01))
    clean = feed(RecursiveFit(GUESS), asked, velocity)
    # Within one block: the first is a sixteenth, and they end after 0.25, 0.75, 1.75, 3.75, 7.75 s.
    velocity[round(24.5 / PERIOD) : round(25.5 / PERIOD)] = 0.0
    fit = feed(RecursiveFit(GUESS), asked, velocity)
    assert fit.surprises == (0, 0)
    assert fit.values == pytest.approx(clean.values, rel=0.02)


def test_a_batch_fit_starts_the_on_line_one_with_its_interval():
    start = Sigma(*1.01 * TRUE.as_array())
    # As a batch fit's, with a correlation of inertia and drag of each axis.
    deviations = 0.02 * TRUE.as_array()
    covariance = (np.eye(4) + 0.3 * np.roll(np.eye(4), 2, axis=0)) * np.outer(
        deviations, deviations
    )
    fit = RecursiveFit(start, covariance, RecursiveSettings(memory=math.inf))
    assert fit.values == pytest.approx(start.as_array())
    assert fit.covariance == pytest.approx(covariance, rel=1e-9)
    feed(fit, *motion(20.0, seed=5, noise=(0.005, 0.01)))
    assert np.all(fit.covariance.diagonal() < covariance.diagonal())
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.03)


@given(st.integers(0, 2**32 - 1), st.floats(-6.0, 6.0), st.floats(-6.0, 6.0))
def test_any_samples_leave_a_sigma_that_can_be_driven_with(seed, velocity_size, command_size):
    generator = np.random.default_rng(seed)
    velocity = generator.standard_normal((250, 2)) * 10.0**velocity_size
    command = generator.standard_normal((250, 2)) * 10.0**command_size
    fit = feed(RecursiveFit(GUESS), command, velocity)
    assert np.isfinite(fit.values).all()
    covariance = fit.covariance
    for axis in (covariance[::2, ::2], covariance[1::2, 1::2]):
        # Infinite where the axis is too fast for its samples.
        assert np.isinf(axis).any() or np.linalg.eigvalsh(axis).min() >= -1e-9 * axis.max()
    assert fit.trusted.s1 > 0.0 and fit.trusted.s2 > 0.0


def test_bad_samples_and_settings_are_refused():
    fit = RecursiveFit(GUESS)
    with pytest.raises(ValueError, match="not finite"):
        fit.update(0.0, (math.nan, 0.0), (0.0, 0.0))
    with pytest.raises(ValueError, match="memory = 0"):
        RecursiveSettings(memory=0.0)
    with pytest.raises(ValueError, match="s1 = 0.0 s: must be finite and > 0"):
        Sigma(0.0, 1.0, 1.0, 1.0)
