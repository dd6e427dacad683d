# SPDX-License-Identifier: Apache-2.0
"""Parameters are checked with messages that say name, value, limit and meaning."""

import array
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_node.parameter_fields import Parameter
from diffbot_node.robot_messages import LATEST, seconds, to_stamp

DURATION = Parameter("duration", 60.0, "robot time to excite for, s", above=0.0, maximum=1e6)
ENGINE = Parameter("engine", "ideal", "physics engine", choices=("ideal", "mujoco"))
GAMMAS = Parameter("gammas", (), "gains, 1/s", above=0.0, maximum=1e3)


@pytest.mark.parametrize(("given_value", "kept"), [(5, 5.0), (2.5, 2.5), (1e6, 1e6)])
def test_good_values_come_in_the_parameters_type(given_value, kept):
    value = DURATION.check(given_value)
    assert value == kept and type(value) is float


@pytest.mark.parametrize("bad", [0.0, 0, -1.0, 2e6, math.nan, math.inf, "5", True, None])
def test_bad_numbers_are_refused_by_name_and_limit(bad):
    with pytest.raises(ValueError, match=r"'duration' = .*must be .*robot time to excite") as error:
        DURATION.check(bad)
    assert repr(float(bad) if type(bad) is int else bad) in str(error.value)


@pytest.mark.parametrize(
    ("given_list", "kept"),
    [
        ([], ()),
        (None, ()),  # how ROS hands over an empty list
        ("", ()),
        ("[]", ()),
        ([1, 2.5], (1.0, 2.5)),
        (array.array("d", [3.0]), (3.0,)),
        ("[1, 2.5]", (1.0, 2.5)),
        (" 1,2.5 ", (1.0, 2.5)),
    ],
)
def test_lists_come_as_tuples_of_floats(given_list, kept):
    value = GAMMAS.check(given_list)
    assert value == kept and all(type(item) is float for item in value)


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("bad", [0.0, -1, 2e3, math.nan, math.inf, True, "b", None])
def test_bad_numbers_of_lists_are_refused_by_index(index, bad):
    numbers = [1.0, 2.0, 3.0]
    numbers[index] = bad
    with pytest.raises(ValueError, match=rf"'gammas\[{index}\]' = .*must be .*\(gains, 1/s\)"):
        GAMMAS.check(numbers)


@pytest.mark.parametrize("bad", [1.0, 5, True, "fast", "[1, b]", "[1,]", "[[1.0]]", "[1.0, 2.5"])
def test_what_is_no_list_is_refused(bad):
    with pytest.raises(ValueError, match=r"'gammas' = .*must be a list of numbers, such as \["):
        GAMMAS.check(bad)


def test_choices_are_listed():
    with pytest.raises(ValueError, match="'engine' = 'gazebo'.*one of ideal, mujoco"):
        ENGINE.check("gazebo")


def test_constraints_say_the_limits():
    assert DURATION.constraints() == "> 0 and <= 1e+06"
    assert ENGINE.constraints() == "one of ideal, mujoco"


@given(st.integers(0, LATEST - 1), st.integers(0, 999_999_999))
def test_stamps_go_to_seconds_and_back(sec, nanosec):
    stamp = to_stamp(sec + nanosec * 1e-9)
    exact = sec + nanosec / 1_000_000_000
    # A double holds seconds since 1970 to 0.24 microseconds.
    assert seconds(stamp) == pytest.approx(exact, abs=5e-7)
    assert 0 <= stamp.nanosec < 1_000_000_000
