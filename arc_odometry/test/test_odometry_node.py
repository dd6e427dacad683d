# SPDX-License-Identifier: Apache-2.0
"""The odometry_publisher node on a real ROS graph, in a domain of the test's own."""

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("tf2_msgs")

from geometry_msgs.msg import PoseWithCovarianceStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from arc_odometry.odometry_node import OdometryNode  # noqa: E402

ROBOT = ["left_radius:=0.1", "right_radius:=0.1", "separation:=0.5", "path_noise:=0.0001"]
DOMAIN = int(os.environ.get("ROS_DOMAIN_ID", "0"))


def arguments(*parameters):
    return ["--ros-args", *(word for given in parameters for word in ("-p", given))]


class Graph:
    """The node under test, and a robot that publishes joint states and hears the odometry."""

    def __init__(self, *parameters):
        rclpy.init(args=arguments(*ROBOT, *parameters), domain_id=DOMAIN)
        self.robot = rclpy.create_node("robot")
        self.node = OdometryNode()
        self.warnings = []
        self.node._complain = lambda kind, text: self.warnings.append(kind)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.robot)
        self.executor.add_node(self.node)
        self.heard, self.transforms = [], []
        self.robot.create_subscription(Odometry, "odom", self.heard.append, 10)
        self.robot.create_subscription(TFMessage, "/tf", self.transforms.append, 10)
        self.states = self.robot.create_publisher(JointState, "joint_states", 10)
        self.poses = self.robot.create_publisher(
            PoseWithCovarianceStamped, "odometry_publisher/set_pose", 10
        )
        topics = [(self.states, "in"), (self.poses, "in")]
        self.spin_until(lambda: all(topic.get_subscription_count() for topic, _ in topics))
        self.spin_until(lambda: self.robot.count_publishers("odom") == 1)

    def spin_until(self, condition):
        end = time.monotonic() + 10.0
        while not condition():
            assert time.monotonic() < end, "waited 10 s in vain"
            self.executor.spin_once(timeout_sec=0.01)

    def say(self, stamp, left, right, names=("right_wheel_joint", "arm", "left_wheel_joint")):
        """Publish a joint state and return the odometry that answers it, None for none."""
        message = JointState(name=list(names))
        message.header.stamp.sec, nanosec = int(stamp), round(stamp % 1.0 * 1e9)
        message.header.stamp.nanosec = nanosec
        message.position = [float(right), math.nan, float(left)]
        before, at = len(self.heard), self.node.odometry.time
        seen = len(self.warnings)
        self.states.publish(message)
        end = time.monotonic() + 10.0
        while self.node.odometry.time == at and len(self.warnings) == seen:
            assert time.monotonic() < end, "the joint state had no effect within 10 s"
            self.executor.spin_once(timeout_sec=0.01)
        end = time.monotonic() + 0.1
        while len(self.heard) == before and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)
        return self.heard[-1] if len(self.heard) > before else None

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.robot.destroy_node()
        rclpy.try_shutdown()


@pytest.fixture
def graph(request):
    made = Graph(*getattr(request, "param", ["publish_rate:=0"]))
    yield made
    made.close()


def yaw(rotation):
    return 2.0 * math.atan2(rotation.z, rotation.w)


def test_poses_velocities_covariances_and_transforms(graph):
    first = graph.say(5.0, 3.0, 4.0)
    assert (first.pose.pose.position.x, first.twist.twist.linear.x) == (0.0, 0.0)
    message = graph.say(5.01, 3.4, 4.6)
    assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_link")
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (5, 10_000_000)
    # 0.05 m and 0.04 rad: a circle of 1.25 m.
    position = message.pose.pose.position
    expected = (1.25 * math.sin(0.04), 1.25 * (1.0 - math.cos(0.04)))
    assert (position.x, position.y) == pytest.approx(expected)
    assert yaw(message.pose.pose.orientation) == pytest.approx(0.04)
    assert message.twist.twist.linear.x == pytest.approx(5.0)
    assert message.twist.twist.angular.z == pytest.approx(4.0)
    pose = message.pose.covariance.reshape(6, 6)
    twist = message.twist.covariance.reshape(6, 6)
    # Paths of 0.04 m and 0.06 m with 1e-4 m^2/m.
    assert pose[5, 5] == pytest.approx(1e-4 * 0.1 / 0.25)
    assert twist[0, 0] == pytest.approx(1e-4 * 0.1 / 4.0 / 1e-4)
    assert np.array_equal(pose, pose.T)
    assert np.linalg.eigvalsh(pose)[0] > -1e-15
    graph.spin_until(lambda: len(graph.transforms) == 2)
    (sent,) = graph.transforms[-1].transforms
    assert (sent.header.frame_id, sent.child_frame_id) == ("odom", "base_link")
    assert sent.header.stamp == message.header.stamp
    assert sent.transform.translation.x == position.x
    assert sent.transform.rotation == message.pose.pose.orientation
    assert not graph.warnings


def test_set_pose_goes_on_from_there(graph):
    graph.say(5.0, 0.0, 0.0)
    message = PoseWithCovarianceStamped()
    message.header.frame_id = "map"
    message.pose.pose.position.x, message.pose.pose.position.y = 2.0, 3.0
    message.pose.pose.orientation.z = message.pose.pose.orientation.w = math.sqrt(0.5)
    covariance = np.zeros((6, 6))
    covariance[0, 0], covariance[1, 1], covariance[5, 5] = 0.1, 0.2, 0.3
    message.pose.covariance = covariance.ravel()
    graph.poses.publish(message)  # in another frame: refused
    message.header.frame_id = "odom"
    graph.poses.publish(message)
    graph.spin_until(lambda: graph.node.odometry.pose.x == 2.0)
    answer = graph.say(5.01, 0.5, 0.5)
    assert answer.pose.pose.position.x == pytest.approx(2.0)
    assert answer.pose.pose.position.y == pytest.approx(3.05)
    assert answer.pose.covariance[0] == pytest.approx(0.1 + 0.05**2 * 0.3, rel=1e-4)


def test_odd_joint_states_are_reported_and_do_no_harm(graph):
    graph.say(60.0, 0.0, 0.0)
    graph.say(60.01, 0.5, 0.5)
    assert graph.say(60.02, math.nan, 0.0) is None
    assert graph.say(60.03, 0.6, 0.6, names=("right_wheel_joint", "arm", "leg")) is None
    assert graph.say(0.0, 9.0, 9.0) is None
    assert graph.say(0.01, 9.1, 9.1).pose.pose.position.x == pytest.approx(0.05)
    assert graph.say(0.02, 9.2, 9.2).pose.pose.position.x == pytest.approx(0.06)
    assert graph.warnings == ["refused", "refused", "late", "reset"]


def test_parameters_may_change_on_the_way(graph):
    graph.say(1.0, 0.0, 0.0)
    (good,) = graph.node.set_parameters([Parameter("left_radius", value=0.2)])
    assert good.successful
    assert graph.say(1.01, 0.1, 0.2).pose.pose.position.x == pytest.approx(0.02)
    wrong = [("separation", 0.0), ("right_radius", -1), ("path_noise", -1.0), ("left_radius", "x")]
    for name, value in wrong:
        (bad,) = graph.node.set_parameters([Parameter(name, value=value)])
        assert not bad.successful
        assert name in bad.reason
    (fixed,) = graph.node.set_parameters([Parameter("odom_frame", value="map")])
    assert not fixed.successful
    assert graph.node.odometry.geometry.separation == 0.5


@pytest.mark.parametrize(
    "graph",
    [["publish_rate:=50.0", "publish_tf:=false", "odom_frame:=o", "base_frame:=b", "x:=7"]],
    indirect=True,
)
def test_rate_frames_start_and_no_transform(graph):
    answers = [graph.say(1.0 + 0.01 * k, 0.1 * k, 0.1 * k) for k in range(5)]
    assert [answer is not None for answer in answers] == [True, False, True, False, True]
    assert answers[-1].pose.pose.position.x == pytest.approx(7.04)
    assert (answers[-1].header.frame_id, answers[-1].child_frame_id) == ("o", "b")
    assert not graph.transforms
    assert graph.robot.count_publishers("/tf") == 0


@pytest.mark.parametrize(
    "parameters, message",
    [
        (["right_radius:=0.1", "separation:=0.5"], "left_radius = 0.0 m: must be finite and > 0"),
        ([*ROBOT, "separation:=0"], "separation = 0.0 m"),
        ([*ROBOT, "path_noise:=-1.0"], "path_noise = -1.0"),
        ([*ROBOT, "publish_rate:=fast"], "publish_rate = 'fast': must be a float"),
        ([*ROBOT, "publish_rate:=.inf"], "publish_rate = inf: must be finite"),
        ([*ROBOT, "base_frame:=odom"], "are both 'odom'"),
        ([*ROBOT, "left_joint:=''"], "left_joint is empty"),
        ([*ROBOT, "left_joint:=right_wheel_joint"], "two names"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
    try:
        with pytest.raises(ValueError, match=message):
            OdometryNode()
    finally:
        rclpy.try_shutdown()


MAIN = "import sys; from arc_odometry.odometry_node import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "parameter left_radius = 0.0 m"),
        (["--ros-args", "-r", "odom:=a//b"], "Couldn't parse remap rule: '-r odom:=a//b'"),
    ],
)
def test_process_tells_what_is_wrong_and_ends_with_1(monkeypatch, words, message):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    command = [sys.executable, "-c", MAIN, *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_process_ends_cleanly_on_signals(monkeypatch, number):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    command = [sys.executable, "-c", MAIN]
    process = subprocess.Popen(
        [*command, *arguments(*ROBOT)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    line = process.stderr.readline()  # said at the end of its start
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert "odometry of 'left_wheel_joint'" in line
    assert process.returncode == 0
    assert "Traceback" not in errors
