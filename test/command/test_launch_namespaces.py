# SPDX-License-Identifier: Apache-2.0
"""Robots in namespaces, as a launch file of a user's own includes ours: time and frames.

A simulator tells its time on the relative name `clock`, and ROS 2 nodes that go by a simulator's
time listen to `/clock`: in a namespace each run waited for ever for the other.
"""

import re
from pathlib import Path

import pytest

from diffbot_bringup import cli
from diffbot_bringup.xml_launch.config_file import settings
from diffbot_bringup.xml_launch.document import read


def main(words: list[str]) -> int:
    return cli.main(["launch", *words])


pytest.importorskip("ament_index_python")

LAUNCH = Path(__file__).resolve().parents[2] / "launch"
RUNS = ["adaptive", "backstepping", "calibrate", "ident", "linearizing", "pose", "siwek"]
PREFIXED = [name for name in RUNS if name not in ("calibrate", "ident")]
OWN_CLOCK = "-r /clock:=clock"


def processes(name, capsys, *words):
    """Command lines of a launch."""
    assert main(["--print", str(LAUNCH / f"{name}.launch.xml"), *words]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if "--ros-args" in line]


def test_all_launch_files_that_have_results_are_here():
    assert sorted(RUNS) == sorted(
        path.name.removesuffix(".launch.xml")
        for path in LAUNCH.glob("*.launch.xml")
        if "<diffbot_run/>" in path.read_text()
    )


@pytest.mark.parametrize("name", RUNS)
def test_a_simulated_robot_in_a_namespace_has_a_time_of_its_own(name, capsys):
    assert [line for line in processes(name, capsys) if OWN_CLOCK not in line] == []
    assert not any(OWN_CLOCK in line for line in processes(name, capsys, "sim:=none"))


@pytest.mark.parametrize("name", PREFIXED)
def test_robots_of_one_tf_tree_can_have_frames_of_their_own(name):
    """`odom` -> `base_link` of two robots on one /tf would be one robot that jumps."""
    root = read(LAUNCH / f"{name}.launch.xml").root
    known = settings(root, lambda package: str(LAUNCH.parent / package))
    shown = {each.name for each in known if each.comment}
    controller = "velocity_tracking_controller" if name == "siwek" else ""
    assert "odom_frame" in shown
    assert "frame_prefix" in shown if controller else "base_frame" in shown
    # A trajectory and steps are in a frame, too.
    assert ("frame" in shown) == (name != "pose")


@pytest.mark.parametrize(
    ("name", "words"),
    [*((name, ()) for name in RUNS), ("calibrate", ("commands:=velocity",))],
)
def test_the_recording_of_a_real_robot_ends_with_a_topic_of_the_run(name, words, capsys):
    """Not with one of the robot's driver, nor with one that nobody publishes: it would not end."""
    lines = processes(name, capsys, "sim:=none", "record:=mcap", *words)
    recorder = next(line for line in lines if line.startswith("[recorder"))
    (topic,) = re.findall(r"ends_with: '(\S+?)'", recorder)
    assert re.search(rf"topics: '[^']*\b{topic}\b", recorder)
    publisher, _, kind = topic.partition("/")
    if kind == "reference":
        assert any(f"-r reference:={topic}" in line for line in lines)
    else:
        assert kind == "status" and any(f"__node:={publisher} " in line for line in lines)


@pytest.mark.parametrize("name", RUNS)
def test_each_launch_has_a_name_and_a_folder_of_its_own(name, capsys):
    """Three in one second are three folders; each belongs to one of them (run_folder.py)."""
    folders = set()
    for _ in range(3):
        for line in processes(name, capsys):
            folders |= set(re.findall(r"\bresults: (\S+?)>", line))
    assert len(folders) == 3 and all(folder.endswith(f"-{name}") for folder in folders), folders
