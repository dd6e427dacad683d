# SPDX-License-Identifier: Apache-2.0
"""No torque leaves the limiter that is not finite, too large or too fast."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_node.command_guard import PairLimiter, TorqueLimiter

anything = st.floats(allow_nan=True, allow_infinity=True)
steps = st.lists(st.tuples(anything, anything, anything), max_size=50)


@given(st.floats(0.01, 1e3), st.floats(0.01, 1e6), steps)
def test_promises_hold_for_any_sequence(limit, rate, sequence):
    limiter = TorqueLimiter(limit, rate)
    for left, right, period in sequence:
        before = limiter.torque
        try:
            torque = limiter.apply((left, right), period)
        except ValueError:
            assert limiter.torque == (0.0, 0.0)
            continue
        for new, old in zip(torque, before, strict=True):
            assert math.isfinite(new) and abs(new) <= limit
            assert abs(new - old) <= rate * period + 1e-9 * limit


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
def test_allowed_torques_pass_unchanged(left, right):
    assert TorqueLimiter(5.0).apply((left, right), 0.01) == (left, right)


def test_rate_limit_reaches_the_target_and_zero_is_immediate():
    limiter = TorqueLimiter(5.0, 100.0)
    torques = [limiter.apply((2.5, -9.0), 0.01) for _ in range(6)]
    assert torques[:3] == [(1.0, -1.0), (2.0, -2.0), (2.5, -3.0)]
    assert torques[-1] == (2.5, -5.0)
    assert limiter.stop() == (0.0, 0.0) and limiter.torque == (0.0, 0.0)


@pytest.mark.parametrize("wanted", [(), (0.1,), (0.1, 0.2, 0.3)])
def test_a_command_of_another_length_becomes_zero_and_is_named(wanted):
    limiter = TorqueLimiter(5.0)
    limiter.apply((1.0, 1.0), 0.01)
    text = re.escape(f"torque {list(wanted)}: must be 2 values; zero is commanded instead")
    with pytest.raises(ValueError, match=f"^{text}$"):
        limiter.apply(wanted, 0.01)
    assert limiter.torque == (0.0, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_torque_that_is_not_finite_becomes_zero_and_is_named(bad):
    limiter = TorqueLimiter(5.0)
    limiter.apply((1.0, 1.0), 0.01)
    with pytest.raises(ValueError, match="must be finite; zero is commanded"):
        limiter.apply((1.0, bad), 0.01)
    assert limiter.torque == (0.0, 0.0)


@pytest.mark.parametrize(
    ("limit", "rate"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, 0.0)]
)
def test_bad_limits_are_refused(limit, rate):
    with pytest.raises(ValueError, match="limit = "):
        TorqueLimiter(limit, rate)


def test_each_of_a_pair_has_its_own_limit_and_rate():
    limiter = PairLimiter("velocity", "m/s, rad/s", (1.0, 3.0), (10.0, 20.0))
    assert (limiter.limits, limiter.rates) == ((1.0, 3.0), (10.0, 20.0))
    assert (limiter.unit, limiter.command) == ("m/s, rad/s", (0.0, 0.0))
    assert limiter.apply((9.0, 9.0), 0.0625) == (0.625, 1.25)
    assert limiter.apply((9.0, 9.0), 0.0625) == (1.0, 2.5)
    assert limiter.apply((9.0, 9.0), 0.0625) == (1.0, 3.0)
    assert limiter.apply((-9.0, -9.0), 0.0625) == (0.375, 1.75) == limiter.command
    assert limiter.apply((-9.0, -9.0), 10.0) == (-1.0, -3.0)
    assert limiter.apply((0.25, 0.5), 0.125) == (0.25, -0.5)


def test_a_torque_limiter_has_one_limit_and_rate_for_both_wheels():
    limiter = TorqueLimiter(5.0, 100.0)
    assert (limiter.limit, limiter.limits, limiter.rates) == (5.0, (5.0, 5.0), (100.0, 100.0))
    assert limiter.unit == "N m"
    assert limiter.apply((2.0, -2.0), 0.01) == limiter.torque == (1.0, -1.0)
    assert (
        TorqueLimiter(5.0).rates == PairLimiter("x", "", (1.0, 1.0)).rates == (math.inf, math.inf)
    )


@pytest.mark.parametrize("rate", [100.0, math.inf])
def test_no_time_allows_no_change(rate):
    limiter = TorqueLimiter(5.0, rate)
    limiter.apply((1.0, -1.0), 0.01)
    assert limiter.apply((3.0, 3.0), 0.0) == (1.0, -1.0)


def test_as_long_as_there_is_a_rate_the_shortest_period_counts():
    assert TorqueLimiter(5.0, 2.0).apply((5.0, -5.0), 0.5) == (1.0, -1.0)
    assert TorqueLimiter(5.0, 1.0).apply((5.0, -5.0), 5e-324) == (5e-324, -5e-324)


@pytest.mark.parametrize("period", [-5e-324, -0.01, math.nan, math.inf, -math.inf])
def test_a_period_that_is_none_stops_and_is_named(period):
    limiter = TorqueLimiter(5.0)
    limiter.apply((1.0, 1.0), 0.01)
    text = f"torque [1.0, 2.0] N m for a period of {period} s: must be finite"
    with pytest.raises(ValueError) as refusal:
        limiter.apply((1.0, 2.0), period)
    assert text in str(refusal.value) and limiter.torque == (0.0, 0.0)


@pytest.mark.parametrize("wanted", [(), (1.0,), (1.0, 1.0, 1.0)])
def test_what_is_no_pair_is_refused(wanted):
    with pytest.raises(ValueError):
        TorqueLimiter(5.0).apply(wanted, 0.01)


@pytest.mark.parametrize(
    ("limits", "rates", "says"),
    [
        ((1.0, 0.0), (1.0, 1.0), "velocity limit = 0.0 m/s: must be finite and > 0"),
        ((math.inf, 1.0), (1.0, 1.0), "velocity limit = inf m/s"),
        ((1.0, 1.0), (1.0, 0.0), "velocity rate limit = 0.0 m/s per s: must be > 0"),
        ((1.0, 1.0), (-1.0, 1.0), "velocity rate limit = -1.0 m/s"),
        ((1.0, 1.0), (1.0, math.nan), "velocity rate limit = nan m/s"),
    ],
)
def test_each_limit_and_rate_of_a_pair_is_checked(limits, rates, says):
    with pytest.raises(ValueError) as refusal:
        PairLimiter("velocity", "m/s", limits, rates)
    assert says in str(refusal.value)


def test_the_smallest_limits_and_rates_are_allowed():
    limiter = PairLimiter("x", "", (5e-324, 1.0), (math.inf, 5e-324))
    assert limiter.apply((1.0, 1.0), 1.0) == (5e-324, 5e-324)
