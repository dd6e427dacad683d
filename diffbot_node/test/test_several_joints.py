# SPDX-License-Identifier: Apache-2.0
"""A robot with two wheels on each side: commands in parts, states that disagree, the watchdog."""

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from effort_graph import TORQUE, Graph, undisturbed  # noqa: E402
from test_effort_watchdog_node import Graph as WatchdogGraph  # noqa: E402

from diffbot_description.loading import share_directory  # noqa: E402

NAMES = ["front_left", "rear_left", "front_right", "rear_right"]
PARTS = (0.15, 0.15, -0.1, -0.1)  # of TORQUE
ZERO = (0.0,) * 4
FOUR = {"name": NAMES, "velocity": [0.0] * 4, "effort": [0.0] * 4}


@pytest.fixture
def robot(tmp_path):
    data = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text("utf-8"))
    data["joints"] = {"left": NAMES[:2], "right": NAMES[2:]}
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


@pytest.fixture
def graph(robot):
    parameters = ("input_timeout:=0.5", f"robot:={robot}")
    rclpy.init(args=["--ros-args", *(word for text in parameters for word in ("-p", text))])
    made = Graph()
    yield made
    made.node.destroy_node()
    made.robot.destroy_node()
    rclpy.try_shutdown()


def say(graph, position=(0.0,) * 4, **fields):
    return graph.say(**{**FOUR, "position": list(position), **fields})


def test_each_joint_gets_an_equal_part_in_the_order_of_the_file(graph):
    reported = []
    graph.node.on_sample = lambda sample: reported.append(sample) or TORQUE
    command = undisturbed(lambda: say(graph, (1.0, 2.0, 3.0, 4.0), effort=[0.1, 0.3, 0.5, 0.6]), 20)
    assert command == pytest.approx(PARTS)
    assert reported[-1].position == (1.5, 3.5)
    assert reported[-1].effort == pytest.approx((0.4, 1.1))


def test_a_missing_rear_wheel_gives_zero_to_all(graph):
    for _ in range(20):
        say(graph)
    lost = {"name": NAMES[:3], "position": [0.0] * 3, "velocity": [0.0] * 3, "effort": [0.0] * 3}
    assert graph.say(**lost) == ZERO
    assert "joint 'rear_right' appears 0 times" in graph.node.output.guard.reason


def test_a_stuck_encoder_of_one_wheel_stops_it_by_name_until_it_is_enabled(graph):
    # A torque that a wheel at rest withstands, so that only the disagreement can stop it.
    graph.node.wanted = (0.01, 0.01)
    for _ in range(20):
        assert any(say(graph)) or graph.node.stopped_by == ""
    angle = 0.0
    for _ in range(60):
        angle += 0.05
        command = say(graph, (angle, 0.0, angle, angle))
    assert command == ZERO
    assert "joint 'rear_left' keeps the same angle" in graph.node.stopped_by


def test_the_watchdog_passes_a_torque_for_each_joint_and_nothing_else(robot):
    graph = WatchdogGraph(f"robot:={robot}")
    try:
        graph.start()
        graph.say(*ZERO)
        assert graph.say(*PARTS) == pytest.approx(PARTS)
        assert graph.say(0.15, 0.15) == ZERO
        assert "2 values: must be one torque for each of ['front_left'" in (
            graph.node.watchdog.reason
        )
        graph.say(*ZERO)
        graph.spin(0.2)  # time enough for the rate limit
        limit = graph.node._robot.limits.torque
        assert graph.say(0.5 * limit, 0.5 * limit, 0.0, 0.0) == pytest.approx(
            (0.5 * limit, 0.5 * limit, 0.0, 0.0)
        )
        assert graph.say(0.5 * limit, 0.501 * limit, 0.0, 0.0) == ZERO
    finally:
        graph.close()
