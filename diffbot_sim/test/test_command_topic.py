# SPDX-License-Identifier: Apache-2.0
"""A simulated robot obeys the commands of its own run, and of programs that name none."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from diffbot_description import load_robot
from diffbot_node.own_run import VARIABLE
from diffbot_node.robot_messages import effort_command, label, named_by, run_of
from diffbot_sim.simulator_topics import CommandTopic


@pytest.mark.parametrize(
    ("own", "theirs", "obeys"),
    [("a1", "a1", True), ("a1", "b2", False), ("a1", "", True), ("", "b2", True)],
)
def test_a_command_of_another_run_moves_nothing(monkeypatch, own, theirs, obeys):
    monkeypatch.setenv(VARIABLE, own)
    taken = []
    node = SimpleNamespace(create_subscription=lambda *_: None)
    topic = CommandTopic(node, load_robot("twil"), lambda *command: taken.append(command))
    message = effort_command()
    message.data = [0.1, 0.2]
    message.layout.dim[0].label = label(12.34, theirs)
    assert (named_by(message), run_of(message)) == (12.34, theirs)
    topic._receive(message, "sender")
    assert taken == ([((0.1, 0.2), 12.34, "sender")] if obeys else [])
