"""The nodes on a real ROS graph, in a domain of the test's own."""

import math
import random
import signal
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("diffbot_msgs.msg")

from geometry_msgs.msg import Pose2D, PoseStamped  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_msgs.msg import PoseReference  # noqa: E402
from pose2d_trajectories import Limits, make_trajectory  # noqa: E402
from pose2d_trajectories.pose_stamped_node import PoseStampedNode  # noqa: E402
from pose2d_trajectories.pose_step_node import read_pose  # noqa: E402
from pose2d_trajectories.trajectory_node import TrajectoryNode  # noqa: E402

DOMAIN = random.SystemRandom().randrange(1, 100)
PERIOD = 10_000_000  # ns
PATIENCE = 30.0  # s; a busy machine takes long, a hang ends the test


def arguments(*parameters):
    return ["--ros-args", *(word for given in parameters for word in ("-p", given))]


class Graph:
    """A node under test and somebody who talks with it."""

    def __init__(self, create, *parameters):
        rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
        self.other = rclpy.create_node("other")
        self.node = create()
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.other)
        self.executor.add_node(self.node)
        self.commands, self.references = [], []

    def listen(self):
        self.other.create_subscription(Pose2D, "command", self.commands.append, 100)
        self.other.create_subscription(PoseReference, "reference", self.references.append, 100)
        self.spin_until(
            lambda: (
                all(map(self.other.count_publishers, ("command", "reference")))
                and self.node.listened_to()
            )
        )

    def spin_until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited {PATIENCE} s in vain"
            self.executor.spin_once(timeout_sec=0.01)

    def spin_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self.other.destroy_node()
        rclpy.try_shutdown()


@pytest.fixture
def graph(request):
    made = Graph(*request.param)
    yield made
    made.close()


def drive(graph, stamps):
    """Publish joint states with these stamps, ns, and return the references that answer them."""
    topic = graph.other.create_publisher(JointState, "joint_states", 10)
    graph.spin_until(topic.get_subscription_count)
    return [step(graph, topic, stamp) for stamp in stamps]


def step(graph, topic, stamp):
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    before = len(graph.references)
    topic.publish(message)
    graph.spin_until(lambda: len(graph.references) > before)
    graph.spin_until(lambda: len(graph.commands) == len(graph.references))
    return graph.references[-1]


def nanoseconds(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


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
    answers = drive(graph, [start, start, *stamps])[2:]  # the first state may come repeatedly
    expected = make_trajectory(
        "circle", laps=1, speed=2.0, backwards=True, x=1.0, limits=Limits(linear_velocity=1.5)
    )
    assert expected.duration < 8.0
    for stamp, answer in zip(stamps, answers, strict=True):
        assert nanoseconds(answer) == stamp + lead
        assert answer.header.frame_id == "odom"
        now = expected.at((stamp - start) / 1e9)
        assert fields(answer) == fields(now)
    assert fields(answers[-1])[3:] == (0.0, 0.0, 0.0, 0.0)
    command, last = graph.commands[-1], answers[-1]
    assert (command.x, command.y, command.theta) == (last.x, last.y, last.theta)


@pytest.mark.parametrize("graph", [(TrajectoryNode, "ramp_up:=0")], indirect=True)
def test_time_begins_with_a_listener_and_again_when_it_goes_back(graph):
    topic = graph.other.create_publisher(JointState, "joint_states", 10)
    graph.spin_until(topic.get_subscription_count)
    topic.publish(JointState())
    graph.spin_for(0.2)
    assert not graph.references
    graph.listen()
    first = step(graph, topic, 50 * 10**9)
    assert (first.x, first.y) == (0.0, -0.5) and first.v > 0.3
    later = step(graph, topic, 55 * 10**9)
    assert later.x == pytest.approx(math.sin(math.pi / 2.0))
    late = JointState()  # from another driver, a little behind: no answer, no new beginning
    late.header.stamp.sec, late.header.stamp.nanosec = 54, 999_000_000
    topic.publish(late)
    assert step(graph, topic, 55 * 10**9 + PERIOD).x == pytest.approx(1.0, abs=1e-4)
    assert len(graph.references) == 3
    assert fields(step(graph, topic, 10**9)) == fields(first)


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
        (["trajectory:=eight"], "trajectory = 'eight': must be one of figure_eight"),
        (["trajectory:=circle", "side:=2"], "circle has no option 'side'"),
        (["period:=fast"], "period = 'fast': must be a float"),
        (["period:=-2.0"], "period = -2.0 s: must be finite and > 0"),
        (["laps:=1.5"], "laps = 1.5: must be a int"),
        (["driven_by:=wheels"], "driven_by = 'wheels': must be one of joint_states, clock"),
        (["rate:=0"], "rate = 0.0 Hz: must be > 0"),
        (["lead:=-1.0"], "lead = -1.0 s: must be >= 0"),
        (["max_angular_velocity:=-1.0"], "limit of angular_velocity = -1.0 rad/s"),
        (["trajectory:=waypoints", "points:=[1, 2, 3]"], "must be pairs x, y in m"),
        (["trajectory:=waypoints", "points:=[a, b]"], "must be a list of numbers"),
        (["x:=.nan"], "x = nan: must be finite"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
    try:
        with pytest.raises(ValueError, match=message):
            TrajectoryNode()
    finally:
        rclpy.try_shutdown()


def program(module, *words):
    code = f"import sys; from pose2d_trajectories import {module} as m; m.WAITING_PERIOD = 0.1; "
    return [sys.executable, "-c", code + "sys.exit(m.main())", *words]


@pytest.mark.parametrize("graph", [(lambda: rclpy.create_node("idle"),)], indirect=True)
def test_pose_step_sends_one_set_point_and_ends(graph, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    graph.other.create_subscription(Pose2D, "robot/command", graph.commands.append, 10)
    words = ["1", "-2e-1", "3.5", "--ros-args", "-r", "command:=robot/command"]
    process = subprocess.Popen(program("pose_step_node", *words))
    graph.spin_until(lambda: process.poll() is not None)
    graph.spin_for(0.2)
    assert process.returncode == 0
    assert graph.commands == [Pose2D(x=1.0, y=-0.2, theta=3.5)]


def test_pose_step_says_when_nobody_listens(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    words = ["1", "0", "0", "--ros-args", "-p", "patience:=0.1"]
    ended = subprocess.run(
        program("pose_step_node", *words), capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 1
    assert "nobody subscribed to /command within 0.1 s" in ended.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["1", "2"], "2 numbers are given"),
        (["1", "b", "0"], "Y = 'b'"),
        (["1", "2", "inf"], "THETA"),
    ],
)
def test_pose_step_wants_three_numbers(words, message):
    with pytest.raises(ValueError, match=message):
        read_pose(words)


def test_process_ends_cleanly_on_a_signal(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    process = subprocess.Popen(program("trajectory_node"), stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()  # the first reminder: the node spins
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert "waiting for 1 subscriber(s) of /command or /reference" in line
    assert process.returncode == 0 and "Traceback" not in errors
