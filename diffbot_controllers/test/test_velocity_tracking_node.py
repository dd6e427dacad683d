# SPDX-License-Identifier: Apache-2.0
"""The velocity_tracking_controller node on a ROS graph: what is commanded for what comes in."""

import math
import time

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import Twist, TwistStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Imu  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from arc_odometry.odometry_messages import quaternion  # noqa: E402
from diffbot_controllers.velocity_tracking.velocity_tracking_node import (  # noqa: E402
    VelocityTrackingNode,
)
from diffbot_description import load_robot  # noqa: E402
from diffbot_description.sigma import Sigma  # noqa: E402
from diffbot_msgs.msg import (  # noqa: E402
    ControllerState,
    PoseReference,
    VelocityParameters,
    VelocityTrackingStatus,
)
from diffbot_node import to_stamp  # noqa: E402
from diffbot_node.node_process import make_executor  # noqa: E402
from diffbot_sim.velocity_robot import VelocityRobot  # noqa: E402

ZERO = (0.0, 0.0)
SIGMA = "[1.0, 0.8, 0.9, 0.7]"
PERIOD = 0.01
NAME = "velocity_tracking_controller"
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Graph:
    """The node, and a simulated robot with a reference that drives straight at 0.3 m/s."""

    def __init__(self, **parameters):
        # A busy machine must not look like a robot that fell silent.
        limits = {"linear_velocity": 0.5, "angular_velocity": 3.14}
        given = {"sigma": SIGMA, "input_timeout": 1.0, **limits, **parameters}
        words = [w for k, v in given.items() for w in ("-p", f"{k}:={v}")]
        rclpy.init(args=["--ros-args", *words])
        self.peer = rclpy.create_node("peer", use_global_arguments=False)
        self.node = VelocityTrackingNode()
        self.executor = make_executor()
        self.executor.add_node(self.peer)
        self.executor.add_node(self.node)
        self.robot = VelocityRobot(Sigma(1.0, 0.8, 0.9, 0.7))
        self.commands, self.status, self.state, self.sigma = [], [], [], []
        kind = TwistStamped if given.get("stamped", "true") == "true" else Twist
        self._listen(kind, "cmd_vel", self.commands)
        self._listen(VelocityTrackingStatus, f"{NAME}/status", self.status)
        self._listen(ControllerState, f"{NAME}/state", self.state, LATCHED)
        self._listen(VelocityParameters, f"{NAME}/parameters", self.sigma, LATCHED)
        self.odom = self.peer.create_publisher(Odometry, "odom", 10)
        self.clock = self.peer.create_publisher(Clock, "/clock", 10)
        if "imu" in parameters:
            self.gyro = self.peer.create_publisher(Imu, "imu/data", 10)
        self.references = self.peer.create_publisher(PoseReference, f"{NAME}/reference", 10)
        self.steps = 0
        self.until(lambda: self.references.get_subscription_count(), "the node to be ready")

    def _listen(self, kind, topic, store, qos=10):
        self.peer.create_subscription(kind, topic, store.append, qos)

    def until(self, condition, what, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"waited {timeout} s in vain for {what}"
            self.executor.spin_once(timeout_sec=0.01)

    @property
    def stamp(self):
        return self.steps * PERIOD

    def say_reference(self, stamp=None, **fields):
        stamp = self.stamp if stamp is None else stamp
        message = PoseReference(**{"x": 0.3 * stamp, "v": 0.3, **fields})
        message.header.stamp = to_stamp(stamp)
        self.references.publish(message)
        self.until(lambda: self.node.references.input.reaches(stamp), "the reference")

    def odometry(self, stamp=None):
        (x, y, theta), (v, omega) = self.robot.pose(), self.robot.velocity()
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        message.header.stamp = to_stamp(self.stamp if stamp is None else stamp)
        message.pose.pose.position.x, message.pose.pose.position.y = x, y
        message.pose.pose.orientation = quaternion(theta)
        message.twist.twist.linear.x, message.twist.twist.angular.z = v, omega
        return message

    def step(self, change=None, stamp=None):
        """Publish the robot's state, wait for the answer, and move on; returns the command."""
        message = self.odometry(stamp)
        if change is not None:
            change(message)
        count = len(self.commands)
        self.clock.publish(Clock(clock=message.header.stamp))
        self.odom.publish(message)
        self.until(lambda: len(self.commands) > count, "an answer")
        command = self.newest()
        assert all(map(math.isfinite, command)) and abs(command[0]) <= 0.5
        self.robot.step(command, PERIOD)
        self.steps += 1
        return command

    def newest(self):
        message = self.commands[-1]
        twist = getattr(message, "twist", message)
        return twist.linear.x, twist.angular.z

    def run(self, count):
        commands = []
        for _ in range(count):
            self.say_reference()
            commands.append(self.step())
        return commands


@pytest.fixture
def make():
    graphs = []

    def create(**parameters):
        graphs.append(Graph(**parameters))
        return graphs[-1]

    yield create
    for graph in graphs:
        graph.executor.shutdown()
        graph.node.destroy_node()
        graph.peer.destroy_node()
    rclpy.try_shutdown()


def set_x(value):
    def change(message):
        message.pose.pose.position.x = value

    return change


def tilt(message):
    message.pose.pose.orientation.w = 0.1


def elsewhere(message):
    message.header.frame_id = "map"


def test_it_follows_and_tells_what_it_does(make):
    graph = make()
    assert graph.step() == ZERO  # no reference yet
    graph.run(60)
    # From rest the limit of 0.5 m/s is at work: v = (0.5 / sigma3) (1 - exp(-t sigma3 / sigma1)).
    assert graph.robot.velocity()[0] == pytest.approx(-math.expm1(-0.9 * 0.6) * 0.5 / 0.9, rel=0.03)
    graph.until(lambda: len(graph.status) >= 60, "the status of all")
    status, before = graph.status[-1], graph.status[-2]
    assert status.process_value.x == pytest.approx(before.process_value.x, abs=0.01)
    assert status.error.x == pytest.approx(status.set_point.x - status.process_value.x)
    assert status.command[0] == graph.newest()[0]
    assert list(status.limits) == [0.5, 3.14] and status.time_step == pytest.approx(PERIOD)
    assert list(status.sigma) == [1.0, 0.8, 0.9, 0.7]
    assert graph.commands[-1].header.stamp == status.header.stamp
    graph.until(lambda: graph.state[-1].phase == ControllerState.DRIVING, "the state")
    assert (graph.state[-1].law, graph.state[-1].torque_limit) == ("fixed", 0.0)
    assert list(graph.sigma[-1].sigma) == [1.0, 0.8, 0.9, 0.7]


def test_commands_keep_to_the_speed_that_a_wheel_of_the_robot_may_have(make, tmp_path):
    robot = load_robot("turtlebot2")
    content = yaml.safe_load(robot.path.read_text())
    content["limits"]["wheel_velocity"] = 10.0
    path = tmp_path / "slow_wheels.yaml"
    path.write_text(yaml.safe_dump(content))
    graph = make(robot=str(path))
    for _ in range(3):  # ahead, and to its left
        graph.say_reference(x=1.0, theta=1.5)
        v, omega = graph.step()
    assert v > 0.0 and max(robot.geometry.wheel_velocity(v, omega)) == pytest.approx(10.0)
    graph.until(lambda: graph.status, "the status")
    assert list(graph.status[-1].limits) == pytest.approx([0.35, 0.35 / 0.115])


def test_the_law_keeps_to_the_acceleration_of_the_robots_file(make, tmp_path):
    content = yaml.safe_load(load_robot("turtlebot2").path.read_text())
    content["limits"]["linear_acceleration"] = 0.25
    path = tmp_path / "gentle.yaml"
    path.write_text(yaml.safe_dump(content))
    graph = make(robot=str(path))
    for _ in range(3):
        graph.say_reference(x=3.0, theta=0.5)
        graph.step()
    graph.until(lambda: graph.status, "the status")
    v, omega = graph.status[-1].wanted_acceleration
    assert v == pytest.approx(0.25) and abs(omega) > 1.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_x(math.nan), "odometry: x = nan: must be finite"),
        (tilt, "must be a quaternion of length 1"),
        (elsewhere, "odometry in frame 'map': must be in 'odom'"),
    ],
)
def test_odometry_that_cannot_be_used_gives_zero_at_once(make, capfd, change, says):
    graph = make()
    assert graph.run(10)[-1] != ZERO
    graph.say_reference()
    assert graph.step(change) == ZERO
    assert says in capfd.readouterr().err
    assert graph.run(2)[-1] != ZERO
    # Neither law nor estimate takes the command from before for the one that held.
    graph.until(lambda: len(graph.status) >= 12, "the status of all")
    assert graph.status[-2].time_step == 0.0 < graph.status[-1].time_step


def test_two_that_tell_the_pose_stop_it_as_soon_as_both_speak(make, capfd):
    graph = make()
    assert graph.run(10)[-1] != ZERO
    other = graph.peer.create_publisher(Odometry, "odom", 10)
    graph.until(lambda: graph.peer.count_publishers("odom") == 2, "the other odometry")
    graph.until(other.get_subscription_count, "who listens to it")
    end = time.monotonic() + 0.2
    graph.until(lambda: time.monotonic() > end, "a look around")
    assert "more than one node publishes /odom; stop all but one" in capfd.readouterr().err
    for _ in range(3):
        other.publish(Odometry())
        graph.run(2)
    assert set(graph.run(5)) == {ZERO}
    said = capfd.readouterr().err
    assert "two sources tell odometry messages" in said and "2 publish /odom" in said
    graph.peer.destroy_publisher(other)
    graph.until(lambda: graph.peer.count_publishers("odom") == 1, "the other one to leave")
    assert set(graph.run(5)) == {ZERO}  # until somebody enables it


def test_a_robot_that_is_carried_while_stopped_goes_on_from_where_it_is_put(make):
    graph = make(enabled="false")
    graph.run(3)
    assert {graph.step(set_x(5.0)) for _ in range(60)} == {ZERO}
    enable = graph.peer.create_client(SetBool, f"{NAME}/enable")
    graph.until(enable.service_is_ready, "the service")
    answer = enable.call_async(SetBool.Request(data=True))
    graph.until(answer.done, "an answer")
    for _ in range(3):
        graph.say_reference()
        command = graph.step(set_x(5.0))
    assert command != ZERO


def test_a_reference_that_stops_or_is_wrong_gives_zero(make, capfd):
    graph = make()
    graph.run(10)
    commands = [graph.step() for _ in range(10)]
    # The reference goes on for 80 ms as it was; within 100 ms zero is commanded.
    assert commands[0] != ZERO and commands[-1] == ZERO
    assert "older than the odometry message, limit 0.06 s" in capfd.readouterr().err
    assert graph.run(2)[-1] != ZERO
    graph.say_reference(v=math.inf)
    assert graph.step() == ZERO
    assert "reference: v = inf: must be finite" in capfd.readouterr().err


@pytest.mark.wall_time
def test_silence_of_the_odometry_gives_zero_in_time(make):
    graph = make(input_timeout=0.08)
    graph.until(lambda: graph.run(1)[-1] != ZERO, "a command")
    count, begin = len(graph.commands), time.monotonic()
    graph.until(lambda: len(graph.commands) > count, "zero velocity")
    assert graph.newest() == ZERO
    assert time.monotonic() - begin < 0.2  # 0.1 s, and what a busy machine takes
    graph.steps += 30
    graph.say_reference()
    assert graph.step() == ZERO  # after a gap nobody knows what the robot did
    assert any(command != ZERO for command in graph.run(4))


def test_late_odometry_and_a_reset_of_time_give_zero(make, capfd):
    graph = make()
    assert graph.run(20)[-1] != ZERO
    assert graph.step(stamp=0.01) == ZERO  # late, as far as one can know
    assert graph.step(stamp=0.02) == ZERO  # no: time was reset
    assert "late odometry ignored; zero velocity" in capfd.readouterr().err
    graph.steps = 3
    assert any(command != ZERO for command in graph.run(3))


def test_a_robot_of_another_kind_is_adapted_to(make):
    # A busy machine takes longer than the stamps do: the clock goes with them.
    given = {"sigma": "[0.5, 0.4, 0.5, 0.4]", "linear_velocity": 0.5, "use_sim_time": "true"}
    graph = make(adaptive="true", dead_time=0.0, **given)
    graph.run(30)
    assert list(graph.status[-1].sigma) == [0.5, 0.4, 0.5, 0.4]
    for k in range(500):
        swing = 0.3 * math.sin(0.04 * k), 0.5 * math.cos(0.03 * k)
        graph.say_reference(x=graph.robot.pose()[0], v=0.2 + 0.5 * swing[0], omega=swing[1])
        graph.step()
    graph.until(lambda: len(graph.status) >= 500, "the status")
    status = graph.status[-1]
    # Exact odometry leaves the sampling of the integrals.
    assert status.sigma[0] == pytest.approx(1.0, rel=0.02)
    assert status.sigma[2] == pytest.approx(0.9, rel=0.02)
    assert 0.0 < status.sigma_variance[0] < 0.01


def test_a_robot_that_takes_twist_and_the_last_command(make):
    graph = make(stamped="false")
    assert graph.run(10)[-1] != ZERO
    count = len(graph.commands)
    graph.node.close()
    graph.until(lambda: len(graph.commands) == count + 3, "three more")
    assert [(m.linear.x, m.angular.z) for m in graph.commands[-3:]] == [ZERO] * 3
    graph.until(lambda: graph.state[-1].phase == ControllerState.STOPPED, "the state")
    assert graph.state[-1].message == "interrupted"


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("sigma:=''", "'sigma': sigma = .*: must be 4 numbers, .*; give sigma, or the file"),
        ("sigma:=[1.0, 1.0, -1.0, 1.0]", r"'sigma\[2\]' = -1.0: must be finite and > 0"),
        ("sigma:=[1.0, .nan, 1.0, 1.0]", r"'sigma\[1\]' = nan: must be finite and > 0"),
        ("parameters:=/no/such.yaml", "parameters '/no/such.yaml': No such file"),
        ("linear_velocity:=-1.0", "'linear_velocity' = -1.0: must be finite and >= 0"),
        ("linear_velocity:=1.0", "'angular_velocity' = 0.0 rad/s: must be > 0 without a robot"),
        ("k_w:=0.0", "'k_w' = 0.0: must be finite and > 0"),
        ("k_v:=-1.0", "'k_v' = -1.0: must be finite and > 0"),
        ("damping:=.inf", "'damping' = inf: must be finite and > 0"),
    ],
)
def test_wrong_parameters_are_named(parameter, says):
    words = ["-p", parameter]
    if not parameter.startswith("sigma"):
        words += ["-p", f"sigma:={SIGMA}"]
    rclpy.init(args=["--ros-args", *words])
    try:
        with pytest.raises(ValueError, match=says):
            VelocityTrackingNode()
    finally:
        rclpy.shutdown()


class Slipping:
    """A watch that tells slip at once."""

    missing = 0.0

    def reset(self):
        pass

    def update(self, stamp, wheels, command, yaw_rate):
        self.seen = stamp, wheels, command, yaw_rate
        return "0.3 rad/s faster than before"


@pytest.fixture
def slipping(make):
    def create(action):
        graph = make(imu="true", slip_action=action)
        arrays = []
        graph.peer.create_subscription(DiagnosticArray, "diagnostics", arrays.append, 10)
        graph.until(graph.gyro.get_subscription_count, "the gyro's subscriber")
        message = Imu()
        message.angular_velocity.z = 0.25
        graph.gyro.publish(message)
        graph.until(lambda: graph.node._slip._readings, "a reading")
        graph.run(3)  # it begins to drive; nothing is learnt yet
        graph.node._slip._watch = Slipping()
        graph.slips = lambda: [s for a in arrays for s in a.status if s.name.endswith(": slip")]
        return graph

    return create


def test_slip_stops_the_robot_until_somebody_enables_the_node(slipping):
    graph = slipping("stop")
    before, motion = graph.newest(), graph.robot.velocity()
    assert graph.run(1) == [ZERO]
    stamp, *seen = graph.node._slip._watch.seen
    assert (stamp, *seen) == (graph.stamp - PERIOD, motion, before, 0.25)
    assert graph.run(1) == [ZERO]
    assert graph.node.stopped_by == "the wheels slip: 0.3 rad/s faster than before"


def test_slip_slows_the_robot_down(slipping):
    graph = slipping("slow")
    wanted = graph.newest()[0]
    assert 0.0 < graph.run(1)[0][0] < 0.5 * wanted
    assert graph.node.stopped_by == ""


def test_slip_is_told_by_name(slipping):
    graph = slipping("warn")
    wanted = graph.newest()[0]
    assert graph.run(1)[0][0] >= 0.9 * wanted
    time.sleep(0.1)  # news are published ten times a second at most
    graph.run(1)
    graph.until(lambda: graph.slips() and graph.slips()[-1].level == DiagnosticStatus.ERROR, "slip")
    assert graph.slips()[-1].message == "the wheels slip: 0.3 rad/s faster than before"


def test_without_a_gyro_it_does_not_drive(make):
    graph = make(imu="true")
    graph.peer.destroy_publisher(graph.gyro)
    missing = "no node publishes /imu/data"
    graph.until(lambda: missing in graph.node.waits_for().reason, missing)
