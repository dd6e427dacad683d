# SPDX-License-Identifier: Apache-2.0
"""A robot whose efforts are currents: nodes think in N m, the wires carry ampere."""

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from effort_graph import QUIET, TORQUE, Graph  # noqa: E402
from test_effort_watchdog_node import Graph as WatchdogGraph  # noqa: E402

from diffbot_description.loading import share_directory  # noqa: E402

CONSTANTS = (0.25, 0.3)  # N m/A


@pytest.fixture
def robot(tmp_path):
    data = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text("utf-8"))
    data["drive"] = {"effort_unit": "ampere", "torque_constant": list(CONSTANTS)}
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_a_node_reads_and_commands_currents(robot):
    parameters = (*QUIET, f"robot:={robot}")
    rclpy.init(args=["--ros-args", *(word for text in parameters for word in ("-p", text))])
    graph = Graph()
    try:
        reported = []
        graph.node.on_sample = lambda sample: reported.append(sample.effort) or TORQUE
        for _ in range(20):
            command = graph.say(effort=[2.0, -1.0])
        assert reported[-1] == pytest.approx((0.5, -0.3))
        wanted = [torque / k for torque, k in zip(TORQUE, CONSTANTS, strict=True)]
        assert command == pytest.approx(wanted)
    finally:
        graph.node.destroy_node()
        graph.robot.destroy_node()
        rclpy.shutdown()


def test_the_watchdog_passes_currents_up_to_the_limit_of_torque(robot):
    graph = WatchdogGraph(f"robot:={robot}")
    try:
        graph.start()
        limit = graph.node._robot.limits.torque
        graph.say(0.0, 0.0)
        assert graph.say(0.4, -0.4) == pytest.approx((0.4, -0.4))
        graph.say(0.0, 0.0)
        graph.spin(0.2)  # time enough for the rate limit
        most = limit / CONSTANTS[0]
        assert graph.say(most, 0.0) == pytest.approx((most, 0.0))
        assert graph.say(most * 1.001, 0.0) == (0.0, 0.0)
    finally:
        graph.close()
