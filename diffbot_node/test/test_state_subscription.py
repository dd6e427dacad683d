# SPDX-License-Identifier: Apache-2.0
"""States are heard whatever reliability the robot's driver offers."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_node import subscribe_to_states  # noqa: E402


@pytest.mark.parametrize("reliability", [ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE])
@pytest.mark.parametrize("driver_first", [True, False])
def test_each_state_of_either_kind_of_driver_is_heard_once(reliability, driver_first):
    rclpy.init()
    node, robot = rclpy.create_node("node"), rclpy.create_node("robot")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    heard = []

    def subscribe():
        subscribe_to_states(node, JointState, "joint_states", heard.append)

    def publish():
        qos = QoSProfile(depth=10, reliability=reliability)
        return robot.create_publisher(JointState, "joint_states", qos)

    def until(condition):
        end = time.monotonic() + 10.0
        while not condition():
            assert time.monotonic() < end
            executor.spin_once(timeout_sec=0.01)

    try:
        if driver_first:
            states = publish()
            subscribe()
        else:
            subscribe()
            states = publish()
        until(states.get_subscription_count)
        for count in range(1, 4):
            states.publish(JointState())
            until(lambda count=count: len(heard) >= count)
        assert len(heard) == 3
    finally:
        node.destroy_node()
        robot.destroy_node()
        rclpy.shutdown()
