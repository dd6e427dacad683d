# SPDX-License-Identifier: Apache-2.0
"""The launch file for RViz: its command makes the same URDF as the library."""

import shlex
from xml.etree import ElementTree

from foreign_urdfs import robot as foreign
from robot_files import changed, write

from diffbot_description import load_robot, urdf
from diffbot_description.loading import share_directory
from diffbot_description.robot_urdf import main

LAUNCH = ElementTree.parse(share_directory() / "launch" / "view.launch.xml").getroot()


def run_command(robot, capsys):
    """Run the $(command '...') of robot_description as launch does, and return its output."""
    (parameter,) = LAUNCH.findall("node/param[@name='robot_description']")
    # Without the type, launch would read the XML text as YAML.
    assert parameter.get("type") == "str"
    # A robot made on the fly is spoken of on standard error, which launch refuses by default.
    assert parameter.get("value").endswith("' 'warn')")
    command = parameter.get("value").removeprefix("$(command '").removesuffix("' 'warn')")
    words = shlex.split(command.replace("$(var robot)", str(robot)))
    assert words[:4] == ["ros2", "run", "diffbot_description", "robot_urdf"]
    assert main(words[4:]) == 0
    return capsys.readouterr().out.strip()


def test_command_makes_the_urdf_of_a_named_robot_and_of_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_command("agv", capsys) == urdf(load_robot("agv")).strip()
    path = write(tmp_path, changed("wheels.radius", 0.08))
    own = run_command("robot.yaml", capsys)
    assert own == urdf(load_robot(path)).strip()
    assert 'radius="0.08"' in own
    (tmp_path / "my robot.urdf").write_text(foreign())
    assert 'link="left_wheel_link"' in run_command("my robot.urdf", capsys)


def test_a_wrong_robot_is_told(capsys):
    assert main(["twill"]) == 2
    assert "robot_urdf: unknown robot 'twill'" in capsys.readouterr().err


def test_arguments_and_programs():
    arguments = {a.get("name"): a.get("default") for a in LAUNCH.findall("arg")}
    assert arguments == {"robot": "twil", "sliders": "true", "rviz": "true"}
    assert all(a.get("description") for a in LAUNCH.findall("arg"))
    programs = [node.get("exec") for node in LAUNCH.findall("node")]
    assert programs == ["robot_state_publisher", "joint_state_publisher_gui", "rviz2"]
    assert (share_directory() / "rviz" / "view.rviz").is_file()
