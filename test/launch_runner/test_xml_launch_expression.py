# SPDX-License-Identifier: Apache-2.0
"""``$(eval)`` means what Python means, and runs nothing else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_bringup.xml_launch.substitutions import evaluate

_numbers = st.integers(-9, 9).map(str) | st.sampled_from(["0.5", "2.25", "True", "False"])
_binary = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
)
_expressions = st.recursive(
    _numbers | st.sampled_from(["'a'", "'b'"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, _binary, inner)
        | st.builds("(not {})".format, inner)
        | st.builds("(-{})".format, inner)
        | st.builds("({} if {} else {})".format, inner, inner, inner)
        | st.builds("({} in [{}, {}])".format, inner, inner, inner)
        | st.builds("({} not in ({}, {}))".format, inner, inner, inner)
    ),
    max_leaves=8,
)


@given(_expressions)
def test_same_as_python(text: str) -> None:
    try:
        expected = str(eval(text, {"__builtins__": {}}))
    except (ArithmeticError, TypeError):
        with pytest.raises(ValueError, match="eval"):
            evaluate(text)
    else:
        assert evaluate(text) == expected


def test_names_of_the_math_module() -> None:
    assert evaluate("2 * pi") == str(2 * math.pi)
    assert evaluate("hypot(3, 4)") == "5.0"


def test_and_or_look_no_further_than_needed() -> None:
    assert evaluate("False and 1 / 0") == "False"
    assert evaluate("'x' or 1 / 0") == "x"


def test_chained_comparison() -> None:
    assert evaluate("1 < 2 <= 2") == "True"
    assert evaluate("3 > 2 > 2") == "False"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "open('x')", "str(1)", "'a'.upper()", "[1][0]", "lambda: 1",
        "[x for x in 'ab']", "pi.real", "ident", "{1: 2}", "f'{1}'", "1 +", "",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="eval"):
        evaluate(text)
