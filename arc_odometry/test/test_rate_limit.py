# SPDX-License-Identifier: Apache-2.0
"""Stamps that pass the rate limit."""

import math

import pytest

from arc_odometry.joints import RateLimit


def passed(limit, stamps):
    return [stamp for stamp in stamps if limit.due(stamp)]


@pytest.mark.parametrize(
    "rate, fraction", [(50.0, 2), (100.0, 1), (200.0, 1), (0.0, 1), (10.0, 10)]
)
@pytest.mark.parametrize("start", [0.0, 1.7e9])
def test_every_nth_sample_of_100_hz(rate, fraction, start):
    stamps = [start + 0.01 * k for k in range(1000)]
    assert passed(RateLimit(rate), stamps) == stamps[::fraction]


def test_the_mean_rate_holds_where_periods_do_not_divide():
    gone = passed(RateLimit(30.0), [0.01 * k for k in range(10001)])
    assert len(gone) == pytest.approx(3000, abs=2)


def test_jitter_does_not_halve_the_rate():
    stamps = [0.01 * k + 0.003 * math.sin(k) for k in range(1000)]
    assert len(passed(RateLimit(50.0), stamps)) == pytest.approx(500, abs=5)


def test_goes_on_at_once_after_a_reset_or_a_gap():
    limit = RateLimit(10.0)
    assert passed(limit, [60.0, 60.05, 0.0, 0.05, 0.1, 50.0, 50.05, 50.1]) == [
        *(60.0, 0.0, 0.1, 50.0, 50.1)
    ]


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match="rate = "):
        RateLimit(rate)
