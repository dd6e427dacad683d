"""What joint samples have to be."""

import math

import pytest

from arc_odometry import JointSample
from diffbot_ident.sample_check import SampleCheck

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


def test_good_values_pass():
    SampleCheck().values(GOOD)


@pytest.mark.parametrize("step", [0.0, -0.01, 5e-5, 0.051, math.nan, math.inf])
def test_bad_steps_are_refused_with_their_limits(step):
    check = SampleCheck()
    check.step(1.0)
    with pytest.raises(ValueError, match=r"time step = .*must be 0.0001 to 0.05 s"):
        check.step(1.0 + step)


def test_after_a_gap_time_goes_on_from_the_new_stamp():
    check = SampleCheck()
    check.step(1.0)
    with pytest.raises(ValueError, match="time step"):
        check.step(5.0)
    check.step(5.01)


def test_own_limits_and_reset():
    check = SampleCheck(max_gap=0.2)
    check.step(1.0)
    check.step(1.15)
    check.reset()
    check.step(99.0)
