# SPDX-License-Identifier: Apache-2.0
"""Arguments: what a file declares, what the command line gives, how both are shown."""

from typing import Any

import pytest

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.arguments import Arguments, describe, parse
from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.substitutions import installed_share


def test_parse_keeps_the_last_value() -> None:
    assert parse(["a:=1", "b:=x:=y", "a:=2"]) == {"a": "2", "b": "x:=y"}


@pytest.mark.parametrize("word", ["a", "a=1", ":=1", "a:=", ":="])
def test_malformed_words_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match="not of the form NAME:=VALUE") as error:
        parse([word])
    assert ("it has no value" in str(error.value)) is (word == "a:=")


def test_unknown_argument_is_refused_with_the_known_ones(prefix: Any) -> None:
    path = prefix.launch_file("<arg name='sim'/><arg name='robot'/>")
    with pytest.raises(UsageError) as error:
        Arguments.of(read(path).root).check({"robt": "twil"})
    assert str(error.value) == (
        "unknown argument 'robt'; did you mean 'robot'?; the arguments are: robot, sim"
    )


def test_show_args_has_the_layout_of_ros2_launch(prefix: Any) -> None:
    path = prefix.launch_file(
        "<arg name='a' description='text.'/><arg name='b' default='1'/>"
        "<arg name='c' default='$(var b)' description='pick'><choice value='1'/></arg>"
        "<arg name='d' default='x'><choice value='x'/><choice value='y'/></arg>"
        "<group if='true'><arg name='e' default=''/></group><arg name='b' default='2'/>"
    )
    assert (
        describe(Arguments.of(read(path).root).declared)
        == """\
Arguments (pass arguments as '<name>:=<value>'):

    'a':
        text.

    'b':
        no description given
        (default: '1')

    'c':
        pick. Valid choices are: ['1']
        (default: '$(var b)')

    'd':
        One of: ['x', 'y']
        (default: 'x')

    'e':*
        no description given
        (default: '')

* argument(s) which are only used if specific conditions occur"""
    )


def test_arguments_of_included_files_are_found(prefix: Any) -> None:
    share = prefix.package("robots") / "launch"
    share.mkdir()
    (share / "inner.launch.xml").write_text("<launch><arg name='inner' default='1'/></launch>")
    path = prefix.launch_file(
        "<include file='$(find-pkg-share robots)/launch/inner.launch.xml'/>"
        "<include file='$(var unknown)'/><arg name='own'/>"
    )
    root = read(path).root
    arguments = Arguments.of(root, installed_share)
    assert [argument.name for argument in arguments.declared] == ["inner", "own"]
    assert not arguments.complete  # nobody knows yet what $(var unknown) is
    assert [argument.name for argument in Arguments.of(root).declared] == ["own"]


def test_no_arguments() -> None:
    assert describe([]).endswith("\n\n  No arguments.")
