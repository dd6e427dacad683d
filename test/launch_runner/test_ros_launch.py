# SPDX-License-Identifier: Apache-2.0
"""What the elements <diffbot_run/> and <diffbot_robot/> of launch files do."""

import os
import runpy
from pathlib import Path
from typing import Any

import pytest
import setuptools

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.document import LaunchError, read
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_bringup.xml_launch.ros_launch import (
    LaunchedProcesses,
    check_command_line,
    check_config,
    is_launched,
)
from diffbot_description import load_robot, urdf

ROOT = Path(__file__).parents[2]
LAUNCH = ROOT / "launch"
IDENT = LAUNCH / "ident.launch.xml"


@pytest.mark.parametrize("path", sorted(LAUNCH.glob("*.launch.xml")), ids=lambda path: path.stem)
def test_each_launch_file_checks_its_arguments_before_anything_else(path: Path) -> None:
    assert read(path).root.children[0].tag == "diffbot_run"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("torque_noise:=0.05", "is a parameter: write it into a file, config:=FILE"),
        ("duraton:=5.0", "did you mean 'duration'?"),
        ("duration:=long", "not a number such as 2, 0.5 or 1.0e-3"),
        ("sim:=mujocco", "did you mean 'mujoco'?"),
    ],
)
def test_a_wrong_argument_is_refused_as_by_diffbot_launch(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=word.partition(":=")[0]) as refused:
        check_command_line(IDENT, ["seed:=3", word])
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_right_arguments_and_those_of_ros2_launch_itself_are_accepted() -> None:
    check_command_line(IDENT, ["seed:=3", "sim:=ideal", "launch-prefix:=nice"])


def test_a_wrong_file_of_parameters_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("/**/simulatr:\n  ros__parameters:\n    torque_noise: 0.05\n")
    with pytest.raises(UsageError, match="did you mean 'simulator'"):
        check_config(IDENT, str(file))
    check_config(IDENT, "none")


def test_a_file_that_another_one_includes_is_not_the_one_that_is_launched(tmp_path: Path) -> None:
    share = tmp_path / "share/diffbot_bringup/launch/ident.launch.xml"
    assert is_launched(share, ["ros2", "launch", "diffbot_bringup", "ident.launch.xml", "seed:=1"])
    assert is_launched(share, ["ros2", "launch", "-d", str(share)])
    assert not is_launched(share, ["ros2", "launch", "my_robot", "ident.launch.xml"])
    assert not is_launched(share, ["ros2", "launch", "diffbot_bringup", "both.launch.xml"])


def test_a_launch_with_a_failed_process_ends_with_an_error_when_the_last_one_has_ended() -> None:
    processes = LaunchedProcesses()
    for _ in range(3):
        processes.started()
    processes.ended("ident-2", 1)
    processes.ended("simulator-1", 0)
    with pytest.raises(RuntimeError, match=r"failed: ident-2 \(1\)"):
        processes.ended("ident_report-3", 0)


def test_a_launch_without_failures_ends_well() -> None:
    processes = LaunchedProcesses()
    processes.started()
    processes.ended("composed-1", 0)


def test_an_entry_point_makes_ros_launch_know_the_element(monkeypatch: Any) -> None:
    given: dict[str, Any] = {}
    monkeypatch.chdir(ROOT / "diffbot_bringup")
    monkeypatch.setattr(setuptools, "setup", lambda **words: given.update(words))
    runpy.run_path("setup.py")
    (line,) = given["entry_points"]["launch.frontend.launch_extension"]
    module = ROOT / "diffbot_bringup" / f"{line.partition(' = ')[2].replace('.', '/')}.py"
    text = module.read_text(encoding="utf-8")
    assert all(f'@expose_action("{name}")' in text for name in ("diffbot_run", "diffbot_robot"))


# The element <diffbot_robot/>: which kind of robot the launch is for.

MINIMAL = """drive: {command: velocity}
wheels: {radius: 0.033, separation: 0.16}
body: {shape: {front: 0.07, rear: -0.07, width: 0.14}}
limits: {linear_velocity: 0.22, angular_velocity: 2.84}
"""


def nodes_of(*given: tuple[str, str]) -> tuple[str, str]:
    """Return the kind and the simulator of launch ident, whose nodes are checked to be of both."""
    resolver = Resolver(os.environ)
    resolver.file(IDENT, given)
    values = resolver.scope.configurations
    text = " ".join(map(str, resolver.processes))
    velocity = values["kind"] == "velocity"
    assert ("diffbot_ident/velocity_ident" in text) == velocity
    assert ("diffbot_sim/velocity_simulator" in text) == (velocity and values["sim"] != "none")
    return values["kind"], values["sim"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), ("effort", "mujoco")),
        ((("robot", "twil"), ("sim", "none")), ("effort", "none")),
        ((("robot", "turtlebot2"),), ("velocity", "velocity")),
        ((("robot", "turtlebot2"), ("sim", "none")), ("velocity", "none")),
        ((("sim", "velocity"),), ("velocity", "velocity")),
        ((("commands", "velocity"),), ("velocity", "velocity")),
        ((("commands", "velocity"), ("robot", "twil"), ("sim", "none")), ("velocity", "none")),
        ((("commands", "effort"), ("sim", "ideal")), ("effort", "ideal")),
    ],
)
def test_the_kind_of_robot_chooses_nodes_and_simulator(given: Any, expected: Any) -> None:
    assert nodes_of(*given) == expected


def test_the_robots_own_file_says_what_it_takes(tmp_path: Path) -> None:
    file = tmp_path / "mÿ robot.yaml"
    file.write_text(MINIMAL, encoding="utf-8")
    assert nodes_of(("robot", str(file))) == ("velocity", "velocity")
    assert nodes_of(("robot", str(file)), ("sim", "none")) == ("velocity", "none")


def test_a_urdf_says_what_its_wheels_take(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(urdf(load_robot("turtlebot2")), encoding="utf-8")
    assert nodes_of(("robot", str(file)), ("sim", "none")) == ("velocity", "none")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((("robot", "turtlebot2"), ("commands", "effort")), "drive.command = velocity; leave"),
        ((("robot", "turtlebot2"), ("sim", "mujoco")), "drive.command = velocity; leave sim:= out"),
        ((("commands", "velocity"), ("sim", "ideal")), "leave one of commands:= and sim:= out"),
        ((("commands", "effort"), ("sim", "velocity")), "leave one of commands:= and sim:= out"),
    ],
)
def test_what_contradicts_the_robot_is_refused_in_one_sentence(given: Any, says: str) -> None:
    with pytest.raises(UsageError, match="takes") as refused:
        nodes_of(*given)
    text = str(refused.value)
    assert says in text and "\n" not in text and ".launch.xml" not in text


@pytest.mark.parametrize("given", [(), (("sim", "none"),), (("watchdog", "false"),)])
def test_without_a_robots_file_only_a_file_is_made(given: Any) -> None:
    resolver = Resolver(os.environ)
    resolver.file(IDENT, (("robot", "auto"), ("results", "a b"), *given))
    (process,) = resolver.processes
    assert [str(word) for word in process.command[1:7]] == [
        *("--folder", "a b", "--odom", "odom", "--cmd-vel", "cmd_vel"),
    ]


def test_a_file_is_made_of_real_robots_only() -> None:
    with pytest.raises(UsageError, match="from the topics of a real robot, but sim is 'ideal'"):
        nodes_of(("robot", "auto"), ("sim", "ideal"))


def test_a_launch_file_without_the_arguments_for_the_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.launch.xml"
    path.write_text('<launch><arg name="robot" default="twil"/><diffbot_robot/></launch>')
    with pytest.raises(LaunchError, match="needs <arg name='commands'/> before it"):
        Resolver(os.environ).file(path, ())
