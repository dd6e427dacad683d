# SPDX-License-Identifier: Apache-2.0
"""What a simulated robot makes of the commands that arrive."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy")

from std_msgs.msg import Float64MultiArray

from diffbot_description import load_robot
from diffbot_sim.simulator_topics import CommandTopic


@pytest.mark.parametrize("bad", [[], [0.3], [0.3, 0.4, 0.5], [0.3, math.nan], [math.inf, 0.0]])
def test_a_command_that_cannot_be_used_leaves_the_last_good_one(bad):
    taken, said = [], []
    log = SimpleNamespace(warning=lambda text, **_: said.append(text))
    node = SimpleNamespace(create_subscription=lambda *_: None, get_logger=lambda: log)
    topic = CommandTopic(node, load_robot("twil"), lambda *command: taken.append(command))
    topic._receive(Float64MultiArray(data=[0.1, 0.2]), "one")
    topic._receive(Float64MultiArray(data=bad), "another")
    assert taken == [((0.1, 0.2), "one"), ((0.1, 0.2), "another")]
    (why,) = said
    assert f"command {bad} refused: must be 2 finite efforts" in why and "[0.1, 0.2] N m" in why
