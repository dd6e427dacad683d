# SPDX-License-Identifier: Apache-2.0
"""`diffbot check` of a recording finds the same faults as in a running graph."""

import json
import math

import pytest

pytest.importorskip("rosbags")

from made_recordings.recorded_bag import JOINTS, RecordedBag

from arc_odometry import JointSample
from diffbot_check.command import main

NAMES = ("wheel_left_joint", "wheel_right_joint")


def recorded(folder, names=JOINTS, effort=True, rate=100.0):
    with RecordedBag(folder / "run") as bag:
        for k in range(300):
            t = 1.0 + k / rate
            turns = math.sin(2.0 * t), math.cos(t)
            speeds = 2.0 * math.cos(2.0 * t), -math.sin(t)
            bag.joint_state(
                "/joint_states", JointSample(t, turns, speeds, (0.1, 0.1)), names, effort
            )
    return str(folder / "run")


def checked(capsys, *words):
    status = main([*words, "--json"], "diffbot check")
    return status, json.loads(capsys.readouterr().out)


def test_a_good_recording_is_ready_for_identification(tmp_path, capsys):
    status, report = checked(capsys, recorded(tmp_path), "robot:=twil")
    assert (status, report["commands"]) == (0, "effort")
    assert report["tasks"]["ident, torque"]["ready"] and "drive, torque" not in report["tasks"]


def test_a_recording_needs_commands_of_velocity_robots_only(tmp_path, capsys):
    status, report = checked(capsys, recorded(tmp_path), "robot:=turtlebot2")
    assert status == 1
    assert report["tasks"]["ident, velocity"]["lacks"] == ["odometry", "velocity commands"]
    assert report["tasks"]["calibrate"]["lacks"] == ["gyro or pose", "odometry"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"names": NAMES}, "'left_wheel_joint' may be 'wheel_left_joint'"),
        ({"effort": False}, "no effort of left_wheel_joint"),
        ({"rate": 8.0}, "8 messages a second"),
    ],
)
def test_its_faults_are_named(fault, words, tmp_path, capsys):
    status, report = checked(capsys, recorded(tmp_path, **fault), "--robot", "twil")
    assert status == 1
    assert any(words in each["what"] for each in report["findings"])


def test_the_only_topic_of_a_type_takes_the_place_of_the_usual_name(tmp_path, capsys):
    with RecordedBag(tmp_path / "run") as bag:
        for k in range(200):
            sample = JointSample(1.0 + 0.01 * k, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
            bag.joint_state("/one/joint_states", sample)
    status, report = checked(capsys, str(tmp_path / "run"), "robot:=twil")
    assert status == 0 and "/one/joint_states" in report["seen"][0]["text"]


def test_a_recording_of_nothing_and_no_recording_are_refused_in_a_sentence(tmp_path, capsys):
    with RecordedBag(tmp_path / "run") as bag:
        bag.number("/battery", 1.0, 12.0)
    for path, words in (
        (tmp_path / "run", "no topic of a robot"),
        (tmp_path / "x.mcap", "no such"),
    ):
        assert main([str(path)], "diffbot check") == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1
