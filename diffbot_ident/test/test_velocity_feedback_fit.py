# SPDX-License-Identifier: Apache-2.0
"""On-line fit of sigma where a controller feeds noisy velocities back, with a given dead time.

The plant is the exact solution of (3) for commands held over a period, with a dead time of whole
periods, and does not use the simulator.
"""

import math

import numpy as np
import pytest

from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.causal_rows import CausalRows
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings

GUESS = Sigma(1.0, 1.0, 1.0, 1.0)
TRUE = Sigma(0.45, 0.6, 0.9, 1.2)
PERIOD = 0.02
NOISE = np.array([0.01, 0.02])


def driven(seed, late, duration=60.0, true=TRUE, period=PERIOD, gain=5.0, means=False):
    """Commands and measured velocities of a robot whose controller feeds them back, (n, 2) each."""
    generator = np.random.default_rng(seed)
    n = round(duration / period)
    time = period * np.arange(n)
    wanted = np.column_stack((0.25 * np.sin(0.5 * time), 0.8 * np.sin(0.9 * time + 1.0)))
    inertia, drag = np.array([true.s1, true.s2]), np.array([true.s3, true.s4])
    kept = np.exp(-drag / inertia * period)
    commands, measured = np.zeros((n, 2)), np.zeros((n, 2))
    velocity = np.zeros(2)
    for k in range(n):
        before = velocity
        if k:
            acting = commands[k - 1 - late] if k > late else np.zeros(2)
            velocity = kept * before + (1.0 - kept) / drag * acting
        read = velocity
        if means and k:
            # The mean over the period before, by (3): v' = (command / drag - v) / tau.
            read = acting / drag - inertia / drag * (velocity - before) / period
        measured[k] = read + generator.standard_normal(2) * NOISE
        commands[k] = drag * wanted[k] + gain * (wanted[k] - measured[k])
    return commands, measured


def fitted(commands, measured, dead_time, period=PERIOD):
    fit = RecursiveFit(GUESS, settings=RecursiveSettings(dead_time=dead_time))
    for k in range(len(commands)):
        fit.update(k * period, measured[k], commands[k - 1] if k else (0.0, 0.0))
    return fit


def test_noise_that_is_fed_back_shifts_no_dead_time():
    late = 7  # periods
    # 6 runs, 2 axes. Rows less their means were 4 to 8 deviations off, always to the same side.
    errors = []
    for seed in range(6):
        fit = fitted(*driven(seed, late), None)
        spread = np.sqrt(fit.dead_time_variances)
        errors.append((np.array(fit.dead_time) - late * PERIOD) / spread)
    assert np.abs(np.mean(errors, axis=0)).max() < 1.0
    assert np.mean(np.abs(errors) < 1.96) >= 0.85


@pytest.mark.parametrize(("late", "gain"), [(0, 5.0), (15, 1.0)])
def test_intervals_hold_with_a_given_dead_time_and_it_is_kept(late, gain):
    kept = []
    for seed in range(5):
        fit = fitted(*driven(100 + seed, late, gain=gain), (late * PERIOD,) * 2)
        assert fit.dead_time == (late * PERIOD,) * 2
        deviations = np.sqrt(fit.covariance.diagonal())
        kept.append(np.abs(fit.values - TRUE.as_array()) <= 1.96 * deviations)
        assert (deviations < 0.01 * TRUE.as_array()).all()
    # 5 runs, 4 parameters, of which 95 % hold: fewer than 17 in 1 of 60 cases.
    assert np.sum(kept) >= 17


def test_a_given_dead_time_of_means_makes_no_inertia_wrong():
    # A mean over a period that is read as a velocity of the instant makes sigma1 1.6 % too large.
    quick = Sigma(0.2, 0.3, 1.0, 1.0)
    commands, measured = driven(3, 2, 40.0, quick, 0.05, 0.5, means=True)
    fit = fitted(commands, measured, (0.125, 0.125), 0.05)
    deviations = np.sqrt(fit.covariance.diagonal())
    assert (np.abs(fit.values - quick.as_array()) < 3.0 * deviations).all()
    assert (deviations < 0.01).all()


def test_reversals_of_a_quick_robot_are_no_spikes():
    # A time constant of two and a half periods: it reverses from one sample to the next.
    quick = Sigma(0.25, 0.25, 1.0, 1.0)
    generator = np.random.default_rng(5)
    n, period = 600, 0.1
    commands = generator.choice([-1.0, 1.0], (n, 2)) * np.array([0.6, 2.0])
    kept = math.exp(-period / 0.25)
    measured = np.zeros((n, 2))
    for k in range(1, n):
        measured[k] = kept * measured[k - 1] + (1.0 - kept) * commands[k - 1]
    measured += generator.standard_normal((n, 2)) * (0.002, 0.004)
    fit = RecursiveFit(GUESS)
    for k in range(n):
        fit.update(k * period, measured[k], commands[k - 1] if k else (0.0, 0.0))
    # With the peaks cut off, sigma was 20 % and more wrong.
    assert fit.values == pytest.approx(quick.as_array(), rel=0.01)


def test_rows_go_on_from_block_to_block_and_forget_the_initial_velocity():
    generator = np.random.default_rng(1)
    times = np.cumsum(generator.uniform(0.01, 0.03, 200))
    columns = np.cumsum(generator.standard_normal((3, 200)), axis=1)
    whole = CausalRows().take(times, columns, 2.0)
    parts = CausalRows()
    first = parts.take(times[:80], columns[:, :80], 2.0)
    rest = parts.take(times[79:], columns[:, 79:] + 5.0, 2.0)
    # Only the projection of the initial velocity differs, and decays.
    assert rest[:, -1] == pytest.approx(whole[:, -1], abs=0.05)
    assert first.shape == (3, 80) and rest.shape == (3, 120)
    # What decays like an initial velocity is no row, and rows are causal.
    half = 0.5 * 2.0 * np.diff(times)
    decay = np.cumprod([1.0, *((1.0 - half) / (1.0 + half))])
    assert np.abs(whole @ decay).max() < 1e-9 * np.abs(whole).max()
    changed = columns[:, 79:].copy()
    changed[:, -1] += 100.0
    later = CausalRows()
    later.take(times[:80], columns[:, :80], 2.0)
    assert later.take(times[79:], changed, 2.0)[:, :-1] == pytest.approx(rest[:, :-1], abs=1e-9)


@pytest.mark.parametrize("size", [1e14, 1e30, 1e200])
def test_commands_of_any_size_are_taken(size):
    # As of a loop that diverges; sizes beyond integers were no index of a bin.
    generator = np.random.default_rng(2)
    commands, measured = size * generator.standard_normal((2, 400, 2))
    fit = RecursiveFit(GUESS)
    try:
        for k in range(400):
            fit.update(k * PERIOD, measured[k], commands[k - 1] if k else (0.0, 0.0))
    except ValueError as error:
        assert "must be finite and of usual size" in str(error)
    assert fit.trusted == GUESS


def test_numbers_that_overflow_do_not_stay_in_the_rows():
    rows = CausalRows()
    times = 0.1 * np.arange(10)
    rows.take(times, np.full((1, 10), 1e308) * np.array([1.0, -1.0] * 5), 1.0)
    result = rows.take(times + 0.9, np.arange(10.0)[None, :], 1.0)
    assert np.isfinite(result).all() and result.shape == (1, 10)
