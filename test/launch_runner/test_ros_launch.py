# SPDX-License-Identifier: Apache-2.0
"""What the launch files' element <diffbot_run/> does in `ros2 launch`."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import setuptools

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.ros_launch import (
    LaunchedProcesses,
    check_command_line,
    check_config,
    is_launched,
)

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
    assert '@expose_action("diffbot_run")' in module.read_text(encoding="utf-8")
