# SPDX-License-Identifier: Apache-2.0
"""What is not supported is refused by file and line, before anything runs."""

import os
from typing import Any

import pytest

from diffbot_bringup.xml_launch.document import LaunchError, check, read

NODE = '<node pkg="robots" exec="node"'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<timer period='1'/>", "<timer> in <launch> is not supported; supported are arg, let,"),
        ("<executable cmd='ls'/>", "<executable> in <launch> is not supported"),
        ("<log message='a'/>", "diffbot_run; use ros2 launch for others"),
        ("<unset_env name='a'/>", "diffbot_run; use ros2 launch for others"),
        ("<set_parameter name='a' value='1'/>", "diffbot_run; use ros2 launch for others"),
        (f"{NODE}><env name='a' value='b'/></node>", "<env> in <node> is not supported"),
        ("<let name='a' value='b'><let/></let>", "is not supported; use ros2 launch for others"),
        ("<nod/>", "did you mean 'node'"),
        ("<group><keep name='a' value='b'/></group>", "<keep> in <group>"),
        ("<group forwarding='false'/>", "attribute 'forwarding' of <group>"),
        ("<group scoped='$(var x)'/>", "scoped='$(var x)'"),
        (f"{NODE} launch-prefix='gdb'/>", "attribute 'launch-prefix' of <node>"),
        (f"{NODE} respawn='true'/>", "respawn='true'"),
        (f"{NODE} respawn_delay='1'/>", "attribute 'respawn_delay'"),
        (f"{NODE} on_exit='restart'/>", "on_exit='restart'"),
        (f"{NODE} sigterm_timeout='1'/>", "attribute 'sigterm_timeout'"),
        (f"{NODE} nmae='x'/>", "did you mean 'name'"),
        (f"{NODE} if='1' unless='0'/>", "both 'if' and 'unless'"),
        ("<node exec='node'/>", "<node> needs the attribute 'pkg'"),
        ("<node pkg='a' exec='b' args=\"sh -c 'a $(dirname)'\"/>", "No closing quotation"),
        ("<include/>", "<include> needs the attribute 'file'"),
        ("<include file='a'><let name='a' value='b'/></include>", "<let> in <include>"),
        ("<arg name='a'><choice/></arg>", "<choice> needs the attribute 'value'"),
        ("<arg name='a' value='b'/>", "attribute 'value' of <arg>"),
        ("<let name='launch-prefix' value='gdb'/>", "'launch-prefix' changes how"),
        ("<let name='a' value='$(anon x)'/>", "$(anon) is not supported"),
        # New in Lyrical.
        ("<let name='a' value='$(path-join a b)'/>", "$(path-join) is not supported"),
        ("<let name='a' value='$(string-join . a b)'/>", "$(string-join) is not supported"),
        ("<log_info message='a'/>", "<log_info> in <launch> is not supported"),
        ("<for_each values='a'/>", "<for_each> in <launch> is not supported"),
        ("<let name='a' value='$(find-exec ls)'/>", "find-pkg-share); use ros2 launch for others"),
        ("<let name='a' value='$(vra x)'/>", "did you mean 'var'"),
        ("<let name='a' value='$(dirname x)'/>", "$(dirname) takes 0 argument(s), not 1"),
        ("<let name='a' value='$(var x'/>", "bad substitution"),
        (f"{NODE}><param/></node>", "<param> needs 'name' or 'from'"),
        (f"{NODE}><param name='a'/></node>", "either 'value' or nested"),
        (f"{NODE}><param from='a' name='b'/></node>", "<param from=...> takes no other"),
        (f"{NODE}><param from='a' allow_substs='maybe'/></node>", "allow_substs='maybe'"),
        (f"{NODE}><param name='a' value='1' allow_substs='true'/></node>", "needs 'from'"),
        (f"{NODE}><param name='a' value='b' type='double'/></node>", "type='double'"),
        (f"{NODE}><param name='a' value='{{b: 1}}'/></node>", " as dict; supported"),
        (f"{NODE}><param name='a' value='null'/></node>", " as NoneType; supported"),
        (f"{NODE}><param name='a' value='x' type='int'/></node>", "not of type int"),
        (f"{NODE}><param name='a' value='[1, x]'/></node>", "not of one type"),
        (f"{NODE}><remap from='a'/></node>", "<remap> needs the attribute 'to'"),
        ("<set_parameters_from_file filename='a'/>", "<set_parameters_from_file>"),
        ("<node_container/>", "<node_container>"),
    ],
)
def test_refused_with_file_and_line(prefix: Any, line: str, message: str) -> None:
    path = prefix.launch_file(f"<!-- a comment -->\n\n{line}")
    with pytest.raises(LaunchError) as error:
        check(read(path).root)
    assert str(error.value).startswith(f"{path}:4: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<let name='a' value='$(var x)'/>", "no argument or variable has this name"),
        ("<let name='a' value='$(env NO_SUCH_NAME)'/>", "environment variable is not set"),
        ("<let name='a' value='$(find-pkg-share nope)'/>", "package 'nope' not found"),
        ("<let name='a' value='$(eval \"open(1)\")'/>", "unknown name 'open'"),
        ("<let name='a' value=\"$(command 'false')\"/>", "ended with 1"),
        ("<let name='a' value=\"$(command 'ls' strict)\"/>", "'strict' is not one of fail, ignore"),
        ("<let name='a' value='b' if='yes'/>", "expected true, 1, false or 0"),
        ("<let name='a' value='b' if=''/>", "expected true, 1, false or 0"),
        ("<node pkg='robots' exec='nodes'/>", "did you mean 'node'"),
        ("<node pkg='nope' exec='node'/>", "package 'nope' not found"),
        (f"{NODE} output='own_log'/>", "output 'own_log' is not supported"),
        (f"{NODE} name='1a'/>", "node name '1a' is not valid"),
        (f"{NODE} namespace='a//b'/>", "namespace '/a//b' is not valid"),
        ("<push_ros_namespace namespace='a-b'/>", "namespace '/a-b' is not valid"),
        ("<include file='/no/such.launch.xml'/>", "No such file"),
        ("<include file='a.launch.py'/>", "only XML launch files"),
        ("<include file='$(dirname)/main.launch.xml'/>", "includes itself"),
        (
            "<let name='laps' value='abc'/><let name='a' value=\"$(eval '2 * $(var laps)')\"/>",
            "<let>: with laps:=abc: $(eval): unknown name 'abc'",
        ),
    ],
)
def test_failures_name_file_and_line(prefix: Any, line: str, message: str) -> None:
    with pytest.raises(LaunchError) as error:
        prefix.resolve(f"\n<!-- c -->\n{line}")
    assert message in str(error.value)
    if "No such file" not in message and "itself" not in message:
        assert str(error.value).startswith(f"{prefix.files}/main.launch.xml:3: ")


def test_a_branch_that_is_not_taken_is_checked_too(prefix: Any) -> None:
    with pytest.raises(LaunchError, match="main.launch.xml:3: <timer>"):
        prefix.resolve("<group if='false'>\n<timer/></group>")


def test_broken_xml_names_the_line(prefix: Any) -> None:
    path = prefix.launch_file("<group>\n<let></group>")
    with pytest.raises(LaunchError, match=r"main\.launch\.xml:3: not well-formed XML: mismatched"):
        read(path)


@pytest.mark.parametrize(
    ("make", "said"), [(os.mkfifo, "is not a regular file"), (os.mkdir, "is a folder")]
)
def test_what_is_no_regular_file_is_not_opened(prefix: Any, make: Any, said: str) -> None:
    path = prefix.files / "odd.launch.xml"
    make(path)
    with pytest.raises(LaunchError, match=rf"odd\.launch\.xml: {said}"):
        read(path)


def test_wrong_root(prefix: Any) -> None:
    path = prefix.files / "a.xml"
    path.write_text("<robot/>")
    with pytest.raises(LaunchError, match="expected <launch>"):
        check(read(path).root)
