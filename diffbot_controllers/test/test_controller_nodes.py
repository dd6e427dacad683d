# SPDX-License-Identifier: Apache-2.0
"""The controllers' nodes on a real ROS graph: what goes out for what comes in."""

import math
import time

import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from controller_graph import controllers, moving  # noqa: E402
from geometry_msgs.msg import TwistStamped  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from arc_odometry import Pose  # noqa: E402
from diffbot_controllers.nodes.backstep_node import BackstepNode  # noqa: E402
from diffbot_controllers.nodes.linearizing_node import LinearizingNode  # noqa: E402
from diffbot_controllers.nodes.pose_node import PoseNode  # noqa: E402
from diffbot_controllers.nodes.references import LOOK_PERIOD  # noqa: E402
from diffbot_description import load_robot  # noqa: E402
from diffbot_msgs.msg import ControllerState, DynamicParameters, PoseReference  # noqa: E402
from diffbot_node import to_stamp  # noqa: E402
from diffbot_node.state_subscription import LOOKS_AFTER_STALL  # noqa: E402
from pose2d_trajectories import Reference  # noqa: E402
from pose2d_trajectories.pose_message import Pose2D  # noqa: E402


@pytest.fixture
def make():
    yield from controllers()


@pytest.mark.parametrize(("kind", "period"), [(BackstepNode, 0.005), (PoseNode, 0.02)])
def test_a_set_point_sent_before_any_joint_state_is_reached_at_any_rate(make, kind, period):
    graph = make(kind, period=period, start="2,0,0")
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=2.5, y=0.1))
    graph.spin()
    graph.run(4.0)
    x, y, theta = graph.robot.engine.pose()
    assert (x + 2.0, y, theta) == pytest.approx((2.5, 0.1, 0.0), abs=0.005)
    graph.until(lambda: graph.odom[-1].pose.pose.position.x > 2.49, "the odometry")
    state = graph.state[-1]
    assert state.phase == ControllerState.DRIVING
    assert state.parameters_source == "robot"
    assert (state.k7, state.torque_limit) == (pytest.approx(2.6468, rel=1e-4), graph.limit)


class Topic:
    """A publisher with a number of readers."""

    def __init__(self):
        self.readers, self.sent = 0, []

    def get_subscription_count(self):
        return self.readers

    def publish(self, message):
        self.sent.append(message)


def test_odometry_and_transform_are_sent_as_soon_as_anybody_reads_them(make):
    graph = make(BackstepNode)
    output, odom, tf = graph.node._odometry_topic, Topic(), Topic()
    output.topic, output._tf = odom, tf
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=0.5))
    graph.spin()
    graph.run(0.2)
    assert not odom.sent and not tf.sent
    for reader in (odom, tf):
        reader.readers = 1
        graph.run(0.2)
        assert len(reader.sent) >= 9  # 50 Hz
        reader.readers = 0
    driven = odom.sent[-1].pose.pose.position.x
    assert driven == tf.sent[-1].transforms[0].transform.translation.x > 0.01
    assert odom.sent[-1].pose.covariance[0] > 0.0


@pytest.fixture
def slow_wheels(tmp_path):
    """File of a robot like twil whose wheels may turn at 4 rad/s: 0.3 m/s, or 2.2 rad/s."""
    content = yaml.safe_load(load_robot("twil").path.read_text())
    content["limits"]["wheel_velocity"] = 4.0
    path = tmp_path / "slow.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def fastest_wheel(graph, steps, step):
    fastest = 0.0
    for _ in range(steps):
        step()
        fastest = max(fastest, *map(abs, graph.robot.engine.wheel_velocities()))
    return fastest


@pytest.mark.parametrize("kind", [BackstepNode, PoseNode])
def test_a_goal_is_driven_to_within_the_limit_of_the_wheels(make, kind, slow_wheels):
    graph = make(kind, robot=slow_wheels)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=0.8, y=0.5))
    graph.spin()
    assert 3.5 < fastest_wheel(graph, 150, graph.step) < 4.2


def test_a_velocity_is_driven_within_the_limit_of_the_wheels(make, slow_wheels):
    graph = make(LinearizingNode, robot=slow_wheels)
    topic = graph.publisher(TwistStamped, "cmd_vel")

    def step():
        stamp = graph.robot.sample.stamp
        message = TwistStamped()
        message.header.stamp = to_stamp(stamp)
        message.twist.linear.x, message.twist.angular.z = (0.4, 0.0) if stamp < 0.5 else (0.4, 3.0)
        topic.publish(message)
        graph.until(lambda: graph.references.reaches(stamp), "the command")
        graph.step()

    assert 3.9 < fastest_wheel(graph, 120, step) < 4.2
    v, omega = graph.robot.engine.velocity()
    assert omega / v == pytest.approx(3.0 / 0.4, rel=1e-2)  # slower on the same circle


def test_the_status_holds_together(make):
    graph = make(BackstepNode)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0, y=0.5, theta=1.0))
    graph.spin()
    graph.run(0.5)
    graph.spin()
    assert len(graph.status) >= 48
    for status in graph.status:
        eta, u = status.backstep_set_point, status.backstep_process_value
        assert status.backstep_error == pytest.approx(u - eta)
        assert status.linear_dynamics_command == pytest.approx(
            status.backstep_command + status.backstep_set_point_dot
        )
        assert status.error.x == pytest.approx(status.set_point.x - status.process_value.x)
        assert status.time_step == pytest.approx(0.01)
        assert (len(status.gammas), len(status.lambdas)) == (2, 2)
        assert status.header.frame_id == "odom"
    # The command of the status is the one on the wire.
    sent = {tuple(c.data) for c in graph.commands}
    assert all(tuple(s.command) in sent for s in graph.status)


def test_a_reference_that_is_none_gives_zero_torque_until_a_good_one_comes(make):
    graph = make(BackstepNode)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")

    def answer(**fields):
        stamp = graph.robot.sample.stamp
        references.publish(moving(stamp, **fields))
        graph.until(lambda: graph.references.reaches(stamp), "the reference")
        return graph.step()

    answer()
    bad = [
        {field: value}
        for field in ("x", "y", "theta", "v", "omega", "dv", "domega")
        for value in (math.nan, math.inf)
    ]
    for fields in bad:
        assert answer() != (0.0, 0.0)
        assert answer(**fields) == (0.0, 0.0)
    # Each counts twice: the reference, and the joint state that it was for.
    assert graph.node.refused == 2 * len(bad)


def test_a_set_point_that_is_none_gives_zero_torque_until_a_good_one_comes(make):
    graph = make(PoseNode)
    command = graph.publisher(Pose2D, f"{graph.name}/command")
    command.publish(Pose2D(x=1.0))
    graph.spin()
    assert graph.run(0.2)[-1] != (0.0, 0.0)
    command.publish(Pose2D(x=math.nan))
    graph.spin()
    assert set(graph.run(0.1)) == {(0.0, 0.0)}
    command.publish(Pose2D(x=1.0))
    graph.spin()
    assert graph.run(0.2)[-1] != (0.0, 0.0)


def test_states_that_came_while_the_node_stood_still_count_for_its_way(make):
    """0.2 s in which the robot turned first and drove then: one arc over them is 12 cm wrong.

    With a controller manager on a busy computer that brought a robot 6 mm beside its goal.
    """
    graph = make(BackstepNode)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0))
    graph.spin()
    graph.run(0.3)
    node, odometry = graph.node, graph.node._feedback.odometry
    before, begin = odometry.pose, odometry.time
    node.loop._stall._looked -= 10.0  # the process stood still
    speeds = [(-10.0, 10.0)] * 10 + [(20.0, 20.0)] * 10  # rad/s
    angles = np.array(odometry.angles) + 0.01 * np.cumsum(speeds, axis=0)
    for k, position in enumerate(angles.tolist()):
        message = JointState(name=["left_wheel_joint", "right_wheel_joint"], position=position)
        message.header.stamp = to_stamp(begin + 0.01 * (k + 1))
        node.loop.on_state(message)
    for _ in range(LOOKS_AFTER_STALL):
        node.loop.look()
    r, b = node.geometry.left_radius, node.geometry.half_track
    heading = before.theta + r / b
    pose = odometry.pose
    assert pose.theta == pytest.approx(heading)
    assert pose.x == pytest.approx(before.x + 2.0 * r * math.cos(heading), abs=1e-6)
    assert pose.y == pytest.approx(before.y + 2.0 * r * math.sin(heading), abs=1e-6)


def test_encoders_that_begin_at_0_again_stop_the_robot_until_it_is_enabled(make):
    """As with a driver started anew where the middleware does not name senders."""
    graph = make(BackstepNode, use_sim_time="false", input_timeout="0.5")
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0))
    graph.spin()
    graph.run(0.5)
    before = graph.node._feedback.odometry.pose
    assert before.x > 0.02
    graph.step(stamp=graph.robot.sample.stamp + 11.0, position=(0.0, 0.0))
    assert "begin at 0 again" in graph.node.stopped_by
    assert graph.node._feedback.odometry.pose == before
    assert graph.step(stamp=graph.robot.sample.stamp + 11.01, position=(0.0, 0.0)) == (0.0, 0.0)


def test_a_stream_that_stops_gives_zero_torque_in_time(make):
    graph = make(BackstepNode)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    for _ in range(30):
        references.publish(moving(graph.robot.sample.stamp))
        graph.spin(0.005)
        graph.step()
    torques = graph.run(0.2)
    assert torques[0] != (0.0, 0.0)  # advanced to the joint state's stamp
    assert set(torques[10:]) == {(0.0, 0.0)}


@pytest.mark.parametrize("kind", [BackstepNode, PoseNode])
def test_set_points_anywhere_give_finite_torque(make, kind):
    graph = make(kind)
    command = graph.publisher(Pose2D, f"{graph.name}/command")
    for x, y, theta in (
        (1.0, 0.0, 0.0),
        (100.0, -100.0, 3.0),
        (0.0, 0.0, 7.0),
        (-100.0, 0.0, -1e6),
        (1e-12, 0.0, 1e9),
        (1e15, 1e15, 0.0),
    ):
        command.publish(Pose2D(x=x, y=y, theta=theta))
        graph.spin(0.05)
        graph.run(0.2)  # `step` looks at each torque


def test_in_lock_step_each_state_waits_for_its_reference_and_the_end_of_it_ends_the_node(make):
    graph = make(BackstepNode, wait_for_reference=True, leave_with_reference=True)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    graph.until(lambda: not graph.node.waits_for(), "the graph to match")
    for k in range(20):
        stamp = graph.robot.sample.stamp
        graph.publish_state()
        graph.spin(0.02)
        assert len(graph.commands) == k
        references.publish(moving(stamp, **({"v": 0.0} if k == 19 else {})))
        graph.until(lambda k=k: len(graph.commands) > k, "an answer")
        graph.robot.advance(tuple(graph.commands[-1].data))
    graph.publish_state()
    graph.spin(0.2)
    assert graph.node.exit_code is None  # the publisher is still there
    graph.peer.destroy_publisher(references)
    graph.until(lambda: graph.node.exit_code is not None, "the end")
    assert graph.node.exit_code == 0
    graph.spin()
    assert graph.state[-1].phase == ControllerState.DONE
    assert tuple(graph.commands[-1].data) == (0.0, 0.0)


def test_a_reference_that_leaves_in_motion_is_a_failure(make):
    graph = make(BackstepNode, wait_for_reference=True, leave_with_reference=True)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    graph.until(lambda: not graph.node.waits_for(), "the graph to match")
    for k in range(3):
        references.publish(moving(graph.robot.sample.stamp))
        graph.publish_state()
        graph.until(lambda k=k: len(graph.commands) > k, "an answer")
        graph.robot.advance(tuple(graph.commands[-1].data))
    graph.publish_state()
    graph.peer.destroy_publisher(references)
    graph.until(lambda: graph.node.exit_code is not None, "the end")
    assert graph.node.exit_code == 1
    assert "left while it was in motion" in graph.node.last_words
    graph.spin()
    assert tuple(graph.commands[-1].data) == (0.0, 0.0)


def test_a_sample_that_waits_for_something_else_does_not_end_a_drive_to_a_set_point(make):
    """After its process stood still a sample waits for the next look: two such looks ended it."""
    graph = make(BackstepNode, wait_for_reference=True, leave_with_reference=True)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0))
    graph.until(lambda: not graph.references.empty, "the set point")
    graph.run(0.1)
    node = graph.node
    assert node.run.elapsed > 0.0
    node.loop._stall._looks_due = 1_000_000
    graph.publish_state()
    graph.until(lambda: node.loop.pending is not None, "the sample")
    for _ in range(2):
        node.run._look_around()
        time.sleep(2.0 * LOOK_PERIOD)
    node.run._look_around()
    assert node.loop.pending is not None and node.exit_code is None


@pytest.mark.parametrize(("v", "reported"), [(2.0, False), (4.0, True)])
def test_a_reference_that_is_faster_than_the_law_may_drive_is_told(make, capfd, v, reported):
    graph = make(BackstepNode)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    for _ in range(3):
        references.publish(moving(graph.robot.sample.stamp, v=v))
        graph.spin()
        graph.step()
    words = f"reference asks for {v:g} m/s, 0 rad/s: the law keeps to 3 m/s, "
    assert (words in capfd.readouterr().err) == reported


def test_a_set_point_beside_a_stream_is_left_out(make):
    graph = make(BackstepNode)
    references = graph.publisher(PoseReference, f"{graph.name}/reference")
    references.publish(moving(graph.robot.sample.stamp))
    graph.until(lambda: not graph.references.empty, "the reference")
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=5.0))
    graph.spin()
    assert graph.references.at(graph.robot.sample.stamp).v == 0.3


def test_the_duration_ends_a_run(make):
    graph = make(PoseNode, duration=0.5)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=0.1))
    graph.spin()
    while graph.node.exit_code is None:
        graph.step()
    graph.spin()
    assert graph.state[-1].phase == ControllerState.DONE
    assert graph.state[-1].elapsed == pytest.approx(0.5)
    assert tuple(graph.commands[-1].data) == (0.0, 0.0)


@pytest.mark.parametrize("given", [10.0, 0.5])
def test_a_drive_to_a_goal_lasts_until_the_robot_has_rested_there_for_a_second(make, given):
    graph = make(PoseNode, duration=0.5, arrival_time=given)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=0.5))
    graph.spin()
    left = []
    while graph.node.exit_code is None:
        graph.step()
        x, y, _ = graph.robot.engine.pose()
        left.append(math.hypot(x - 0.5, y))
    elapsed = graph.node.run.elapsed
    if given == 0.5:  # that is too short
        assert elapsed == pytest.approx(1.0) and left[-1] > 0.01
    else:
        assert 1.5 < elapsed < 5.0 and left[-1] < 0.001
        assert np.ptp(left[-100:]) < 0.0015 < np.ptp(left[-150:])


def test_a_robot_that_still_comes_nearer_has_not_arrived(make):
    node = make(PoseNode, encoder_counts=512).node
    assert node.one_count == pytest.approx((0.000460, 0.00338), rel=0.01)
    node.references.take(None, Reference, {"x": 1.0, "y": 0.0, "theta": 0.0})
    arrived = node.references.arrived
    creeping = [Pose(0.9905 + 0.0016 * i, 0.0, 0.0) for i in range(7)]
    assert not any(map(arrived, creeping))
    turning = [Pose(1.0, 0.0, 0.006 * i) for i in range(-2, 3)]
    assert not any(map(arrived, turning))
    at_rest = [Pose(0.995 + 0.0004 * (i % 2), 0.0, 0.003 * (i % 2)) for i in range(9)]
    assert list(map(arrived, at_rest)) == [False] + [True] * 8
    assert not arrived(Pose(0.98, 0.0, 0.0)) and not arrived(at_rest[0])


def test_the_published_law_at_another_rate_says_so_and_does_not_hold_its_torque(make, capfd):
    graph = make(BackstepNode, law="published", period=0.02, input_timeout=0.08)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0))
    graph.spin()
    torques = graph.run(1.0)
    assert torques[-1] == (0.0, 0.0)
    assert "ignored" in capfd.readouterr().err


def test_the_published_law_keeps_the_torque_limit_and_says_what_it_does(make):
    # `step` looks at each torque. How near the law comes to its goal: test_drive_accuracy.py.
    graph = make(BackstepNode, law="published", torque_limit=5.0, period=0.01)
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=1.0))
    graph.spin()
    torques = graph.run(0.5)
    assert max(abs(t) for torque in torques for t in torque) == 5.0
    graph.spin()
    assert (len(graph.status[-1].gammas), len(graph.status[-1].lambdas)) == (4, 5)


def parameters(state=DynamicParameters.ESTIMATED, **values):
    given = {"k5": 0.08, "k6": -3.5, "k7": 2.5, "k8": -15.0, "coverage": [1.0] * 4}
    given |= {"verification": DynamicParameters.VERIFIED, **values}
    return DynamicParameters(state=state, covariance_diagonal=[1e-6] * 4, **given)


def test_only_valid_parameters_of_the_topic_are_used(make):
    graph = make(BackstepNode, parameters="topic")
    topic = graph.publisher(DynamicParameters, "dynamic_parameters")
    for message in (
        parameters(state=DynamicParameters.UNESTIMATED),
        parameters(state=DynamicParameters.INVALID),
        parameters(k7=math.nan),
        parameters(k7=-2.5),
        parameters(k6=3.5),
        parameters(verification=DynamicParameters.NOT_VERIFIED),
        parameters(coverage=[0.0] * 4),
    ):
        topic.publish(message)
        graph.spin(0.05)
        assert graph.node.dynamics is None
        assert "no valid dynamic_parameters" in graph.node.waits_for().reason
    # A trajectory begins when somebody listens: nobody does before the robot can be driven.
    stream = graph.node.references.stream
    assert graph.peer.count_subscribers(stream) == 0
    topic.publish(parameters())
    graph.until(lambda: graph.node.dynamics is not None, "the parameters")
    graph.until(
        lambda: graph.peer.count_subscribers(graph.node.references.stream) == 1, "a listener"
    )
    graph.publisher(Pose2D, f"{graph.name}/command").publish(Pose2D(x=0.3))
    graph.spin()
    graph.run(2.0)
    assert graph.robot.engine.pose()[0] == pytest.approx(0.3, abs=0.01)
    # They follow at their rate: 20 % per s, after the first step, which counts for 0.5 s.
    for k in range(5):
        message = parameters(k7=2.0)
        message.header.stamp = to_stamp(graph.robot.sample.stamp)
        topic.publish(message)
        graph.spin(0.02)
        graph.run(0.3)
        assert 2.5 - graph.node.law.dynamics.k7 <= 0.2 * 2.647 * (0.5 + 0.3 * k) + 1e-6
    assert graph.node.law.dynamics.k7 == 2.0


def test_velocity_commands_are_followed_limited_and_time_out(make):
    graph = make(LinearizingNode)
    topic = graph.publisher(TwistStamped, "cmd_vel")

    def drive(steps, linear, angular):
        for _ in range(steps):
            message = TwistStamped()
            message.header.stamp = to_stamp(graph.robot.sample.stamp)
            message.twist.linear.x, message.twist.angular.z = linear, angular
            topic.publish(message)
            stamp = graph.robot.sample.stamp
            graph.until(lambda stamp=stamp: graph.references.reaches(stamp), "the command")
            torque = graph.step()
        return torque

    drive(40, 0.4, 1.0)
    assert graph.robot.engine.velocity() == pytest.approx((0.4, 1.0), abs=1e-3)
    assert drive(1, math.nan, 0.0) == (0.0, 0.0)
    drive(40, 0.4, -1.0)
    assert graph.robot.engine.velocity() == pytest.approx((0.4, -1.0), abs=1e-3)
    drive(150, 100.0, 0.0)
    limit = load_robot("twil").limits.linear_velocity
    assert graph.robot.engine.velocity()[0] == pytest.approx(limit, rel=1e-3)
    graph.spin()
    assert graph.status[-1].set_point[0] == limit
    assert set(graph.run(0.3)[10:]) == {(0.0, 0.0)}


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (BackstepNode, {"gammas": "[5.0, 0.0]"}, r"gammas\[1\]' = 0.0: must be finite and > 0"),
        (BackstepNode, {"gammas": "[5.0]"}, r"gammas' = \[5.0\]: must be 2 numbers"),
        (BackstepNode, {"lambdas": "[-1.0, 2.0]"}, r"lambdas\[0\]' = -1.0: must be finite and > 0"),
        (BackstepNode, {"law": "published", "gammas": "[1.0, 2.0]"}, r"must be 4 numbers"),
        (BackstepNode, {"law": "best"}, r"law' = 'best': must be one of standard, published"),
        (BackstepNode, {"start": "1,2"}, r"start = '1,2': must be 3 numbers"),
        (BackstepNode, {"parameters": "/no/such.yaml"}, r"parameters '/no/such.yaml': No such"),
        (BackstepNode, {"torque_limit": 99.0}, r"torque_limit' = 99.0 N m: must be <= 5.0 N m"),
        (BackstepNode, {"linear_velocity": 99.0}, r"linear_velocity' = 99.0 m/s: must be <= 3.0"),
        (PoseNode, {"gammas": "[nan, 1.0]"}, r"gammas\[0\]' = nan: must be finite"),
        (PoseNode, {"settling_time": 0.0}, r"settling_time' = 0.0: must be finite and > 0"),
        (LinearizingNode, {"damping": -1.0}, r"damping' = -1.0: must be finite and > 0"),
    ],
)
def test_wrong_parameters_are_refused_at_the_start(make, kind, given, message):
    with pytest.raises(ValueError, match=message):
        make(kind, **given)


def test_parameters_of_a_file_are_used_and_a_singular_one_is_refused(make, tmp_path):
    path = tmp_path / "k.yaml"
    values = {"k5": 0.08, "k6": -3.6, "k7": 2.7, "k8": -16.2}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
    graph = make(BackstepNode, parameters=str(path))
    assert graph.node.law.dynamics.k8 == -16.2
    rclpy.shutdown()
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": {**values, "k7": 0.0}}}))
    with pytest.raises(ValueError, match=r"k7 = 0.0: must be > .* singular"):
        make(BackstepNode, parameters=str(path))
