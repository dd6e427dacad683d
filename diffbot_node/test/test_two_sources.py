# SPDX-License-Identifier: Apache-2.0
"""A commanding node whose robot's states come from two, with bad stamps, or after a stop."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

from effort_graph import TORQUE, drive, made_graphs  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_node.node_process import make_executor  # noqa: E402
from diffbot_node.senders import Senders, WithOrigin, origin  # noqa: E402
from diffbot_node.source_watch import SETTLING  # noqa: E402
from diffbot_node.state_subscription import LOOKS_AFTER_STALL  # noqa: E402

ZERO = (0.0, 0.0)
WHEELS = ["left_wheel_joint", "right_wheel_joint"]


@pytest.fixture
def make_graph():
    with made_graphs() as make:
        yield make


@pytest.fixture
def graph(make_graph):
    return make_graph()


def state(stamp, position=(0.0, 0.0), names=WHEELS):
    message = JointState(name=names, position=list(position))
    message.velocity, message.effort = [0.0, 0.0], [0.0, 0.0]
    message.header.stamp.sec = int(stamp // 1)
    message.header.stamp.nanosec = int(stamp % 1 * 1e9)
    return message


@pytest.mark.parametrize("make", [SingleThreadedExecutor, make_executor])
def test_senders_are_told_apart_by_each_executor(graph, make):
    heard, node = [], graph.robot
    others = [node.create_publisher(JointState, "others", 10) for _ in range(2)]
    listener = rclpy.create_node("listener")
    listener.create_subscription(
        JointState, "others", WithOrigin(lambda *reported: heard.append(reported)), 10
    )
    executor = make()
    executor.add_node(listener)
    graph.spin_until(lambda: all(o.get_subscription_count() for o in others), "the match")
    for topic in (*others, *others):
        topic.publish(state(1.0))
    for _ in range(200):
        executor.spin_once(timeout_sec=0.05)
        if len(heard) == 4:
            break
    executor.remove_node(listener)
    listener.destroy_node()
    known = Senders()
    senders = [known.identify(came_from) for _, came_from in heard]
    assert len(senders) == 4 and isinstance(heard[0][0], JointState)
    if None not in senders:  # rclpy before Jazzy does not say
        assert len(set(senders)) == 2


def test_rclpy_before_jazzy_knows_no_senders():
    heard = []
    WithOrigin(lambda *reported: heard.append(reported))("a message", {"source_timestamp": 1})
    assert heard == [("a message", None)]


@pytest.mark.parametrize("first, second", [(1000, 5), (5, 1000), (7, 7), (7, 8), (8, 7), (40, 41)])
def test_two_counts_that_take_turns_are_two_senders(first, second):
    """What rclpy of Jazzy tells: numbers of messages; the second publisher begins after 3."""
    senders = Senders()
    number = lambda count: origin({"publication_sequence_number": count})  # noqa: E731
    alone = {senders.identify(number(first + k)) for k in range(3)}
    assert len(alone) == 1
    both = [senders.identify(number(count + k)) for k in range(6) for count in (first + 3, second)]
    turns = sum(one != other for one, other in zip(both, both[1:], strict=False))
    assert set(both) > alone and turns >= 8


def test_a_count_with_losses_is_one_sender_and_one_that_begins_anew_is_another():
    senders = Senders()
    assert {senders.identify(k) for k in (1, 2, 5, 90, 91, 4000)} == {1}
    assert {senders.identify(k) for k in (1, 2, 3999, 4000, 4001, 4002)} == {2}


def test_a_second_publisher_of_the_wheels_stops_it_until_it_is_enabled(graph):
    drive(graph)
    second = graph.robot.create_publisher(JointState, "joint_states", 10)
    graph.spin_until(lambda: graph.node.count_publishers("joint_states") == 2, "the second")
    assert graph.say() == TORQUE  # it has said nothing yet
    for _ in range(5):
        second.publish(state(graph.stamp + 0.005))
        graph.say()
    assert graph.say() == ZERO
    why = graph.node.stopped_by
    assert "two sources" in why and "2 publish /joint_states" in why and "/robot" in why


def test_a_driver_that_is_started_anew_stops_it_until_it_is_enabled(graph):
    """It went on by itself, whoever was at the robot meanwhile."""
    drive(graph)
    if not graph.node.states.knows_senders:
        pytest.skip("rclpy before Jazzy does not say who sends")
    graph.robot.destroy_publisher(graph.states)
    graph.states = graph.robot.create_publisher(JointState, "joint_states", 10)
    graph.spin_until(graph.states.get_subscription_count, "the new driver to match")
    graph.say()
    end = time.monotonic() + 2.0 * SETTLING
    while time.monotonic() < end:
        assert graph.say() == ZERO
    # A busy machine may let a single state through until then: what was said after it counts.
    assert graph.say() == ZERO
    assert "driver was restarted" in graph.node.stopped_by
    assert graph.node.output.guard.enable() == ""
    while graph.say() != TORQUE:
        assert time.monotonic() < end + 5.0


def test_a_publisher_of_other_joints_is_welcome(graph):
    drive(graph)
    arm = graph.robot.create_publisher(JointState, "joint_states", 10)
    graph.spin_until(lambda: graph.node.count_publishers("joint_states") == 2, "the arm")
    for _ in range(20):
        arm.publish(state(3.0, names=["shoulder", "elbow"]))
        assert graph.say() == TORQUE
    assert not graph.node.stopped_by


@pytest.mark.parametrize("stamp", [-1.0, -0.5, 2**31 - 1.0])
def test_a_stamp_that_cannot_be_used_is_left_out(graph, stamp):
    drive(graph)
    refused, count = graph.node.refused, len(graph.commands)
    graph.states.publish(state(stamp))
    graph.stamp += 0.01  # in the place of a good one
    graph.spin_until(lambda: len(graph.commands) > count, "zero")
    assert graph.commands[-1] == ZERO and graph.node.refused == refused + 1
    graph.say()
    assert graph.say() == TORQUE


def test_a_stamp_that_cannot_be_used_before_the_start_is_no_command(make_graph):
    graph = make_graph("enabled:=true")
    graph.states.publish(state(-1.0))
    graph.spin_until(lambda: graph.node.refused, "the refusal")
    assert graph.commands == []


def test_of_states_that_waited_the_newest_is_answered(graph):
    drive(graph)
    node, sent = graph.node, []
    node.output.send = sent.append
    node.loop._stall._looked -= 10.0  # the process stood still
    for k in range(5):
        node.loop.on_state(state(graph.stamp + 0.01 * (k + 1)))
    assert sent == [ZERO] * 4 and node.loop.pending
    node.loop.resume()  # a reference comes
    assert node.loop.pending
    for _ in range(LOOKS_AFTER_STALL):
        node.loop.look()
    assert len(sent) == 5 and sent[4] != ZERO and not node.loop.pending


def test_a_lone_state_that_waited_is_answered(graph):
    """As in lock-step, where none comes before it is."""
    drive(graph)
    graph.node.loop._stall._looked -= 10.0
    assert graph.say() == TORQUE
