# SPDX-License-Identifier: Apache-2.0
"""Laws of time: rates, accelerations and ways, against sums over small steps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pose2d_trajectories.timing import RampLaw

positive = st.floats(0.1, 10.0)


def trapezoids(law, number=2000):
    """Integral of the rate over the whole duration, by the trapezoid rule."""
    dt = law.duration / number
    rates = [law.at(min(k * dt, law.duration)).dp for k in range(number + 1)]
    return dt * (sum(rates) - 0.5 * (rates[0] + rates[-1]))


@given(positive, positive, st.floats(0.0, 5.0), st.floats(0.1, 5.0))
def test_timed_ramps_fill_the_way(total, rate, up, down):
    law = RampLaw.timed(total, rate, up, down)
    assert law.rate <= rate
    end = law.at(law.duration)
    assert end == (total, 0.0, 0.0)
    # The start of a law without a ramp is a jump; its rate at 0 counts as it is.
    assert trapezoids(law) == pytest.approx(total, rel=1e-3)


@given(positive, positive, positive, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_ramps_between_rates_keep_the_acceleration(total, rate, acceleration, start, end):
    start, end = start * rate, end * rate
    gain = 2.0 * acceleration / 1.875 * total
    if abs(start * start - end * end) > gain:
        return  # no way to get there
    law = RampLaw.between(total, start, rate, end, acceleration)
    phases = [law.at(law.duration * k / 500.0) for k in range(500)]
    assert max(abs(phase.ddp) for phase in phases) <= acceleration * (1.0 + 1e-9)
    assert max(phase.dp for phase in phases) <= rate * (1.0 + 1e-12)
    assert min(phase.dp for phase in phases) >= -1e-12
    assert (phases[0].dp, law.at(law.duration).dp) == (start, end)
    assert law.at(law.duration).p == total
    assert trapezoids(law) == pytest.approx(total, rel=1e-3)


def test_the_middle_of_a_ramp():
    law = RampLaw.endless(2.0, 4.0)
    assert law.at(2.0) == pytest.approx((8.0 * (1 / 64 - 3 / 32 + 2.5 / 16), 1.0, 0.9375))
    assert law.at(4.0) == (4.0, 2.0, 0.0)
    assert math.isinf(law.duration)


def test_slowed_is_the_same_way_later():
    law = RampLaw.timed(10.0, 2.0, 1.0, 3.0)
    slow = law.slowed(0.5)
    assert slow.duration == pytest.approx(2.0 * law.duration)
    for t in (0.3, 2.0, 6.5):
        p, dp, ddp = law.at(t)
        assert slow.at(2.0 * t) == pytest.approx((p, 0.5 * dp, 0.25 * ddp))
