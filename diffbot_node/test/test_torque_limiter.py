"""No torque leaves the limiter that is not finite, too large or too fast."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_node.torque_limiter import TorqueLimiter

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
