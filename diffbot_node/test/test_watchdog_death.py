# SPDX-License-Identifier: Apache-2.0
"""A node whose watchdog has died tells the wheels themselves, as its last words."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

from effort_graph import QUIET, SteadyNode  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402

from diffbot_node import command_output  # noqa: E402
from diffbot_node.launch_supervision import VARIABLE  # noqa: E402
from diffbot_node.topic_nodes import LATCHED  # noqa: E402

REMAPPED = ("-r", "effort_controller/commands:=effort_watchdog/commands")


class Graph:
    """A node that commands through a watchdog, the watchdog's input, and the wheels."""

    def __init__(self):
        arguments = [word for value in QUIET for word in ("-p", value)]
        rclpy.init(args=["--ros-args", *arguments, *REMAPPED])
        self.robot = rclpy.create_node("robot", use_global_arguments=False)
        self.at_wheels, self.at_watchdog = [], []
        self.robot.create_subscription(
            Float64MultiArray, "effort_controller/commands", self.at_wheels.append, 10
        )
        self.watchdog = self.robot.create_subscription(
            Float64MultiArray, "effort_watchdog/commands", self.at_watchdog.append, 10
        )
        self.states = self.robot.create_publisher(JointState, "joint_states", 10)
        self.node = SteadyNode()
        self.executor = SingleThreadedExecutor()
        for node in (self.robot, self.node):
            self.executor.add_node(node)

    def until(self, condition, attempts=1000):
        while not condition() and attempts:
            attempts -= 1
            self.executor.spin_once(timeout_sec=0.01)
        return condition()

    def drive(self):
        """Until the watchdog has got a torque."""
        joints = self.node.robot.joints
        state = JointState(name=list(joints.names))
        state.position = state.velocity = state.effort = [0.0, 0.0]
        state.header.stamp.sec = 100
        assert self.until(lambda: not self.node.waits_for())
        for number in range(5):
            state.header.stamp.nanosec = 10_000_000 * number
            self.states.publish(state)
            assert self.until(lambda count=number: len(self.at_watchdog) > count)
        assert self.at_wheels == []

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.robot.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def graph(domain):
    made = Graph()
    yield made
    made.close()


def zeros(messages):
    return bool(messages) and all(list(message.data) == [0.0, 0.0] for message in messages)


def test_with_its_watchdog_the_wheels_hear_from_nobody_else(graph):
    graph.drive()
    graph.node.close()
    assert graph.until(lambda: list(graph.at_watchdog[-1].data) == [0.0, 0.0])
    assert not graph.until(lambda: bool(graph.at_wheels), attempts=30)


def test_when_the_watchdog_has_gone_the_wheels_get_zero(graph):
    graph.drive()
    graph.robot.destroy_subscription(graph.watchdog)
    assert graph.until(lambda: graph.node.output.missing())
    graph.node.close()
    assert graph.until(lambda: zeros(graph.at_wheels))


def test_when_the_launch_says_that_the_watchdog_was_killed_the_wheels_get_zero(
    graph, monkeypatch, tmp_path
):
    """DDS still counts it."""
    graph.drive()
    reported = tmp_path / "failures"
    reported.write_text("effort_watchdog-2 (exit code -9)\n")
    monkeypatch.setenv(VARIABLE, str(reported))
    graph.node.close()
    assert graph.until(lambda: zeros(graph.at_wheels))


def test_the_wheels_get_zero_before_the_watchdog_that_was_killed(graph, monkeypatch, tmp_path):
    """They hold the last torque as long as a dead watchdog is told zero."""
    graph.drive()
    reported = tmp_path / "failures"
    reported.write_text("effort_watchdog-2 (exit code -9)\n")
    monkeypatch.setenv(VARIABLE, str(reported))
    output, order = graph.node.output, []
    monkeypatch.setattr(command_output, "zero_to_wheels", lambda *_: order.append("wheels"))
    monkeypatch.setattr(output, "send", lambda _: order.append("watchdog"))
    graph.node.close()
    assert order[0] == "wheels" and order.count("wheels") == 1 and "watchdog" in order


def test_a_watchdog_that_falls_silent_stops_the_node_and_the_wheels(graph):
    """Killed outright where no launch tells; the node goes on meanwhile."""
    pulse = graph.robot.create_publisher(Bool, "effort_watchdog/holds", LATCHED)
    began = time.monotonic()
    graph.drive()
    while time.monotonic() - began < 1.0:
        pulse.publish(Bool(data=False))
        graph.executor.spin_once(timeout_sec=0.01)
    assert not graph.node.stopped_by and graph.at_wheels == []
    assert graph.until(lambda: bool(graph.node.stopped_by))
    assert "effort_watchdog" in graph.node.stopped_by
    assert graph.until(lambda: zeros(graph.at_wheels))
    # Enabled again without it the node stops at once.
    graph.at_wheels.clear()
    graph.node.output.guard.enable()
    assert graph.until(lambda: bool(graph.node.stopped_by) and zeros(graph.at_wheels))


def test_a_node_that_never_began_says_nothing(graph):
    graph.robot.destroy_subscription(graph.watchdog)
    graph.node.close()
    assert not graph.until(lambda: bool(graph.at_wheels), attempts=30)
