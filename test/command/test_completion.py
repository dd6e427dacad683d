# SPDX-License-Identifier: Apache-2.0
"""The Tab key completes commands, launch files, their arguments and values, options and robots."""

import pytest

from diffbot_bringup.commands import complete


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("./diffbot la", ["launch "]),
        ("./diffbot launch ide", ["ident "]),
        ("./diffbot launch ident aren", ["arena:="]),
        ("./diffbot launch ident arena:=3x3 aren", []),
        ("./diffbot launch ident robot:=twi", ["twil "]),
        ("./diffbot launch ident view:=t", ["true "]),
        ("./diffbot launch nothing aren", []),
        ("./diffbot check robot:=ag", ["agv "]),
        ("./diffbot start --rob", ["--robot "]),
        ("./diffbot start --robot turt", ["turtlebot2 "]),
        ("./diffbot start --fault swap", ["swapped "]),
        ("./diffbot identify my_f", []),
        ("./diffbot nothing --h", []),
    ],
)
def test_a_word_is_completed(monkeypatch, capsys, line, expected):
    monkeypatch.setenv("COMP_LINE", line + " and what follows the cursor")
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    assert complete.main([]) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_each_choice_of_an_argument_is_offered():
    offered = complete.candidates(["launch", "ident", "sim:="])
    assert "sim:=none " in offered and "sim:=ideal " in offered


def test_without_a_line_it_prints_what_registers_it(monkeypatch, capsys):
    monkeypatch.delenv("COMP_LINE", raising=False)
    assert complete.main([]) == 0
    assert capsys.readouterr().out.startswith("complete -o nospace -o default -C '")
