# SPDX-License-Identifier: Apache-2.0
"""Every supported element; the expected command lines are those of the real ros2 launch."""

import os
from typing import Any

import pytest

from diffbot_bringup.xml_launch.document import LaunchError


def node(attributes: str = "", inside: str = "") -> str:
    return f'<node pkg="robots" exec="node" {attributes}>{inside}</node>'


def test_node_command_line(prefix: Any) -> None:
    (process,) = prefix.resolve(
        node(
            'name="n" namespace="ns" args="a \'b c\'" ros_args="--log-level debug"',
            '<remap from="x" to="/y"/><param name="p" value="1.5"/>',
        )
    )
    assert process.command[0] == str(prefix.path / "lib/robots/node")
    assert prefix.words(process) == [
        *("a", "b c", "--ros-args", "--log-level", "debug", "--ros-args"),
        *("-r", "__node:=n", "-r", "__ns:=/ns"),
        *("--params-file", "/ns/n:\n  ros__parameters:\n    p: 1.5\n"),
        *("-r", "x:=/y"),
    ]


def test_node_without_name_or_namespace_is_addressed_by_the_wildcard(prefix: Any) -> None:
    named, placed = prefix.resolve(
        node('name="n"', '<param name="p" value="1"/>')
        + node('namespace="/"', '<param name="p" value="1"/>')
    )
    assert prefix.words(named)[-1].startswith("/**:")
    assert prefix.words(placed)[-1].startswith("/**:")


def test_namespaces_push_and_pop(prefix: Any) -> None:
    processes = prefix.resolve(
        "<group><push_ros_namespace namespace='a'/>"
        + node()
        + "<group><push-ros-namespace namespace='b/'/>"
        + node('namespace="c"')
        + node('namespace="/d"')
        + "</group>"
        + node()
        + "</group>"
        + node()
    )
    namespaces = [
        next((word for word in prefix.words(p) if word.startswith("__ns")), None) for p in processes
    ]
    assert namespaces == ["__ns:=/a", "__ns:=/a/b/c", "__ns:=/d", "__ns:=/a", None]


def test_unscoped_group_leaks_and_scoped_group_does_not(prefix: Any) -> None:
    (process,) = prefix.resolve(
        "<group scoped='false'><let name='a' value='1'/></group>"
        "<group><let name='b' value='1'/><set_env name='GROUP_ENV' value='1'/></group>"
        + node('args="$(var a no) $(var b no) $(env GROUP_ENV no)"')
    )
    assert prefix.words(process)[:3] == ["1", "no", "no"]


@pytest.mark.parametrize(
    ("text", "truth"),
    [("true", True), (" TRUE ", True), ("1", True), ("False", False), ("0", False)],
)
def test_if_and_unless(prefix: Any, text: str, truth: bool) -> None:
    processes = prefix.resolve(
        node(f'if="{text}" args="if"') + node(f'unless="{text}" args="unless"')
    )
    assert [prefix.words(p)[0] for p in processes] == (["if"] if truth else ["unless"])


@pytest.mark.parametrize(
    "element",
    [
        "<let name='a' value='2' if='$(var no)'/>",
        "<arg name='b' if='false'/>",
        "<include file='/no/such.xml' unless='1'/>",
        "<group if='0'><let name='a' value='2'/></group>",
        "<group scoped='false'><push_ros_namespace namespace='x' if='0'/></group>",
        "<set_env name='X' value='1' if='0'/>",
        "<set_remap from='x' to='y' if='0'/>",
        "<let name='a' value='$(var undefined)' if='0'/>",
    ],
)
def test_conditions_on_every_element(prefix: Any, element: str) -> None:
    (process,) = prefix.resolve(
        f"<let name='no' value='false'/><let name='a' value='1'/>{element}"
        + node('args="$(var a) $(env X no)"')
    )
    assert prefix.words(process) == ["1", "no", "--ros-args"]
    assert "PATH" in process.environment


def test_arg_default_choice_and_let(prefix: Any) -> None:
    text = (
        "<arg name='robot' default='twil'><choice value='twil'/><choice value='agv'/></arg>"
        "<arg name='file' default='$(var robot).yaml'/><let name='robot' value='$(var robot)!'/>"
        + node('args="$(var file) $(var robot)"')
    )
    assert prefix.words(prefix.resolve(text)[0])[:2] == ["twil.yaml", "twil!"]
    assert prefix.words(prefix.resolve(text, robot="agv")[0])[:2] == ["agv.yaml", "agv!"]
    with pytest.raises(LaunchError, match=r"argument 'robot' is 'x', not one of twil, agv"):
        prefix.resolve(text, robot="x")


def test_required_argument(prefix: Any) -> None:
    with pytest.raises(LaunchError, match=r"not given: 'a' \(the a\), 'b'"):
        prefix.resolve("<arg name='a' description='the a'/><arg name='b'/>")


def test_include_passes_arguments_and_is_not_scoped(prefix: Any) -> None:
    prefix.launch_file(
        "<arg name='x'/><arg name='y' default='y0'/><let name='z' value='z1'/>"
        + node('args="$(var x) $(var y) $(var outer)"'),
        "child.launch.xml",
    )
    inner, outer = prefix.resolve(
        "<let name='outer' value='o'/><include file='$(dirname)/child.launch.xml'>"
        "<arg name='x' value='$(var outer)1'/></include>"
        + node('args="$(var x) $(var y) $(var z)"')
    )
    assert prefix.words(inner)[:3] == ["o1", "y0", "o"]
    assert prefix.words(outer)[:3] == ["o1", "y0", "z1"]


def test_include_in_a_group_is_scoped(prefix: Any) -> None:
    prefix.launch_file("<let name='z' value='1'/>", "child.launch.xml")
    (process,) = prefix.resolve(
        "<group><include file='$(dirname)/child.launch.xml'/></group>"
        + node('args="$(var z none)"')
    )
    assert prefix.words(process)[0] == "none"


def test_include_must_pass_required_arguments_even_when_they_exist_outside(
    prefix: Any,
) -> None:
    prefix.launch_file("<arg name='x'/>", "child.launch.xml")
    with pytest.raises(LaunchError, match=r"main.launch.xml:2: <include> of .*'x'"):
        prefix.resolve("<let name='x' value='1'/><include file='$(dirname)/child.launch.xml'/>")


def test_dirname_is_refused_where_ros2_launch_gives_another_folder(prefix: Any) -> None:
    prefix.launch_file("<let name='a' value='$(dirname)'/>", "sub/child.launch.xml")
    include = "<include file='$(dirname)/sub/child.launch.xml'/>"
    prefix.resolve(include)
    with pytest.raises(LaunchError, match="in or after an <include>"):
        prefix.resolve(include + "<let name='a' value='$(dirname)'/>")


def test_environment(prefix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD", "1")
    first, second = prefix.resolve(
        "<set_env name='NEW' value='a$(env OLD)'/>"
        + "<group><set_env name='OWN' value='$(env NEW)'/><set_env name='OLD' value='2'/>"
        + node()
        + "</group>"
        + node("args=\"$(command 'printenv NEW')\"")
    )
    assert (first.environment["NEW"], first.environment["OWN"]) == ("a1", "a1")
    assert first.environment["OLD"] == "2"
    assert second.environment["OLD"] == "1"
    assert "OWN" not in second.environment
    assert prefix.words(second)[0] == "a1\n"
    assert os.environ["OLD"] == "1"


def test_global_remaps_reach_nodes_of_the_scope(prefix: Any) -> None:
    inside, outside = prefix.resolve(
        "<group><set_remap from='a' to='b'/>"
        + node("", "<remap from='c' to='d'/>")
        + "</group>"
        + node()
    )
    assert prefix.words(inside) == [
        *("--ros-args", "-r", "a:=b", "-r", "c:=d"),
    ]
    assert prefix.words(outside) == ["--ros-args"]


def test_directory_output_and_end(prefix: Any) -> None:
    (process,) = prefix.resolve(node('cwd="/tmp" output="both" on_exit="shutdown"'))
    assert (process.name, process.directory, process.output) == ("node-1", "/tmp", "both")
    assert process.shutdown_on_exit


def test_names_of_processes_and_default_output(prefix: Any) -> None:
    processes = prefix.resolve(node() + node('exec_name="label" output="screen"'))
    assert [(p.name, p.output) for p in processes] == [("node-1", "log"), ("label-2", "screen")]


def test_command_and_its_standard_error(prefix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = "sh -c \\'echo out; echo err >&amp;2\\'"
    with pytest.raises(LaunchError, match="wrote to standard error"):
        prefix.resolve(f"<let name='a' value=\"$(command '{noisy}')\"/>")
    (process,) = prefix.resolve(
        node(
            f"args=\"$(command '{noisy}' ignore) $(command '{noisy}' warn) "
            f"$(command '{noisy}' capture)\""
        )
    )
    assert prefix.words(process)[:3] == ["out\n", "out\n", "out\nerr\n"]
    assert "wrote:\nerr" in capsys.readouterr().err
