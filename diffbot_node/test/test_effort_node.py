# SPDX-License-Identifier: Apache-2.0
"""The effort node's promises on a real ROS graph: what goes out for what comes in."""

import math
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from effort_graph import QUIET, TORQUE, Graph, SteadyNode, drive, undisturbed  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_description import closed_form  # noqa: E402
from diffbot_node import launch_supervision  # noqa: E402


@pytest.fixture
def graph():
    rclpy.init(args=["--ros-args", *(word for text in QUIET for word in ("-p", text))])
    graph = Graph()
    yield graph
    graph.node.destroy_node()
    graph.robot.destroy_node()
    rclpy.shutdown()


def test_good_states_are_answered_within_the_rate_limit(graph):
    rate = graph.node.robot.limits.torque_rate
    torque = graph.say()
    assert torque == (0.0, 0.0)  # no period is known yet, so no change is allowed
    for _ in range(20):
        before, torque = torque, graph.say()
        assert all(abs(a - b) <= rate * 0.0101 for a, b in zip(torque, before, strict=True))
    assert torque == TORQUE


@pytest.mark.parametrize(
    "fault",
    [
        {"velocity": [0.0, math.nan]},
        {"position": [math.inf, 0.0]},
        {"effort": []},
        {"name": ["left_wheel_joint", "elbow"]},
        {"name": ["left_wheel_joint", "left_wheel_joint"]},
    ],
)
def test_bad_states_are_answered_by_zero(graph, fault):
    for _ in range(20):
        graph.say()
    assert graph.commands[-1] == TORQUE
    assert graph.say(**fault) == (0.0, 0.0)
    assert graph.node.refused == 1
    for _ in range(20):
        torque = graph.say()
    assert torque == TORQUE


@pytest.mark.parametrize("wanted", [(math.nan, 0.0), (0.0, math.inf)])
def test_a_law_that_fails_commands_zero(graph, wanted):
    for _ in range(20):
        graph.say()
    graph.node.wanted = wanted
    assert graph.say() == (0.0, 0.0)


def test_a_law_cannot_exceed_the_limit(graph):
    graph.node.wanted = (1e6, -1e6)
    limit = graph.node.robot.limits.traction
    torques = [graph.say() for _ in range(200)]
    assert torques[-1] == (limit, -limit)
    assert all(abs(value) <= limit for pair in torques for value in pair)


def test_states_of_other_devices_are_none_of_its_business(graph):
    for _ in range(20):
        graph.say()
    count = len(graph.commands)
    graph.publish(name=["elbow"], position=[math.nan], velocity=[0.0], effort=[0.0])
    assert graph.say() == TORQUE
    assert set(graph.commands[count:]) == {TORQUE} and graph.node.refused == 0


def test_it_does_not_start_while_another_node_commands_torque(graph):
    other = graph.robot.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(
        lambda: "other node publishes" in graph.node.waits_for().reason, "the other to be seen"
    )
    count = len(graph.commands)
    graph.stamp += 0.01
    graph.publish()
    for _ in range(20):
        graph.executor.spin_once(timeout_sec=0.01)
    assert len(graph.commands) == count
    graph.robot.destroy_publisher(other)
    graph.spin_until(lambda: not graph.node.waits_for(), "the other to be gone")
    graph.say()


def test_complaints_that_differ_in_numbers_come_once_a_second(graph, monkeypatch):
    said = []
    logger = type("Logger", (), {"warning": staticmethod(said.append)})
    monkeypatch.setattr(graph.node, "get_logger", lambda: logger)
    for step in range(50):
        graph.node.complain(f"time step = {0.01 * step} s: too long")
    graph.node.complain("something else")
    assert said == ["time step = 0.0 s: too long", "something else"]


def test_silence_is_followed_by_zero_torque(graph):
    for _ in range(20):
        graph.say()
    count = len(graph.commands)
    graph.spin_until(lambda: len(graph.commands) > count, "zero torque", timeout=2.0)
    assert graph.commands[-1] == (0.0, 0.0)


def test_repeated_stamps_get_the_same_answer_and_are_reported(graph):
    for _ in range(5):
        last = graph.say()
    count = len(graph.commands)
    # A simulator in lock-step does so until it has the answer; a robot that goes on is at fault.
    graph.repeat(6)
    graph.spin_until(lambda: len(graph.commands) > count + 6, "answers, and zero for silence")
    again = graph.commands[count:]
    assert set(again) == {last, (0.0, 0.0)}
    assert again == sorted(again, key=lambda command: command == (0.0, 0.0))
    assert graph.node.refused == 0
    time.sleep(1.0)
    count = len(graph.commands)
    graph.repeat(3)
    graph.spin_until(lambda: graph.node.refused == 3, "the last three to be refused")
    assert set(graph.commands[count:]) <= {(0.0, 0.0)}


def test_a_node_whose_starter_is_stopped_stops_until_it_is_enabled(graph, monkeypatch):
    """After Ctrl-Z or SIGSTOP nobody could end it any more."""
    drive(graph)
    monkeypatch.setattr(launch_supervision.Starter, "is_stopped", lambda starter: True)
    graph.spin_until(lambda: bool(graph.node.stopped_by), "the node to stop")
    assert "the process that started this node is stopped" in graph.node.stopped_by
    graph.spin_until(lambda: graph.commands[-1] == (0.0, 0.0), "zero")
    monkeypatch.undo()
    assert undisturbed(graph.say, 3) == (0.0, 0.0)
    graph.node.output.guard.enable()
    drive(graph)


def test_a_late_answer_ends_what_the_wheels_motion_can_prove(graph, monkeypatch):
    """As on a machine with a load of 16, where wheels seemed to turn against their torque."""
    reported = []
    robot = graph.node.loop.robot
    monkeypatch.setattr(robot, "contradiction", lambda *_: reported.append(_[2]))
    drive(graph)
    graph.node.missing = "an input"
    graph.go_on()
    graph.publish()
    graph.spin_until(lambda: graph.node.loop.pending is not None, "the state")
    end = time.monotonic() + 0.06
    graph.spin_until(lambda: time.monotonic() > end, "0.06 s to pass")
    reported.clear()
    graph.node.missing = ""
    graph.node.loop.resume()
    assert reported == [True]
    # In time again: at once, or once the machine lets it be.
    graph.spin_until(lambda: graph.say() and reported[-1] is False, "an answer in time")


def test_close_leaves_zero_torque_as_the_last_command(graph):
    for _ in range(20):
        graph.say()
    graph.node.close()
    graph.spin_until(lambda: graph.commands[-3:] == [(0.0, 0.0)] * 3, "three zeros")


def test_zero_goes_out_while_the_driver_does_not_take_commands():
    # The wheels keep a torque that was commanded before its sign changed, and speed up backwards.
    rclpy.init(args=["--ros-args", "-p", QUIET[0]])
    graph = Graph()
    gain = 2.0 * closed_form(graph.node.robot.model).k7 / graph.node.robot.wheels.radius
    angle, speed, acting = 0.0, 0.0, -0.5

    def answer(wanted):
        nonlocal angle, speed
        before, graph.node.wanted = graph.stamp, (wanted, wanted)
        graph.go_on()
        speed += gain * acting * (graph.stamp - before)
        angle += speed * (graph.stamp - before)
        return graph.ask(position=[angle, angle], effort=[acting, acting])

    def drive_until(wanted, condition):
        # A busy machine makes long periods, which are answered by zero.
        for _ in range(1000):
            if condition(answer(wanted)) or graph.node.stopped_by:
                break
        assert not graph.node.stopped_by

    held_by = graph.node.loop.robot.held_by
    try:
        drive_until(-0.5, lambda command: command == (-0.5, -0.5))
        drive_until(0.5, lambda command: command == (0.5, 0.5))
        drive_until(0.5, lambda command: "does not take the commands" in held_by().reason)
        assert answer(0.5) == (0.0, 0.0)
        acting = 0.0
        drive_until(0.5, lambda command: command == (0.5, 0.5))
        assert not held_by()
    finally:
        graph.node.destroy_node()
        graph.robot.destroy_node()
        rclpy.shutdown()


def test_a_robot_that_takes_velocities_and_has_no_masses_gets_no_torques(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(
        "drive: {command: velocity}\n"
        "wheels: {radius: 0.03, separation: 0.2}\n"
        "body: {shape: {front: 0.1, rear: -0.1, width: 0.2}}\n"
        "limits: {linear_velocity: 0.2, angular_velocity: 2.0}\n"
    )
    rclpy.init(args=["--ros-args", "-p", f"robot:={path}"])
    try:
        with pytest.raises(ValueError, match="takes velocities .* its file states no masses"):
            SteadyNode()
    finally:
        rclpy.shutdown()
