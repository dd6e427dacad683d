# SPDX-License-Identifier: Apache-2.0
"""One value from many stretches: its interval holds, and is no narrower than it may be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_learning.learned_values import MOST_AVERAGED, combine
from diffbot_learning.motions import ENOUGH, MotionKind, fractions, motion_times


@pytest.mark.parametrize(
    ("count", "between"),
    [(1, 0.0), *((count, between) for count in (3, 10, 40) for between in (0.0, 1.0, 5.0))],
)
def test_the_interval_holds_however_much_the_stretches_differ(count, between):
    """For 2000 robots; between stretches they differ by so many of their own deviations."""
    random = np.random.default_rng([count, int(between)])
    inside = 0
    for _ in range(2000):
        stds = random.uniform(0.5, 2.0, count)
        values = random.normal(0.0, np.hypot(stds, between))
        mean = combine(values, stds)
        inside += abs(mean.value) <= mean.half_width
    assert inside / 2000 >= 0.90


@given(
    st.lists(st.tuples(st.floats(-10.0, 10.0), st.floats(0.01, 10.0)), min_size=1, max_size=30),
    st.floats(0.1, 10.0),
)
def test_another_unit_is_another_scale(readings, scale):
    values, stds = (np.array(each) for each in zip(*readings, strict=True))
    one, other = combine(values, stds), combine(scale * values, scale * stds)
    assert other.value == pytest.approx(scale * one.value, rel=1e-6, abs=1e-6)
    assert other.half_width == pytest.approx(scale * one.half_width, rel=1e-6)


def test_a_common_error_does_not_average_out():
    assert combine(np.zeros(500), np.ones(500)).std == pytest.approx(1.0 / math.sqrt(MOST_AVERAGED))


def test_a_drift_is_followed():
    """Of 60 stretches that rise by 1 each, the mean lies within 20 of the last."""
    mean = combine(np.arange(60.0), np.full(60, 0.5))
    assert mean.value > 39.0
    assert mean.half_width > 2.0


@pytest.mark.parametrize(
    ("values", "stds"),
    [([], []), ([1.0], [1.0, 2.0]), ([math.nan], [1.0]), ([1.0], [0.0]), ([1.0], [math.inf])],
)
def test_readings_without_a_deviation_are_refused(values, stds):
    with pytest.raises(ValueError, match="must be"):
        combine(values, stds)


def test_motions_are_counted_by_kind():
    times = np.arange(0.0, 10.05, 0.1)
    zero, one = np.zeros_like(times), np.ones_like(times)
    spin = motion_times(times, zero, 0.9 * one, (1.0, 1.0))
    assert spin["turning on the spot"] == spin["turning left fast"] == pytest.approx(10.0)
    assert spin["forwards"] == spin["turning right"] == 0.0
    gap = motion_times(np.array([0.0, 0.1, 60.0, 60.1]), one[:4], zero[:4], (1.0, 1.0))
    assert gap["forwards"] == pytest.approx(0.2)
    assert fractions({"forwards": 0.5 * ENOUGH})[MotionKind.FORWARDS.value] == 0.5
