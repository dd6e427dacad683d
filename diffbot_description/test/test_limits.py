# SPDX-License-Identifier: Apache-2.0
"""Limits of readers: each is documented, says what it is, and holds to the last value."""

from pathlib import Path

import pytest

from diffbot_description.files import parse_json, parse_yaml
from diffbot_description.limits import ALL, DEPTH, ELEMENTS, LimitError, parse_xml
from diffbot_description.terminal_text import LONGEST, printable, printable_lines

SECURITY = Path(__file__).resolve().parents[2] / "docs" / "security.md"


@pytest.mark.parametrize("limit", ALL, ids=lambda limit: limit.name)
def test_each_limit_is_documented_with_its_value(limit):
    value = f"{limit.value:,} {limit.unit}".replace(",", " ").rstrip()
    assert f"| {limit.name} | {value} |" in SECURITY.read_text(encoding="utf-8")


def test_the_table_documents_no_other_limit():
    table = SECURITY.read_text(encoding="utf-8").partition("| limit | value |\n|---|---|\n")[2]
    assert len(table.partition("\n\n")[0].splitlines()) == len(ALL)


@pytest.mark.parametrize("limit", ALL, ids=lambda limit: limit.name)
def test_a_limit_holds_to_its_last_value_and_says_what_to_change(limit):
    limit.check(limit.value)
    with pytest.raises(LimitError) as caught:
        limit.check(limit.value + 1)
    said = str(caught.value)
    assert said.startswith(f"{limit.name} is {limit.value + 1}, more than the limit of {limit}")
    assert said.endswith(limit.remedy) and limit.remedy


def test_xml_of_the_allowed_depth_and_size_is_read():
    deepest = "<a>" * DEPTH.value + "</a>" * DEPTH.value
    assert parse_xml(deepest).tag == "a"
    with pytest.raises(LimitError, match="depth"):
        parse_xml(f"<a>{deepest}</a>")
    assert len(parse_xml(f"<a>{'<b/>' * (ELEMENTS.value - 1)}</a>")) == ELEMENTS.value - 1
    with pytest.raises(LimitError, match="number of XML elements"):
        parse_xml(f"<a>{'<b/>' * ELEMENTS.value}</a>")


def test_entities_are_refused_before_they_expand():
    with pytest.raises(ValueError, match="entity &b;"):
        parse_xml('<!DOCTYPE a [<!ENTITY b "x">]><a>&b;</a>')


def test_json_and_yaml_of_the_allowed_depth_are_read():
    for parse in (parse_json, parse_yaml):
        # A scalar in the innermost list is a level of YAML.
        assert parse("[" * (DEPTH.value - 1) + "1" + "]" * (DEPTH.value - 1))
        for depth in (DEPTH.value + 1, 100_000):
            with pytest.raises(LimitError, match="depth of nested values"):
                parse("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode → 漢", "plain, ünïcode → 漢"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\u202eb\u2066c\u2028", "a\\u202eb\\u2066c\\u2028"),
        ("\udc80", "\\udc80"),
        (Path("/x\x1b"), "/x\\x1b"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text, shown):
    assert printable(text) == shown


def test_lines_stay_lines_and_long_texts_are_shortened():
    assert printable_lines("a\n\x1bb") == "a\n\\x1bb"
    long = printable("x" * 10_000 + "end")
    assert len(long) < LONGEST + 10 and long.endswith("end") and " … " in long
