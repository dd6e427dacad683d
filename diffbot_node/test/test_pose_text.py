# SPDX-License-Identifier: Apache-2.0
"""Poses as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_node import pose_from_text

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers, numbers, st.sampled_from([",", ", ", " ", " , ", "\t"]))
def test_three_numbers_come_back(x, y, theta, between):
    assert pose_from_text("start", between.join(map(str, (x, y, theta)))) == (x, y, theta)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("pi", math.pi),
        ("-pi", -math.pi),
        ("+pi/2", math.pi / 2.0),
        ("-pi/4", -math.pi / 4.0),
        ("2*pi", 2.0 * math.pi),
        ("-0.5*pi/3", -math.pi / 6.0),
    ],
)
def test_multiples_of_pi(word, value):
    assert pose_from_text("start", f" 1,0,{word} ")[2] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must be 3 numbers"),
        ("1,2", "must be 3 numbers"),
        ("1,2,3,4", "must be 3 numbers"),
        ("1,,3,0", "must be 3 numbers"),
        ("1,,3", "y = '' must be a finite number in m"),
        ("1;2;3", "must be 3 numbers"),
        ("a,2,3", "x = 'a' must be a finite number in m"),
        ("1,nan,3", "y = 'nan' must be a finite number in m"),
        ("1,2,-inf", "theta = '-inf' must be a finite number in rad"),
        ("1,2,pi/0", "theta = 'pi/0' must be"),
        ("1,2,2pi", "theta = '2pi' must be"),
        ("1,2,1.2.3*pi", "theta = '1.2.3*pi' must be"),
    ],
)
def test_what_is_wrong_is_named_with_an_example(text, complaint):
    with pytest.raises(ValueError) as error:
        pose_from_text("start", text)
    message = str(error.value)
    assert message.startswith(f"start = {text!r}: {complaint}")
    assert message.endswith("for example 1.0,-0.5,pi/2")
