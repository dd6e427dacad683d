# SPDX-License-Identifier: Apache-2.0
"""Dead times in fractions of a sample, the power law, and slow sensors."""

import numpy as np
import pytest

from diffbot_recordings.axis_search import AxisSearch
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_time import fit_dead_time
from diffbot_recordings.driver_model import power_law
from diffbot_recordings.first_order import FirstOrder
from diffbot_recordings.segments import new_readings

T = 0.05
TRUE = FirstOrder(0.3, 1.05)


def steps(rng, count, hold=25):
    return np.repeat(rng.uniform(-1.0, 1.0, count // hold + 1), hold)[:count]


def recording(rng, dead_time, exponent=1.0, noise=0.03, count=500, model=TRUE):
    command = steps(rng, count)
    velocity = model.simulate(power_law(command, exponent), T, 0.0, dead_time)
    return AxisSegment(T, command, velocity + noise * rng.standard_normal(count))


@pytest.mark.parametrize("dead_time", [0.0, 0.05, 0.137, 0.62])
def test_the_dead_time_is_found_in_fractions_of_a_sample(dead_time):
    dead_time_fit = fit_dead_time([recording(np.random.default_rng(1), dead_time, noise=0.0)])
    assert dead_time_fit.dead_time == pytest.approx(dead_time, abs=1e-3)
    assert dead_time_fit.fit.model.inertia == pytest.approx(TRUE.inertia, rel=0.01)
    assert dead_time_fit.dead_time_search.inside


def test_intervals_of_dead_time_and_inertia_cover_together():
    rng = np.random.default_rng(2)
    runs, hits = 40, np.zeros(3)
    for _ in range(runs):
        true = rng.uniform(0.03, 0.3)
        dead_time_fit = fit_dead_time([recording(rng, true, count=300)], longest=0.4, every=3)
        hits += [
            abs(dead_time_fit.dead_time - true) < 1.96 * dead_time_fit.dead_time_std,
            abs(dead_time_fit.fit.model.inertia - TRUE.inertia) < 1.96 * dead_time_fit.fit.std[0],
            abs(dead_time_fit.fit.model.drag - TRUE.drag) < 1.96 * dead_time_fit.fit.std[1],
        ]
    # 38 of 40 with a spread of 1.4; fewer than 34 by chance in 1 run of 400.
    assert (hits >= 34).all(), hits


def test_a_dead_time_beyond_the_scan_is_searched_further():
    dead_time_fit = fit_dead_time([recording(np.random.default_rng(3), 0.9)], longest=0.4)
    assert dead_time_fit.dead_time_search.inside and dead_time_fit.longest > 0.9
    assert abs(dead_time_fit.dead_time - 0.9) < 4.0 * dead_time_fit.dead_time_std < 0.05


@pytest.mark.parametrize("samples", [17, 34, 39])
def test_a_dead_time_of_the_whole_lead_is_tried_however_it_is_rounded(samples):
    """Of these, the period times the number of samples is longer than the lead."""
    lead = round(samples * T, 2)
    assert samples * T > lead
    search = AxisSearch([recording(np.random.default_rng(6), 0.1)], lead)
    errors, _, late = search.scan((0, 2, samples))
    assert np.isfinite(errors).all() and late == 2


def test_the_exponent_of_a_power_law_is_found_with_its_interval():
    stretch = recording(np.random.default_rng(0), 0.08, exponent=1.6, noise=0.02)
    dead_time_fit = fit_dead_time([stretch], longest=0.4, with_exponent=True)
    assert abs(dead_time_fit.exponent - 1.6) < 3.0 * dead_time_fit.exponent_std < 0.15
    assert dead_time_fit.fit.model.drag == pytest.approx(
        TRUE.drag, abs=4.0 * dead_time_fit.fit.std[1]
    )


def test_stale_readings_are_told_and_left_out():
    rng = np.random.default_rng(4)
    stretch = recording(rng, 0.12, noise=0.01, count=1000)
    index = 5 * (np.arange(1000) // 5)
    masks, hold = new_readings([stretch.velocity[index]])
    assert hold == pytest.approx(5.0, abs=0.1)
    assert np.mean(np.flatnonzero(masks[0]) % 5 == 0) > 0.99
    stale = AxisSegment(T, stretch.command, stretch.velocity[index])
    fresh = AxisSegment(T, stretch.command, stretch.velocity[index], masks[0])
    # Read as if they were new, readings seem to be later than they are.
    assert fit_dead_time([stale]).dead_time > 0.16
    assert fit_dead_time([fresh]).dead_time == pytest.approx(0.12, abs=0.02)


def test_noise_is_not_taken_for_a_slow_sensor():
    rng = np.random.default_rng(5)
    masks, hold = new_readings([np.cumsum(rng.standard_normal(300)), rng.standard_normal(200)])
    assert hold == 0.0
    assert all(mask.all() for mask in masks)
    # An encoder's steps come when the wheel moves by one, not by a clock.
    masks, hold = new_readings([np.round(0.3 * np.cumsum(rng.standard_normal(600)))])
    assert hold == 0.0
