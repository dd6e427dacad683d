# SPDX-License-Identifier: Apache-2.0
"""The nodes on a real ROS graph, in a domain of the test's own."""

import math
from dataclasses import replace

import pytest
from geometry_msgs.msg import PoseStamped
from paced_graph import DOMAIN, PERIOD, Graph, arguments, nanoseconds, rclpy
from rosgraph_msgs.msg import Clock

from diffbot_description import load_robot
from diffbot_node.parameter_fields import table
from pose2d_trajectories import TrajectoryLimits, make_trajectory
from pose2d_trajectories.pose_message import Pose2D
from pose2d_trajectories.pose_nodes import PoseStampedNode
from pose2d_trajectories.trajectory_node import TrajectoryNode, TrajectoryParameters, limits_for


@pytest.fixture
def graph(request):
    made = Graph(*request.param)
    yield made
    made.close()


def fields(message):
    names = ("x", "y", "theta", "v", "omega", "dv", "domega")
    return tuple(getattr(message, name) for name in names)


BACKWARDS = ("trajectory:=circle", "laps:=1", "speed:=2.0", "backwards:=true", "x:=1")
LIMITED = (*BACKWARDS, "max_linear_velocity:=1.5", "lead:=0.01")


@pytest.mark.parametrize(
    "graph, lead", [((TrajectoryNode, *LIMITED), PERIOD)], indirect=["graph"], ids=["limited"]
)
def test_each_joint_state_is_answered_with_the_reference_for_its_stamp(graph, lead):
    graph.listen()
    start = 7 * 10**9 + 3
    stamps = [start + k * PERIOD for k in range(0, 800, 10)]
    # The first state may come repeatedly.
    answers = graph.drive(graph.references, [start, start, *stamps])[2:]
    expected = make_trajectory(
        "circle",
        laps=1,
        speed=2.0,
        backwards=True,
        x=1.0,
        limits=TrajectoryLimits(linear_velocity=1.5),
    )
    assert expected.duration < 8.0
    for stamp, answer in zip(stamps, answers, strict=True):
        assert nanoseconds(answer) == stamp + lead
        assert answer.header.frame_id == "odom"
        now = expected.at((stamp - start) / 1e9)
        assert fields(answer) == fields(now)
    assert fields(answers[-1])[3:] == (0.0, 0.0, 0.0, 0.0)
    graph.spin_until(lambda: len(graph.commands) == len(graph.references))
    command, last = graph.commands[-1], answers[-1]
    assert (command.x, command.y, command.theta) == (last.x, last.y, last.theta)


@pytest.mark.parametrize("graph", [(TrajectoryNode, "ramp_up:=0")], indirect=True)
def test_time_begins_with_a_listener_and_again_when_it_goes_back(graph):
    graph.spin_until(graph.states.get_subscription_count)
    graph.say(0)
    graph.spin_for(0.2)
    assert not graph.references
    graph.listen()
    first = graph.step(graph.references, 50 * 10**9)
    assert (first.x, first.y) == (0.0, -0.5) and first.v > 0.3
    for second in range(51, 56):
        later = graph.step(graph.references, second * 10**9)
    assert later.x == pytest.approx(math.sin(math.pi / 2.0))
    # From another driver, a little behind: no answer, no new beginning.
    graph.say(54_999_000_000)
    assert graph.step(graph.references, 55 * 10**9 + PERIOD).x == pytest.approx(1.0, abs=1e-4)
    assert len(graph.references) == 7
    assert fields(graph.step(graph.references, 10**9)) == fields(first)


@pytest.mark.parametrize(
    "graph", [(TrajectoryNode, "trajectory:=line", "hold:=0.0")], indirect=True
)
@pytest.mark.parametrize("jump", [2 * 10**9, 3600 * 10**9])
def test_a_jump_of_the_stamps_is_no_progress(graph, jump):
    """Neither ahead nor, where one stamp is wrong, back again: the path goes on where it was."""
    graph.listen()
    start = 7 * 10**9
    graph.drive(graph.references, [start + k * PERIOD for k in range(50)])
    expected = make_trajectory("line")
    ahead = graph.step(graph.references, start + 50 * PERIOD + jump)
    assert nanoseconds(ahead) == start + 50 * PERIOD + jump
    assert fields(ahead) == fields(expected.at(0.49))
    returned = graph.step(graph.references, start + 51 * PERIOD)
    assert fields(returned) == fields(expected.at(0.51))
    # For good: the time since then counts.
    graph.step(graph.references, start + 51 * PERIOD + jump)
    last = graph.step(graph.references, start + 52 * PERIOD + jump)
    assert fields(last) == fields(expected.at(0.52))
    assert graph.node.exit_code is None


@pytest.mark.parametrize("graph", [(TrajectoryNode, "ramp_up:=0")], indirect=True)
def test_stamps_that_cannot_be_used_are_left_out(graph):
    graph.listen()
    first = graph.step(graph.references, 10**9)
    for stamp in (-(10**9), -1, (2**31 - 1) * 10**9):
        graph.say(stamp)
    later = graph.step(graph.references, 10**9 + PERIOD)
    assert len(graph.references) == 2 and nanoseconds(later) == nanoseconds(first) + PERIOD


@pytest.mark.parametrize(
    "graph",
    [(TrajectoryNode, "driven_by:=clock", "rate:=50.0", "use_sim_time:=true", "trajectory:=line")],
    indirect=True,
)
def test_the_clock_can_drive_it(graph):
    clock = graph.other.create_publisher(Clock, "/clock", 10)
    graph.spin_until(clock.get_subscription_count)
    graph.listen()
    now = 0
    while len(graph.references) < 20:
        now += 2 * PERIOD
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(now, 10**9)
        clock.publish(message)
        graph.spin_for(0.01)
        assert now < 20 * 10**9
    expected = make_trajectory("line")
    start = nanoseconds(graph.references[0])
    for reference in graph.references:
        assert fields(reference) == fields(expected.at((nanoseconds(reference) - start) / 1e9))


@pytest.mark.parametrize("graph", [(PoseStampedNode, "frame:=map")], indirect=True)
def test_poses_for_rviz(graph):
    heard = []
    graph.other.create_subscription(PoseStamped, "pose_stamped", heard.append, 10)
    topic = graph.other.create_publisher(Pose2D, "pose2d", 10)
    graph.spin_until(topic.get_subscription_count)
    graph.spin_until(lambda: graph.other.count_publishers("pose_stamped"))
    topic.publish(Pose2D(x=math.nan))
    while not heard:  # the first message may be lost while the two sides still meet
        topic.publish(Pose2D(x=1.0, y=2.0, theta=math.pi / 2.0))
        graph.spin_for(0.05)
    pose = heard[0].pose
    assert heard[0].header.frame_id == "map" and heard[0].header.stamp.sec > 0
    assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 2.0, 0.0)
    turn = (pose.orientation.z, pose.orientation.w)
    assert turn == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))


@pytest.mark.parametrize(
    "parameters, message",
    [
        (["trajectory:=eight"], "'trajectory' = 'eight': must be one of figure_eight"),
        (["trajectory:=circle", "side:=2"], "circle has no option 'side'"),
        (["period:=fast"], "'period' = 'fast': must be of type float"),
        (["period:=-2.0"], "period = -2.0 s: must be finite and > 0"),
        (["laps:=1.5"], "'laps' = 1.5: must be of type int"),
        (["driven_by:=wheels"], "'driven_by' = 'wheels': must be one of joint_states, odom, clock"),
        (["rate:=0"], "'rate' = 0.0: must be finite and > 0"),
        (["lead:=-1.0"], "'lead' = -1.0: must be finite and >= 0"),
        (["max_angular_velocity:=-1.0"], "'max_angular_velocity' = -1.0: must be finite and >= 0"),
        (["trajectory:=waypoints", "points:=[1, 2, 3]"], "must be pairs x, y in m"),
        (["trajectory:=waypoints", "points:=[a, b]"], "'points.0.' = 'a': must be of type float"),
        (["max_linear_velocity:=1e-9"], "limit of linear_velocity = 1e-09 m/s"),
        (["trajectory:=waypoints", "points:=[0.0, .nan]"], "'points.1.' = nan"),
        (["x:=.nan"], "'x' = nan: must be finite"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
    try:
        with pytest.raises(ValueError, match=message):
            TrajectoryNode()
    finally:
        rclpy.try_shutdown()


NUMBERS = [each.name for each in table(TrajectoryParameters) if type(each.default) is float]


@pytest.mark.parametrize("value", [".nan", ".inf"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_not_finite_are_named(name, value):
    rclpy.init(args=arguments(f"{name}:={value}"), domain_id=DOMAIN)
    try:
        with pytest.raises(ValueError, match=f"'{name}' = {value[1:]}: must be finite"):
            TrajectoryNode()
    finally:
        rclpy.try_shutdown()


FILE = """/**: {ros__parameters: {sigma: [0.4, 0.1, 1.25, 0.8], dead_band: [0.05, 0.1],
  dead_band_kind: [offset, threshold], acceleration_limit: [0.5, .inf],
  deceleration_limit: [1.0, .inf]}}"""


def test_a_path_keeps_what_is_known_of_the_robots_accelerations(tmp_path):
    """v: 0.7 - 0.05 m/s over a drag of 1.25; a ramp of 0.5 m/s² over it. omega: 3.14 rad/s lead to
    more than that, and to 31.4 rad/s²."""
    path, robot = tmp_path / "velocity_parameters.yaml", load_robot("turtlebot2")
    path.write_text(FILE)
    assumed = {"assumed_linear_acceleration": 0.1, "assumed_angular_acceleration": 0.4}
    values = TrajectoryParameters(identified=str(path), **assumed)
    result = limits_for(values, robot)
    assert (result.linear_velocity, result.angular_velocity) == pytest.approx((0.416, 2.512))
    accelerations = (result.linear_acceleration, result.angular_acceleration)
    assert accelerations == pytest.approx((0.6 * 0.4, 0.6 * 31.4))
    limited = replace(robot, limits=replace(robot.limits, angular_acceleration=2.0))
    result = limits_for(values, limited)
    assert result.angular_acceleration == pytest.approx(1.2)
    result = limits_for(replace(values, identified="none"), limited)
    assert (result.linear_acceleration, result.angular_acceleration) == pytest.approx((0.1, 1.2))
    values = replace(values, max_angular_acceleration=0.9)
    assert limits_for(values, limited).angular_acceleration == 0.9
