# SPDX-License-Identifier: Apache-2.0
"""The velocity_simulator node on a ROS graph: lock-step, odometry, a change, bad commands."""

import math

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from geometry_msgs.msg import TwistStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from one_process import Together  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402

from diffbot_msgs.msg import VelocityParameters  # noqa: E402
from diffbot_node.intra_process import Node  # noqa: E402
from diffbot_sim.velocity_simulator_node import VelocitySimulatorNode  # noqa: E402


class Driver(Together):
    """A simulator node, and somebody who drives it, in lock-step or in real time."""

    def __init__(self, *parameters, composed=True):
        words = ["--ros-args", "-p", "robot:=turtlebot2", "-p", "encoder_counts:=0"]
        for parameter in parameters:
            words += ["-p", parameter]
        super().__init__(words, composed)
        self.simulator = self.add(VelocitySimulatorNode())
        self.node = self.add(Node("driver", use_global_arguments=False))
        self.states, self.truths, self.poses = [], [], []
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(Odometry, "odom", self.states.append, 10)
        self.node.create_subscription(Odometry, "ground_truth", self.poses.append, 10)
        self.node.create_subscription(
            VelocityParameters, "ground_truth/velocity_parameters", self.truths.append, latched
        )
        self.commands = self.node.create_publisher(TwistStamped, "cmd_vel", 10)
        self.spin(lambda: self.commands.get_subscription_count() and self.states and self.truths)

    def say(self, v, omega):
        message = TwistStamped()
        message.twist.linear.x, message.twist.angular.z = float(v), float(omega)
        self.commands.publish(message)

    def step(self, v, omega):
        """Answer the newest state in lock-step and return the next one."""
        now = self.states[-1].header.stamp
        self.say(v, omega)
        self.spin(lambda: self.states[-1].header.stamp != now)
        return self.states[-1]


@pytest.fixture
def make():
    made = []

    def driver(*parameters, composed=True):
        made.append(Driver(*parameters, composed=composed))
        return made[-1]

    yield driver
    for each in made:
        each.close()


def test_lock_step_is_the_solution_of_the_model_and_a_change_makes_it_slower(make):
    driver = make("sigma:=[2.0, 1.0, 0.5, 0.25]", "change:=2.0", "change_time:=0.05")
    for count in range(1, 6):
        state = driver.step(0.4, 1.0)
        assert state.header.stamp.nanosec == count * 10_000_000
        # v = (command / sigma3) (1 - exp(-t sigma3 / sigma1)).
        v = 0.4 / 0.5 * -math.expm1(-0.01 * count * 0.5 / 2.0)
        assert state.twist.twist.linear.x == pytest.approx(v, rel=1e-9)
    before = state.twist.twist.angular.z
    gained = driver.step(0.4, 1.0).twist.twist.angular.z - before
    assert gained == pytest.approx((1.0 - 0.25 * before) / 2.0 * 0.01, rel=2e-3)
    driver.spin(lambda: len(driver.truths) == 2)
    assert list(driver.truths[-1].sigma) == [4.0, 2.0, 0.5, 0.25]
    assert driver.truths[-1].header.stamp.nanosec == 50_000_000


def test_odometry_by_encoders_drifts_as_its_covariance_tells(make):
    driver = make("encoder_counts:=500", "start:=1.0,-2.0,pi/6", "sigma:=[0.1, 0.1, 1.0, 1.0]")
    for _ in range(100):
        state = driver.step(0.5, 0.5)
    driver.spin(lambda: driver.poses and driver.poses[-1].header.stamp == state.header.stamp)
    true, measured = driver.poses[-1].pose.pose.position, state.pose.pose.position
    drift = math.hypot(true.x - measured.x, true.y - measured.y)
    assert 0.0 < drift < 0.002  # a count is 0.44 mm
    covariance = np.reshape(state.pose.covariance, (6, 6))
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    assert covariance[5, 5] > 1e-6
    # Counts per period, not what is true at the instant.
    count = 2.0 * math.pi / 500 * 0.035 / 0.01
    speeds = {state.twist.twist.linear.x / (0.5 * count) for state in driver.states[-20:]}
    assert all(abs(speed - round(speed)) < 1e-6 for speed in speeds)
    twist = np.reshape(state.twist.covariance, (6, 6))
    assert 0.2 * count < math.sqrt(twist[0, 0]) < count


def test_commands_are_clipped_and_nonsense_stops_the_robot(make):
    driver = make("sigma:=[0.01, 0.01, 1.0, 1.0]", "linear_velocity:=0.6")
    for _ in range(20):
        state = driver.step(9.0, -9.0)
    assert state.twist.twist.linear.x == pytest.approx(0.6, rel=1e-3)
    assert state.twist.twist.angular.z == pytest.approx(-3.14, rel=1e-3)
    for _ in range(20):
        state = driver.step(math.nan, 1.0)
    assert state.twist.twist.linear.x == pytest.approx(0.0, abs=1e-6)


def test_a_driver_that_hears_nothing_stops_in_real_time(make):
    words = ("speed:=4.0", "sigma:=[0.01, 0.01, 1.0, 1.0]", "command_timeout:=0.2")
    driver = make(*words, composed=False)
    driver.say(0.5, 0.0)
    driver.spin(lambda: driver.states[-1].twist.twist.linear.x > 0.4)
    driver.spin(lambda: abs(driver.states[-1].twist.twist.linear.x) < 1e-3)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("speed:=-1.0", "'speed' = -1.0: must be finite and >= 0"),
        ("sigma:=[1.0, 2.0]", "'sigma' = .*: must be 4 numbers"),
        ("sigma:=[1.0, 2.0, 0.0, 1.0]", r"'sigma\[2\]' = 0.0: must be finite and > 0"),
        ("start:=1,0", "start = '1,0': must be 3 numbers; give x,y,theta"),
        ("dead_time:=-1.0", "'dead_time' = -1.0: must be finite and >= 0"),
    ],
)
def test_wrong_parameters_are_named(parameter, message):
    rclpy.init(args=["--ros-args", "-p", parameter])
    try:
        with pytest.raises(ValueError, match=message):
            VelocitySimulatorNode()
    finally:
        rclpy.shutdown()
