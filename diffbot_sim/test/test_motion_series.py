# SPDX-License-Identifier: Apache-2.0
"""Series for a horizon: as few terms as it needs, and the motion of the longest series."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.engines.motion_series import FIRST, ORDER, Stribeck, evaluate, motion_series

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


def test_what_cannot_be_told_from_the_speeds_takes_all_terms():
    """Values of functions of the state may converge later than the speeds do."""
    rows = tuple((*row, 0.1) for row in ROWS)
    series = motion_series(0.3, 0.5, 0.4, rows, 0.01, [Stribeck(1.0, 0.2)])
    assert len(series.v) == ORDER + 1


def test_a_robot_at_rest_stays_there():
    still = ((0.0,) * 5, (0.0,) * 5)
    series = motion_series(0.0, 0.0, 1.0, still, 0.01)
    assert series.span == 0.01
    assert {evaluate(getattr(series, part), 0.01) for part in ("v", "omega", "path")} == {0.0}
    assert math.isinf(motion_series(0.0, 0.0, 1.0, still, math.inf).span)
