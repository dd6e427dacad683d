# SPDX-License-Identifier: Apache-2.0
"""Joints are matched by name, and what is missing or not finite is refused by name."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointReader

READER = JointReader("left_wheel_joint", "right_wheel_joint")


@given(st.permutations(["left_wheel_joint", "arm", "right_wheel_joint", "head"]))
def test_order_and_other_joints_do_not_matter(names):
    value = {"left_wheel_joint": 1.0, "right_wheel_joint": 2.0, "arm": math.nan, "head": 7.0}
    column = [value[name] for name in names]
    sample = READER.read(3.5, names, column, [10 * v for v in column], [100 * v for v in column])
    assert sample.stamp == 3.5
    assert (sample.position, sample.velocity, sample.effort) == ((1, 2), (10, 20), (100, 200))


@pytest.mark.parametrize(
    "names", [["left_wheel_joint"], ["right_wheel_joint"], [], ["left_wheel_joint"] * 2]
)
def test_missing_or_doubled_joints_are_named(names):
    zeros = [0.0] * len(names)
    with pytest.raises(ValueError, match=r"joint '(left|right)_wheel_joint' appears \d times"):
        READER.read(0.0, names, zeros, zeros, zeros)


@pytest.mark.parametrize("field", range(3))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_named(field, bad):
    columns = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    columns[field][1] = bad
    name = ("position", "velocity", "effort")[field]
    with pytest.raises(ValueError, match=f"{name} of joint 'right_wheel_joint'.*finite"):
        READER.read(0.0, ["left_wheel_joint", "right_wheel_joint"], *columns)


@pytest.mark.parametrize("field", range(3))
def test_short_arrays_are_named(field):
    columns = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    columns[field] = [0.0]
    name = ("position", "velocity", "effort")[field]
    with pytest.raises(ValueError, match=f"hold 1 values of {name}"):
        READER.read(0.0, ["left_wheel_joint", "right_wheel_joint"], *columns)


def test_what_is_not_required_may_be_missing():
    reader = JointReader("l", "r", required=("position",))
    sample = reader.read(0.0, ["l", "r"], [1.0, 2.0], [], [math.nan, 0.0])
    assert (sample.velocity, sample.effort) == ((0.0, 0.0), (0.0, 0.0))


@given(st.tuples(*[st.sampled_from([1, -1])] * 3))
def test_signs_make_forward_positive_in_every_field(signs):
    """Three joints that roll forward, as a driver with these signs publishes them."""
    reader = JointReader(["a", "b"], "c", torque_of_unit=(0.5, 2.0), signs=signs)
    for turn in (0.0, 3.0, 6.5):
        columns = [[s * x for s, x in zip(signs, (turn, turn + 1.0, 2.0 * turn), strict=True)]]
        columns += [[10.0 * s for s in signs], [4.0 * s for s in signs]]
        sample = reader.read(turn, ["a", "b", "c"], *columns)
        assert sample.position == pytest.approx((turn + 0.5, 2.0 * turn))
        assert sample.velocity == (10.0, 10.0)
        assert sample.effort == (4.0, 8.0)
    assert not reader.disagreement


def test_a_sign_is_needed_for_each_joint():
    with pytest.raises(ValueError, match="1 signs for the joints"):
        JointReader("l", "r", signs=[-1])


def test_one_name_for_both_wheels_is_refused():
    with pytest.raises(ValueError, match="two names"):
        JointReader("wheel", "wheel")


def test_names_may_change_from_one_state_to_the_next():
    reader = JointReader("l", "r", required=("position",))

    def read(*names):
        return reader.read(0.0, list(names), range(len(names)), (), ()).position

    assert read("l", "r") == read("l", "r", "arm") == (0.0, 1.0)
    assert read("r", "arm", "l") == (2.0, 0.0)
    for names in ((), ("l", "arm"), ("l", "l", "r")):
        with pytest.raises(ValueError, match="appears . times in"):
            read(*names)
    assert read("r", "l") == (1.0, 0.0)
