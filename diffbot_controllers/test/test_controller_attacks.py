# SPDX-License-Identifier: Apache-2.0
"""Inputs that go wrong while a controller drives: what is commanded, and what is said."""

import math
import random
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from controller_graph import controllers, moving  # noqa: E402
from geometry_msgs.msg import TwistStamped  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402

from diffbot_controllers.nodes.backstep_node import BackstepNode  # noqa: E402
from diffbot_controllers.nodes.linearizing_node import LinearizingNode  # noqa: E402
from diffbot_controllers.nodes.pose_node import PoseNode  # noqa: E402
from diffbot_msgs.msg import DynamicParameters, PoseReference  # noqa: E402
from diffbot_node import to_stamp  # noqa: E402
from pose2d_trajectories.pose_message import Pose2D  # noqa: E402

ZERO = (0.0, 0.0)


@pytest.fixture
def make():
    yield from controllers()


def send_goal(graph, **pose):
    topic = graph.publisher(Pose2D, f"{graph.name}/command")
    topic.publish(Pose2D(**pose))
    graph.until(lambda: not graph.references.empty, "the set point")
    return topic


def test_a_late_state_and_a_reset_of_time_give_zero_torque_at_once(make, capfd):
    graph = make(BackstepNode, duration=0.5)
    send_goal(graph, x=1.0)
    assert graph.run(0.3)[-1] != ZERO  # up to 0.29 s, begun at 0.01 s
    assert graph.step(stamp=0.01) == ZERO  # late, as far as one can know
    assert graph.step(stamp=0.02) == ZERO  # no: time was reset
    assert graph.step(stamp=0.03) != ZERO
    assert "late joint state ignored; zero torque" in capfd.readouterr().err
    # The 0.28 s before the reset count towards the duration.
    stamp = 0.03
    while graph.node.exit_code is None:
        stamp += 0.01
        graph.step(stamp=stamp)
    assert stamp == pytest.approx(0.02 + 0.5 - 0.28)


@pytest.mark.parametrize("jump", [2.0, 3600.0])
def test_a_jump_of_time_does_not_count_towards_the_duration(make, jump):
    graph = make(BackstepNode, duration=0.5)
    send_goal(graph, x=1.0)
    assert graph.run(0.3)[-1] != ZERO  # up to 0.29 s, begun at 0.01 s
    assert graph.step(stamp=0.30 + jump) == ZERO
    assert graph.node.exit_code is None
    stamp = 0.30 + jump
    while graph.node.exit_code is None:
        stamp += 0.01
        graph.step(stamp=stamp)
    assert stamp == pytest.approx(0.30 + jump + 0.5 - 0.28)


def test_references_that_stop_are_no_reason_to_leave(make):
    """Teleoperation sends nothing while nobody drives."""
    graph = make(LinearizingNode, patience=2.5)
    topic = graph.publisher(TwistStamped, "cmd_vel")

    def drive():
        message = TwistStamped()
        message.header.stamp = to_stamp(graph.robot.sample.stamp)
        message.twist.linear.x = 0.3
        topic.publish(message)
        stamp = message.header.stamp
        graph.until(lambda: graph.references.reaches(stamp.sec + 1e-9 * stamp.nanosec), "it")
        return graph.step()

    for _ in range(3):
        drive()
    end = time.monotonic() + 3.0
    while time.monotonic() < end:
        torque = graph.step()
        for _ in range(2):  # the time of the stamps must not fall behind that of this loop
            graph.robot.advance(torque)
        graph.spin(0.02)
    assert torque == ZERO
    assert graph.node.exit_code is None
    assert [drive() for _ in range(3)][-1] != ZERO


@pytest.mark.parametrize("wrong", [(), (math.nan, 0.0), (0.0, math.inf)])
def test_speeds_that_are_asked_for_and_missing_give_zero_torque(make, wrong):
    """Taken for 0, they would let a robot accelerate for ever."""
    graph = make(BackstepNode, velocity_source="velocity")
    send_goal(graph, x=1.0)
    good = (0.0, 0.0)
    assert [graph.step(velocity=good) for _ in range(3)][-1] != ZERO
    assert [graph.step(velocity=wrong) for _ in range(3)] == [ZERO] * 3


def test_references_of_another_clock_are_named(make, capfd):
    graph = make(BackstepNode)
    topic = graph.publisher(PoseReference, f"{graph.name}/reference")
    topic.publish(moving(100.0))
    graph.until(lambda: not graph.references.empty, "the reference")
    assert set(graph.run(0.05)) == {ZERO}
    # The 0.06 s that a reference may be early, and the 0.07 s that a state may be late.
    assert "ahead of the joint state, limit 0.13 s" in capfd.readouterr().err


@pytest.mark.wall_time
def test_a_gap_gives_zero_torque_in_time_and_the_robot_goes_on_after_it(make):
    graph = make(BackstepNode, use_sim_time="false", input_timeout=0.08)
    send_goal(graph, x=3.0)
    graph.until(lambda: graph.step() != ZERO, "torque")
    count, begin = len(graph.commands), time.monotonic()
    graph.until(lambda: len(graph.commands) > count, "zero torque")
    assert tuple(graph.commands[-1].data) == ZERO
    # 0.1 s, and what a busy machine takes.
    assert time.monotonic() - begin < 0.2
    late = graph.robot.sample.stamp + 0.3
    assert graph.step(stamp=late) == ZERO
    assert any(graph.step(stamp=late + 0.01 * k) != ZERO for k in range(1, 4))


def test_a_clock_that_is_set_back_hides_no_silence(make):
    graph = make(BackstepNode, use_sim_time=True, input_timeout=0.08)
    clock = graph.publisher(Clock, "clock")
    send_goal(graph, x=3.0)

    def set_clock(time):
        clock.publish(Clock(clock=to_stamp(time)))
        node = graph.node.get_clock()
        graph.until(lambda: 1e-9 * node.now().nanoseconds == pytest.approx(time), "the clock")

    set_clock(100.0)
    assert graph.run(0.05)[-1] != ZERO
    set_clock(1.0)
    graph.until(lambda: tuple(graph.commands[-1].data) == ZERO, "zero torque")


def test_states_at_an_irregular_pace_and_doubled_ones_do_no_harm(make):
    """Periods drawn from 2 to 30 ms, each tenth state sent twice; seed 1."""
    graph, draw = make(PoseNode, period=0.001), random.Random(1)
    send_goal(graph, x=1.0, y=0.5, theta=0.3)
    goal = pytest.approx((1.0, 0.5, 0.3), abs=0.005)
    for _ in range(350):
        before = graph.robot.sample
        torque = graph.step()
        for _ in range(draw.choice((2, 5, 10, 15, 30)) - 1):
            graph.robot.advance(torque)
        if draw.random() < 0.1:
            assert graph.answer(stamp=before.stamp, position=before.position) == torque
    assert graph.robot.engine.pose() == goal


def test_from_a_stream_to_a_set_point_and_back(make):
    graph = make(BackstepNode)
    topic = f"{graph.name}/reference"

    def follow(seconds):
        references = graph.publisher(PoseReference, topic)
        for _ in range(round(seconds / graph.period)):
            stamp = graph.robot.sample.stamp
            references.publish(moving(stamp))
            graph.until(lambda stamp=stamp: graph.references.reaches(stamp), "the reference")
            graph.step()
        graph.peer.destroy_publisher(references)
        graph.until(lambda: not graph.node.count_publishers(topic), "its publisher to leave")

    follow(1.0)
    goal = send_goal(graph, x=0.5, y=0.2)
    graph.run(0.5)
    goal.publish(Pose2D(x=1.0))  # while the robot is in motion
    graph.until(lambda: graph.references.newest.x == 1.0, "the set point")
    graph.run(3.0)
    assert graph.robot.engine.pose() == pytest.approx((1.0, 0.0, 0.0), abs=0.005)
    follow(1.5)
    assert graph.robot.engine.velocity()[0] > 0.25


def test_parameters_that_change_while_driving_are_used_from_then_on(make):
    graph = make(PoseNode, parameters="topic")
    topic = graph.publisher(DynamicParameters, "dynamic_parameters")

    def send(k7):
        given = {"k5": 0.08, "k6": -3.7, "k7": k7, "k8": -16.0, "coverage": [1.0] * 4}
        given["verification"] = DynamicParameters.VERIFIED
        estimated = DynamicParameters.ESTIMATED
        message = DynamicParameters(state=estimated, covariance_diagonal=[1e-6] * 4, **given)
        message.header.stamp = to_stamp(graph.robot.sample.stamp)
        topic.publish(message)

    send(2.6)
    graph.until(lambda: graph.node.dynamics is not None, "the parameters")
    send_goal(graph, x=1.0, y=0.5)
    # Each 0.2 s: half, twice, right, none at all, so small that no law can be made of it.
    for k7 in (1.3, 5.2, 2.6, math.nan, 1e-9, 2e-9):
        send(k7)
        graph.run(0.2)
    send(2.6)
    graph.run(3.0)
    assert graph.node.exit_code is None
    assert graph.robot.engine.pose() == pytest.approx((1.0, 0.5, 0.0), abs=0.005)


@pytest.mark.parametrize(("v", "status"), [(0.0, 0), (0.3, 1)])
def test_a_real_robot_that_is_told_so_leaves_with_its_reference(make, v, status):
    """Without lock-step; a set point, whose sender leaves at once, keeps the node."""
    graph = make(BackstepNode, leave_with_reference=True)
    graph.peer.destroy_publisher(send_goal(graph, x=0.1))
    graph.run(0.2)
    graph.spin(0.2)
    assert graph.node.exit_code is None
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    references.publish(moving(graph.robot.sample.stamp, v=v))
    graph.until(lambda: graph.references.is_stream, "the reference")
    graph.step()
    graph.spin(0.2)
    assert graph.node.exit_code is None
    graph.peer.destroy_publisher(references)
    graph.until(lambda: graph.node.exit_code is not None, "the end")
    assert graph.node.exit_code == status
    graph.spin()
    assert tuple(graph.commands[-1].data) == ZERO
