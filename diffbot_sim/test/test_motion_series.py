# SPDX-License-Identifier: Apache-2.0
"""Series for a horizon: as few terms as it needs, and the motion of the longest series."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.engines.motion_series import (
    FIRST,
    ORDER,
    Slip,
    Stribeck,
    evaluate,
    motion_series,
)

# v' and omega' of a robot like twil with viscous friction and torque.
ROWS = ((0.1, 0.0, -0.8, 0.1, 0.9), (0.0, -0.3, 0.05, -4.0, -2.0))
LONG = 0.2  # s; too long for an order below ORDER
PARTS = ("v", "omega", "path", "theta", "x", "y", "centripetal", "coriolis")
speed = st.floats(-3.0, 3.0)


@given(speed, speed, st.floats(1e-3, 0.05))
def test_a_shorter_series_is_the_same_motion(v, omega, horizon):
    short = motion_series(v, omega, 0.4, ROWS, horizon)
    long = motion_series(v, omega, 0.4, ROWS, LONG)
    assert short.span >= horizon
    assert len(long.v) == ORDER + 1
    for part in PARTS:
        terms = getattr(short, part)
        assert terms == getattr(long, part)[: len(terms)]
    for part in PARTS[:6]:
        ends = [evaluate(getattr(series, part), horizon) for series in (short, long)]
        # Products of series (centripetal, coriolis) may lack a term that the speeds have.
        assert ends[0] == pytest.approx(ends[1], rel=1e-14, abs=1e-15)


def test_a_horizon_of_a_period_needs_two_thirds_of_the_terms():
    terms = len(motion_series(0.3, 0.5, 0.4, ROWS, 0.01).v)
    assert FIRST < terms <= 2 * ORDER // 3 + 1


@given(
    st.floats(0.5, 3.0),
    speed,
    st.floats(1e-3, 0.05),
    st.sampled_from([Stribeck(1.0, 0.2), Slip(0.2, 0.1)]),
)
def test_a_shorter_series_with_functions_is_the_same_motion(v, omega, horizon, function):
    """Their values may converge later than the speeds do, and hardly affect them, as here."""
    rows = tuple((*row, *(1e-6,) * len(function.terms)) for row in ROWS)
    short = motion_series(v, omega, 0.4, rows, horizon, [function])
    long = motion_series(v, omega, 0.4, rows, LONG, [function])
    end = min(horizon, short.span, long.span)
    for part in PARTS[:6]:
        ends = [evaluate(getattr(series, part), end) for series in (short, long)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-14, abs=1e-15)
    for own, others in zip(short.others, long.others, strict=True):
        assert evaluate(own, end) == pytest.approx(evaluate(others, end), rel=1e-14, abs=1e-15)


def test_a_function_that_is_constant_does_not_need_all_terms():
    rows = tuple((*row, 0.1) for row in ROWS)
    fast = motion_series(9.0, 0.5, 0.4, rows, 0.01, [Stribeck(1.0, 0.2)])
    assert fast.others[0] == [0.0] * len(fast.centripetal)
    assert FIRST < len(fast.v) <= 2 * ORDER // 3 + 1


def test_a_function_that_converges_late_takes_more_terms():
    """The speeds alone, which it hardly affects, need fewer."""
    rows = tuple((*row, 1e-9) for row in ROWS)
    late = motion_series(0.03, 0.05, 0.4, rows, 0.01, [Stribeck(30.0, 0.0)])
    speeds = motion_series(0.03, 0.05, 0.4, ROWS, 0.01)
    assert len(late.v) > len(speeds.v) + 2


def test_changes_bound_those_of_the_speeds():
    series = motion_series(0.3, -0.5, 0.4, ROWS, 0.05)
    for time in (0.001, 0.01, 0.05):
        for bound, terms in zip(series.changes(time), (series.v, series.omega), strict=True):
            change = abs(evaluate(terms, time) - terms[0])
            assert change <= bound <= 1.5 * change


def test_a_robot_at_rest_stays_there():
    still = ((0.0,) * 5, (0.0,) * 5)
    series = motion_series(0.0, 0.0, 1.0, still, 0.01)
    assert series.span == 0.01
    assert {evaluate(getattr(series, part), 0.01) for part in ("v", "omega", "path")} == {0.0}
    assert math.isinf(motion_series(0.0, 0.0, 1.0, still, math.inf).span)
