# SPDX-License-Identifier: Apache-2.0
"""What passes a dead band, of both kinds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description.dead_band import DeadBand, DeadBandKind, passed_of

commands = st.floats(-5.0, 5.0)
widths = st.floats(1e-3, 1.0)


@given(commands, widths, st.sampled_from(DeadBandKind))
def test_what_is_not_above_the_band_gives_nothing_and_signs_stay(command, width, kind):
    passed = DeadBand(width, kind).passed(command)
    assert (passed == 0.0) == (abs(command) <= width)
    assert passed * command >= 0.0
    assert abs(passed) <= abs(command)
    assert DeadBand(width, kind).passed(-command) == -passed


@given(commands, widths)
def test_an_offset_is_lost_and_a_threshold_is_not(command, width):
    if abs(command) > width:
        lost = command - DeadBand(width).passed(command)
        assert lost == pytest.approx(math.copysign(width, command), abs=1e-12)
        assert DeadBand(width, DeadBandKind.THRESHOLD).passed(command) == command


@given(commands)
def test_no_band_changes_nothing(command):
    for kind in DeadBandKind:
        assert DeadBand(0.0, kind).passed(command) == command


@given(st.lists(commands, min_size=1), widths, st.sampled_from(DeadBandKind))
def test_one_command_or_many_are_the_same(many, width, kind):
    band = DeadBand(width, kind)
    each = [band.passed(command) for command in many]
    assert band.passed_of(np.array(many)).tolist() == each
    assert passed_of(np.array(many), width, kind).tolist() == each


@pytest.mark.parametrize("width", [-0.1, math.nan, math.inf])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(ValueError, match="must be finite and >= 0"):
        DeadBand(width)


def test_a_kind_that_is_none_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="'square': must be one of offset, threshold"):
        DeadBandKind.named("square")
