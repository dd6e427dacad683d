# SPDX-License-Identifier: Apache-2.0
"""What joint samples have to be."""

import math
from dataclasses import replace

import pytest

from arc_odometry import JointSample
from arc_odometry.sample_check import SampleCheck

GOOD = JointSample(1.0, (0.1, 0.2), (0.3, 0.4), (0.5, 0.6))


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e10])
@pytest.mark.parametrize("side", [0, 1])
def test_bad_values_are_refused_by_name(field, bad, side):
    values = [0.0, 0.0]
    values[side] = bad
    sample = JointSample(**{**GOOD.__dict__, field: tuple(values)})
    with pytest.raises(ValueError, match=f"{field} = .*must be finite and at most"):
        SampleCheck().values(sample)


def at(stamp, left=0.1):
    return replace(GOOD, stamp=stamp, position=(left, GOOD.position[1]))


@pytest.mark.parametrize("direction", ["passes", "follows"])
def test_a_jump_of_an_encoder_is_refused_and_a_wrap_is_not(direction):
    check = SampleCheck()
    check.follows(at(1.0, 3.1))
    wrapped = at(1.01, 3.1 - 2.0 * math.pi + 0.2)
    if direction == "passes" and check.passes(wrapped):
        pytest.fail("a wrap is for the slow path to judge")
    check.follows(wrapped)
    jumped = at(1.02, wrapped.position[0] + 1.5)
    assert not check.passes(jumped)
    with pytest.raises(ValueError, match=r"left wheel jumps by 1.5 rad in 0.01 s: .* 100 rad/s"):
        check.follows(jumped)
    check.follows(at(1.03, jumped.position[0]))


def test_good_values_pass():
    SampleCheck().values(GOOD)


@pytest.mark.parametrize("step", [0.0, -0.01, 5e-5, 0.061, math.nan, math.inf])
def test_bad_steps_are_refused_with_their_limits(step):
    check = SampleCheck()
    check.follows(at(1.0))
    with pytest.raises(ValueError, match=r"time step = .*must be 0.0001 to 0.06 s"):
        check.follows(at(1.0 + step))


@pytest.mark.parametrize("stamp", [1.0, 1.7e9, 1.7e9 + 1e-6])
def test_a_step_of_exactly_the_longest_passes_whatever_its_rounding_errors(stamp):
    """Three periods at 50 Hz, twelve at 200 Hz: 0.06 s exceeds itself half of the time."""
    slow, fast = SampleCheck(), SampleCheck()
    for k in range(20):
        slow.follows(at(stamp + 0.06 * k))
        assert fast.passes(at(stamp + 0.06 * k)) or k == 0
        if k == 0:
            fast.follows(at(stamp))


def test_after_a_gap_time_goes_on_from_the_new_stamp():
    check = SampleCheck()
    check.follows(at(1.0))
    with pytest.raises(ValueError, match="time step"):
        check.follows(at(5.0))
    check.follows(at(5.01))


def test_own_limits_and_reset():
    check = SampleCheck(max_gap=0.2)
    check.follows(at(1.0))
    check.follows(at(1.15))
    check.reset()
    check.follows(at(99.0))
