# SPDX-License-Identifier: Apache-2.0
"""Stamps are measurements: the clock of the readings is found, used and named."""

import pickle

import numpy as np
import pytest
from clocked_robot import errors, estimator, readings, rows

from diffbot_ident.estimate import EstimateState
from diffbot_ident.samples.sample_clock import FIRST, UPDATE, SampleClock

PERIODS = (0.005, 0.01, 0.02)


def uniform(most):
    """Lateness of readings every `period`, uniform up to this share of it."""
    return lambda random, period, n: (np.zeros(n), random.uniform(0.0, most * period, n))


def jitter(fraction):
    """True jitter with this share of the period as standard deviation, and no lateness."""
    return lambda random, period, n: (
        fraction * period * random.standard_normal(n).clip(-3.0, 3.0),
        np.zeros(n),
    )


def both(random, period, n):
    """Jitter and lateness with equal deviations, a tenth of the period."""
    (true, _), (_, late) = jitter(0.1)(random, period, n), uniform(0.346)(random, period, n)
    return true, late


def none(_random, _period, n):
    """Perfect stamps."""
    return np.zeros(n), np.zeros(n)


def recorded(kind, seed, seconds=15.0, counts=4096, rounding=0.0):
    """True times and samples of a robot whose stamps are of a kind."""
    random = np.random.default_rng([seed, 77])
    period = PERIODS[seed % 3]
    n = round(seconds / period)
    true, late = kind(random, period, n)
    times = period * np.arange(n) + true
    stamps = times + late
    if rounding:
        stamps = np.round(stamps / rounding) * rounding
    return times, rows(stamps, *readings(times, seed, counts))


def timed(samples, batch=50):
    clock = SampleClock()
    results = [clock.timed(samples[k : k + batch]) for k in range(0, len(samples), batch)]
    return clock, np.concatenate(results)[:, 0]


def unevenness(times, true, period):
    """Standard deviation of the errors of steps, over the period, once the clock is learnt."""
    return float(np.std(np.diff(times - true)[8 * UPDATE :])) / period


@pytest.mark.parametrize("seed", range(3))
def test_late_stamps_are_put_on_the_grid_of_the_readings(seed):
    """A lateness of up to 60 % of the period makes steps uneven by a quarter of it, as stamped."""
    true, samples = recorded(uniform(0.6), seed)
    clock, times = timed(samples)
    assert clock.period == pytest.approx(PERIODS[seed], rel=1e-3)
    assert clock.scatter.size == pytest.approx(0.6 * PERIODS[seed] / np.sqrt(12.0), rel=0.1)
    assert clock.scatter.fraction < 0.05 and clock.scatter.deviation < 0.02
    assert unevenness(samples[:, 0], true, PERIODS[seed]) > 0.2
    assert unevenness(times, true, PERIODS[seed]) < 0.02
    assert clock.scatter.left < 0.05 * clock.scatter.size


@pytest.mark.parametrize("seed", range(3))
def test_true_jitter_is_kept(seed):
    true, samples = recorded(jitter(0.1), seed)
    clock, times = timed(samples)
    assert clock.scatter.fraction > 0.95
    assert unevenness(times, true, PERIODS[seed]) < 0.01  # 0.14 on a grid


@pytest.mark.parametrize("seed", range(3))
def test_half_jitter_half_lateness_is_found_and_its_rest_counted(seed):
    """The best times still err by s (1 - s) of the scatter's variance: 0.1 / sqrt 2 periods."""
    true, samples = recorded(both, seed)
    clock, times = timed(samples)
    assert clock.scatter.fraction == pytest.approx(0.5, abs=0.1)
    assert clock.scatter.left / PERIODS[seed] == pytest.approx(0.0707, rel=0.1)
    left, stamped = (unevenness(each, true, PERIODS[seed]) for each in (times, samples[:, 0]))
    assert left == pytest.approx(0.1, rel=0.1) and stamped == pytest.approx(0.141, rel=0.1)


def test_a_standing_robot_does_not_tell_whether_stamps_are_late():
    samples = recorded(uniform(0.5), 1)[1]
    samples[:, 1:3] = 1.0
    clock, _ = timed(samples)
    assert clock.scatter.deviation > 0.99 and clock.scatter.left == pytest.approx(
        clock.scatter.size, rel=0.01
    )
    (warning,) = clock.warnings()
    assert "does not tell whether" in warning and "scatter by 1.4 ms" in warning


def test_times_do_not_depend_on_the_blocks_in_which_samples_come():
    samples = recorded(both, 1)[1]
    expected = timed(samples, len(samples))[1]
    for batch in (1, 7, FIRST, 90):
        np.testing.assert_allclose(timed(samples, batch)[1], expected, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("scatter", [0.0, 0.05])
def test_a_period_that_changes_is_followed(scatter):
    """By 5 % at once: times stay near, and steps are right to 1 % soon."""
    random = np.random.default_rng(3)
    steps = np.where(np.arange(3000) < 1500, 0.01, 0.0105)
    true = np.cumsum(steps)
    late = random.uniform(0.0, np.sqrt(12.0) * scatter * 0.01, 3000)
    _, times = timed(rows(true + late, *readings(true, 3)))
    assert np.abs(np.diff(times - true))[1500 + 8 * UPDATE :].max() < 1e-4
    assert np.ptp(times - true) < 0.001 + 10.0 * scatter * 0.01


def test_lost_readings_keep_their_place_in_the_grid():
    """One in fifty is lost, and stamps are late by up to 60 % of a period."""
    true, samples = recorded(uniform(0.6), 0)
    kept = np.random.default_rng(5).random(len(true)) > 0.02
    _, times = timed(samples[kept])
    steps = np.diff(times) - np.diff(true[kept])
    assert np.abs(steps[8 * UPDATE :]).max() < 0.05 * PERIODS[0]


def test_a_segment_takes_the_period_of_the_ones_before():
    true, samples = recorded(uniform(0.5), 1)
    clock = SampleClock()
    clock.timed(samples[:1000])
    clock.interrupt()
    times = clock.timed(samples[1050:])[:, 0]
    assert np.abs(np.diff(times - true[1050:])).max() < 2e-4  # 4e-3 as stamped


def test_short_segments_tell_as_well():
    """A gap after every 40 readings."""
    _, samples = recorded(uniform(0.5), 1)
    clock = SampleClock()
    for k in range(0, len(samples), 40):
        clock.interrupt()
        clock.timed(samples[k : k + 36])
    assert clock.scatter.fraction < 0.05 and clock.period == pytest.approx(0.01, rel=1e-3)


def test_the_memory_is_constant():
    clock = SampleClock()
    samples = recorded(both, 0)[1]
    sizes = []
    for turn in range(4):
        moved = samples + [turn * 15.0, *samples[-1, 1:3] * turn, 0.0, 0.0]
        clock.timed(moved[: len(moved) // UPDATE * UPDATE])
        sizes.append(len(pickle.dumps(clock)))
    assert max(sizes) - min(sizes) < 64 * 4 * 8


@pytest.mark.parametrize(
    ("kind", "rounding", "words"),
    [
        (none, 0.0, None),
        (uniform(0.003), 0.0, None),
        (uniform(0.3), 0.0, "stamps are late"),
        (uniform(0.1), 0.0, "stamps are late"),
        (jitter(0.1), 0.0, "jitters by"),
        (jitter(0.05), 0.001, "stamps are rounded to 1 ms"),
        (none, 0.001, None),
    ],
)
def test_what_is_notable_is_named_with_its_size_and_nothing_else(kind, rounding, words):
    for seed in range(6):
        result = timed(recorded(kind, seed, rounding=rounding)[1])[0].warnings()
        assert len(result) == (words is not None), (seed, result)
        assert words is None or words in result[0]


def test_intervals_hold_with_late_stamps():
    """As with true ones. As stamped, K5 and K6 were 2 % too small, 6 of their deviations."""
    result = np.array(
        [errors(estimator(recorded(uniform(0.3), seed)[1]).estimate()) for seed in range(9)]
    )
    assert np.abs(result).max() < 3.5
    assert (np.sqrt(np.mean(result**2, axis=0)) < 1.6).all(), result


def test_intervals_hold_with_jitter_and_lateness():
    result = np.array([errors(estimator(recorded(both, seed)[1]).estimate()) for seed in range(6)])
    assert np.abs(result).max() < 3.5
    assert (np.sqrt(np.mean(result**2, axis=0)) < 1.6).all(), result


@pytest.mark.parametrize(("step", "lateness"), [(0.01, 0.03), (0.06, 0.06)])
def test_intervals_hold_where_the_period_wanders_and_stamps_are_late(step, lateness):
    """Without a widening K7 was off by up to 4 of its deviations.

    Args:
        step: Standard deviation of each period, as a share of it; the grid is lost slowly.
        lateness: Standard deviation of the lateness, as a share of the period.
    """
    results = []
    for seed in range(5):
        random = np.random.default_rng([seed, 3])
        period = PERIODS[seed % 3]
        n = round(12.0 / period)
        true = np.cumsum(period * (1.0 + step * random.standard_normal(n)).clip(0.4))
        stamps = true + random.uniform(0.0, lateness * period * np.sqrt(12.0), n)
        results.append(errors(estimator(rows(stamps, *readings(true, seed))).estimate()))
    assert np.abs(results).max() < 3.0


def test_late_stamps_cost_little_precision():
    for seed in range(3):
        late, clean = (
            np.sqrt(np.diag(estimator(recorded(kind, seed)[1]).estimate().covariance))
            for kind in (uniform(0.3), none)
        )
        assert (late < 1.2 * clean).all()


def test_a_live_estimator_has_the_same_clock():
    """It forgets and is asked often; what it finds in late stamps is what it finds in true ones."""
    for seed in range(2):
        late, true = (
            estimator(recorded(kind, seed)[1], asked=17, forgetting=0.99)
            for kind in (uniform(0.3), none)
        )
        apart = np.array(late.estimate().values) - true.estimate().values
        deviations = np.sqrt(np.diag(true.estimate().covariance))
        assert (np.abs(apart) < 0.7 * deviations).all(), apart / deviations
        assert any("stamps are late" in each for each in late.estimate().warnings)


@pytest.mark.parametrize("most", [0.95, 1.2])
def test_stamps_late_by_about_a_period_are_refused(most):
    for seed in range(3):
        samples = recorded(uniform(most), seed)[1]
        newer = samples[:, 0] > np.maximum.accumulate(np.concatenate(([-1.0], samples[:-1, 0])))
        result = estimator(samples[newer]).estimate()
        assert result.state is EstimateState.INVALID
        assert "stamps are late" in result.reason and "20 % of the period" in result.reason
