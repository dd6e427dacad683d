# SPDX-License-Identifier: Apache-2.0
"""Text with substitutions: the expected trees were checked against ROS 2's own parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_bringup.xml_launch.substitutions import Call, parse, split


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", ("",)),
        ("plain $ text $5", ("plain $ text $5",)),
        ("$(var x)", (Call("var", (("x",),)),)),
        ("a$(dirname)b", ("a", Call("dirname", ()), "b")),
        ("$(env A b)", (Call("env", (("A",), ("b",))),)),
        (r"\$(var x)", ("$(var x)",)),
        (r"a\\b", (r"a\b",)),
        ("$(eval '1 + 2')", (Call("eval", (("1 + 2",),)),)),
        ('$(eval "it\'s")', (Call("eval", (("it's",),)),)),
        (r"$(eval 'it\'s')", (Call("eval", (("it's",),)),)),
        ("$(env A '')", (Call("env", (("A",), ())),)),
        (
            "$(var a-$(var b))",
            (Call("var", (("a-", Call("var", (("b",),))),)),),
        ),
        (
            "$(eval '$(var a) + 1')",
            (Call("eval", ((Call("var", (("a",),)), " + 1"),)),),
        ),
    ],
)
def test_tree(text: str, tree: tuple) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "$(var x",
        "$()",
        "$( var x)",
        "$(var  x)",
        "$(var x )",
        "$(1 x)",
        "$(eval 'a)",
        "$(eval 'a'b)",
    ],
)
def test_mistakes_are_refused_with_their_column(text: str) -> None:
    with pytest.raises(ValueError, match=r"bad substitution: expected .* column \d+"):
        parse(text)


@given(st.text(alphabet=st.characters(blacklist_characters="$\\"), min_size=1))
def test_text_without_dollar_and_backslash_stays(text: str) -> None:
    assert parse(text) == (text,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b 'c d'", [("a",), ("b",), ("c d",)]),
        ("a$(var x) b", [("a", "$"), ("b",)]),
        ("$(var x) $(var y)", [("$",), ("$",)]),
        ("$(var x)$(var y)", [("$", "$")]),
        ("--p $(var x)/q r s", [("--p",), ("$", "/q"), ("r",), ("s",)]),
        ("a ", [("a",)]),
        ("", [()]),
    ],
)
def test_command_line_is_split_at_spaces_of_plain_text(text: str, words: list) -> None:
    results = [
        tuple(part if isinstance(part, str) else "$" for part in word)
        for word in split(parse(text))
    ]
    assert results == words


def test_quotes_around_a_substitution_are_refused() -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        split(parse("sh -c 'echo $(var x)'"))
