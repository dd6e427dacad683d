# SPDX-License-Identifier: Apache-2.0
"""Arena: what the midpoint may do, and where the body's corners are."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_description.arena import Arena, extent, reach, silhouette

TWIL = load_robot("twil")


def test_reach_of_twil_is_its_front_corner():
    assert reach(TWIL) == pytest.approx(math.hypot(0.26, 0.11))


def test_reach_counts_wheels_and_casters():
    thin = replace(TWIL.body.shape, front=0.01, rear=-0.01, width=0.02)
    bare = replace(TWIL, body=replace(TWIL.body, shape=thin), casters=())
    assert reach(bare) == pytest.approx(math.hypot(0.075, 0.27217 / 2 + 0.015))
    far = replace(bare, casters=(replace(TWIL.casters[0], x=0.4, y=0.0, radius=0.02),))
    assert reach(far) == pytest.approx(math.hypot(0.42, 0.02))


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-10, 10))
def test_no_corner_is_beyond_the_reach_in_any_heading(x, y, theta):
    far_x, far_y = extent(silhouette(TWIL), (x, y, theta))
    assert abs(x) < far_x <= abs(x) + reach(TWIL) + 1e-12
    assert abs(y) < far_y <= abs(y) + reach(TWIL) + 1e-12


def test_extent_turned_by_a_quarter():
    far_x, far_y = extent(silhouette(TWIL), (0.5, 0.0, math.pi / 2))
    assert far_y == pytest.approx(0.26) and far_x == pytest.approx(0.5 + 0.27217 / 2 + 0.015)


def test_room_is_less_by_reach_and_margin():
    assert Arena(3.0, 2.0, 0.1).room(0.3) == pytest.approx((1.1, 0.6))


@pytest.mark.parametrize(
    ("sizes", "field"),
    [
        ((0.0, 3.0), "length"),
        ((3.0, float("nan")), "width"),
        ((3.0, 3.0, -0.1), "margin"),
    ],
)
def test_bad_sizes_are_named(sizes, field):
    with pytest.raises(ValueError, match=field):
        Arena(*sizes)


def test_too_small_an_arena_says_what_would_do():
    with pytest.raises(ValueError, match=r"width = 1 m: must be >= 1.26 m"):
        Arena(3.0, 1.0).room(reach(TWIL))


def test_the_arena_that_a_person_named_is_refused_as_they_wrote_it():
    arena = Arena.parse("1.2x1.2", border=0.3)
    with pytest.raises(ValueError, match=r"length = 1.2 m: must be >= 1.86 m .* margin of 0.4 m"):
        arena.room(reach(TWIL))
    # A border of 0.3 m leaves the room of a square that is 0.6 m smaller.
    assert Arena.parse("3x2", border=0.3).room(0.3) == Arena(2.4, 1.4).room(0.3)
