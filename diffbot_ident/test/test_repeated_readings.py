# SPDX-License-Identifier: Apache-2.0
"""Readings repeated with a new stamp are found and left out, and nothing else is."""

import numpy as np
import pytest
from clocked_robot import errors, estimator, readings, rows

from diffbot_ident.samples.timed_readings import MOST, RepeatedReadings

PERIOD = 0.01


def recorded(seed, fraction, counts=4096, seconds=15.0):
    """Samples of which a share repeats the one before, and which of them do."""
    times = PERIOD * np.arange(round(seconds / PERIOD))
    angles, torques = readings(times, seed, counts)
    stale = np.random.default_rng([seed, 5]).random(len(times)) < fraction
    stale[0] = False
    for k in np.flatnonzero(stale):
        angles[k], torques[k] = angles[k - 1], torques[k - 1]
    return rows(times, angles, torques), stale


def left_out(samples, batch=64):
    repeated = RepeatedReadings()
    parts = [repeated.left_out(samples[k : k + batch]) for k in range(0, len(samples), batch)]
    return repeated, np.concatenate(parts)


def test_repeated_readings_of_moving_wheels_are_left_out():
    """Those that remain are of wheels that turn by less than 1.5 counts, where it does no harm."""
    samples, stale = recorded(1, 0.03, 16384)
    repeated, kept = left_out(samples)
    missing = ~np.isin(samples[:, 0], kept[:, 0])
    assert (stale | ~missing)[:-MOST].all()
    assert np.count_nonzero(missing & stale) > 0.9 * np.count_nonzero(stale)
    assert repeated.fraction == pytest.approx(np.mean(stale), rel=0.15)
    (warning,) = repeated.warnings()
    assert "% of the readings repeat the one before" in warning


def test_the_effort_over_a_gap_is_the_mean():
    samples, _ = recorded(2, 0.0)
    at = int(np.argmax(np.abs(np.diff(samples[:, 1])) > 0.05)) + 5
    samples[at, 1:3] = samples[at - 1, 1:3]
    samples[at, 3:5] = 1.0, 2.0
    samples[at + 1, 3:5] = 3.0, 0.0
    kept = left_out(samples)[1]
    assert samples[at, 0] not in kept[:, 0]
    np.testing.assert_array_equal(kept[kept[:, 0] == samples[at + 1, 0]][0, 3:5], (2.0, 1.0))


@pytest.mark.parametrize("counts", [60, 200, 500, 4096, 10**6])
def test_no_reading_of_a_regular_encoder_is_left_out(counts):
    """Coarse ones repeat angles all the time. The robot stands before and after."""
    samples, _ = recorded(3, 0.0, counts)
    still = np.repeat(samples[-1:], 300, axis=0)
    still[:, 0] += PERIOD * np.arange(1, 301)
    samples = np.concatenate((samples, still))
    repeated, kept = left_out(samples)
    np.testing.assert_array_equal(kept, samples)
    assert repeated.result == 0 and repeated.warnings() == []


def test_an_encoder_at_half_the_rate_of_its_messages_is_no_trouble():
    """Every other reading is repeated, with a new effort: K5 was off by 4 of its deviations."""
    for seed in range(3):
        samples, _ = recorded(seed, 0.0)
        samples[1::2, 1:3] = samples[:-1:2, 1:3]
        estimate = estimator(samples).estimate()
        assert np.abs(errors(estimate)).max() < 3.0
        (warning,) = [each for each in estimate.warnings if "repeat the one before" in each]
        assert 40.0 < float(warning.split(" %")[0]) <= 50.0
        assert not any("rounded" in each for each in estimate.warnings)


def test_blocks_do_not_matter():
    samples, _ = recorded(4, 0.1)
    expected = left_out(samples, len(samples))[1]
    for batch in (1, 2, 3, 17):
        np.testing.assert_array_equal(left_out(samples, batch)[1], expected)


def test_wrapping_encoders_repeat_as_others_do():
    samples, _ = recorded(1, 0.03)
    wrapped = samples.copy()
    wrapped[:, 1:3] = np.remainder(samples[:, 1:3], 2.0 * np.pi)
    np.testing.assert_array_equal(left_out(wrapped)[1][:, 0], left_out(samples)[1][:, 0])


def test_intervals_hold_and_the_share_is_named():
    results = []
    for seed in range(8):
        estimate = estimator(recorded(seed, 0.02)[0]).estimate()
        results.append(errors(estimate))
        assert any("repeat the one before" in each for each in estimate.warnings)
        assert not any("changed" in each for each in estimate.warnings)
    assert np.abs(results).max() < 3.5
    assert (np.sqrt(np.mean(np.square(results), axis=0)) < 1.6).all(), results
