"""The launch file for RViz: its command makes the same URDF as the library."""

import shlex
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from robot_files import changed, write

from diffbot_description import load_robot, urdf
from diffbot_description.loading import share_directory

LAUNCH = ElementTree.parse(share_directory() / "launch" / "view.launch.xml").getroot()


def run_command(robot, directory):
    """Run the $(command '...') of robot_description as launch does, and return its output."""
    (parameter,) = LAUNCH.findall("node/param[@name='robot_description']")
    # Without the type, launch would read the XML text as YAML.
    assert parameter.get("type") == "str"
    command = parameter.get("value").removeprefix("$(command '").removesuffix("')")
    command = command.replace("$(find-pkg-share diffbot_description)", str(share_directory()))
    words = shlex.split(command.replace("$(var robot)", robot))
    environment = {"PWD": str(directory)}
    return subprocess.run(
        ["env", *(f"{k}={v}" for k, v in environment.items()), *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )


def without_head(text):
    """Drop the XML declaration and the comment with the source path that xacro writes."""
    return [line for line in text.splitlines() if line.strip()][8:]


@pytest.mark.skipif(shutil.which("xacro") is None, reason="xacro is not on the PATH")
def test_command_makes_the_urdf_of_a_named_robot_and_of_a_file(tmp_path):
    named = run_command("agv", tmp_path)
    assert named.stderr == ""
    assert without_head(named.stdout) == without_head(urdf(load_robot("agv")))
    path = write(tmp_path, changed("wheels.radius", 0.08))
    own = run_command("robot.yaml", tmp_path)
    assert own.stderr == ""
    assert without_head(own.stdout) == without_head(urdf(load_robot(path)))
    assert 'radius="0.08"' in own.stdout


def test_arguments_and_programs():
    arguments = {a.get("name"): a.get("default") for a in LAUNCH.findall("arg")}
    assert arguments == {"robot": "twil", "sliders": "true", "rviz": "true"}
    assert all(a.get("description") for a in LAUNCH.findall("arg"))
    programs = [node.get("exec") for node in LAUNCH.findall("node")]
    assert programs == ["robot_state_publisher", "joint_state_publisher_gui", "rviz2"]
    assert (share_directory() / "rviz" / "view.rviz").is_file()
