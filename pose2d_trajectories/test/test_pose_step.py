# SPDX-License-Identifier: Apache-2.0
"""The pose_step command as a process."""

import math
import signal
import time

import pytest
from paced_graph import DOMAIN, PATIENCE, Graph, start

from pose2d_trajectories.pose_message import Pose2D
from pose2d_trajectories.pose_nodes import main

pytestmark = pytest.mark.full_speed  # of its graph, others may run beside it
REMAPPED = ("--ros-args", "-r", "command:=robot/command")


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))


@pytest.mark.parametrize(
    "words, pose",
    [
        (["1", "-2e-1", "3.5"], (1.0, -0.2, 3.5)),
        (["-1, 0, -pi/2"], (-1.0, 0.0, -math.pi / 2.0)),
    ],
)
def test_it_sends_one_set_point_and_ends(words, pose):
    graph = Graph()
    try:
        commands, _ = graph.hear(Pose2D, "robot/command")
        process = start("pose_step", *words, *REMAPPED)
        graph.spin_until(lambda: process.poll() is not None)
        graph.spin_for(0.2)
    finally:
        graph.close()
    assert process.returncode == 0
    assert commands == [Pose2D(x=pose[0], y=pose[1], theta=pose[2])]


def test_it_says_when_nobody_listens():
    process = start("pose_step", "1", "0", "0", "--ros-args", "-p", "patience:=0.1", stderr=-1)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "Traceback" not in errors
    assert "no node subscribed to /command within 0.1 s" in errors


@pytest.mark.parametrize(
    "words, message",
    [
        (["1", "2"], "set point = '1 2': must be 3 numbers; give x,y,theta in m, m, rad"),
        (["1", "b", "0"], "set point = '1 b 0': y = 'b' must be a finite number in m"),
        (["1,2,inf"], "theta = 'inf' must be a finite number in rad"),
        (["1,2,3", "--ros-args", "-r", "a:=b//c"], "Couldn't parse remap rule: '-r a:=b//c'"),
        ([], "must be 3 numbers"),
    ],
)
def test_it_wants_three_numbers(words, message, capsys):
    assert main(["pose_step", *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors and "usage: pose_step X Y THETA" in errors


def test_interrupted_it_has_not_succeeded():
    """By SIGTERM: other signals take the same way, see test_paced_ends.py."""
    graph = Graph()
    try:
        process = start("pose_step", "1,0,0", stderr=-1)
        graph.spin_until(lambda: graph.other.count_publishers("command"))
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        graph.close()
    assert process.returncode == 130 and "Traceback" not in errors
