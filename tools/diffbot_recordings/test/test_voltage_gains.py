# SPDX-License-Identifier: Apache-2.0
"""ks, kv and ka from stretches whose start is left out: truth within intervals, whatever began."""

from dataclasses import replace

import numpy as np
import pytest

from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.voltage_gains import fit_voltage_gains

KS, KV, KA, PERIOD = 0.6, 2.5, 0.4, 0.01


def moving(segment, cut):
    """The samples from so long after the first motion on, s."""
    begin = int(np.argmax(np.abs(segment.velocity) > 0.05)) + round(cut / PERIOD)
    return replace(segment, fresh=np.arange(len(segment.velocity)) >= begin)


@pytest.fixture(scope="module")
def tests():
    return four_tests(np.random.default_rng(6), KS, KV, KA, 0.03)


def check(result, most=0.02):
    for value, std, true in zip(
        (result.ks, result.kv, result.ka), result.std, (KS, KV, KA), strict=True
    ):
        assert abs(value - true) < 4.0 * std
        assert std < most * true


def test_gains_are_found_from_four_tests(tests):
    check(fit_voltage_gains([moving(test, 0.05) for test in tests], 0.03, 0.003))


def test_what_comes_before_the_first_sample_that_counts_does_not_matter(tests):
    begun = [moving(test, 0.1) for test in tests]
    spoiled = [replace(test, velocity=np.where(test.counts, test.velocity, 3.0)) for test in begun]
    one, other = (fit_voltage_gains(some, 0.03) for some in (begun, spoiled))
    assert (one.ks, one.kv, one.ka) == pytest.approx((other.ks, other.kv, other.ka), rel=1e-9)


def test_a_near_time_constant_changes_nothing_but_the_time(tests):
    begun = [moving(test, 0.05) for test in tests]
    one, other = fit_voltage_gains(begun, 0.03), fit_voltage_gains(begun, 0.03, near=0.2)
    assert (one.ks, one.kv, one.ka) == pytest.approx((other.ks, other.kv, other.ka), rel=1e-3)


def test_ramps_alone_do_not_tell_the_inertia(tests):
    voltage_gains = fit_voltage_gains([moving(test, 0.25) for test in tests[:2]], 0.03)
    assert not voltage_gains.std[2] < 0.2 * KA


def test_stretches_that_are_too_short_are_refused(tests):
    short = replace(tests[0], fresh=np.arange(len(tests[0].velocity)) < 2)
    with pytest.raises(ValueError, match="record for longer"):
        fit_voltage_gains([short])


def four_tests(rng, ks, kv, ka, dead_time, period=0.01):
    """Ramps and steps of voltage, integrated with friction in steps of a quarter of a period."""
    tests = []
    rest, decay = 30, np.exp(-0.25 * period * kv / ka)
    for voltage in [
        np.r_[np.zeros(rest), sign * 0.5 * period * np.arange(800)] for sign in (1.0, -1.0)
    ] + [np.r_[np.zeros(rest), np.full(200, sign * 6.0)] for sign in (1.0, -1.0)]:
        v, velocity = 0.0, []
        for k in range(len(voltage)):
            velocity.append(v)
            for part in range(4):
                late = k + (part + 0.5) / 4.0 - dead_time / period
                effort = voltage[max(int(np.floor(late)), 0)]
                push = np.sign(effort) * max(abs(effort) - ks, 0.0)
                v = push / kv + (v - push / kv) * decay
        velocity = np.array(velocity) + 0.005 * rng.standard_normal(len(voltage))
        tests.append(AxisSegment(period, voltage, velocity))
    return tests
