# SPDX-License-Identifier: Apache-2.0
"""A ROS graph for the tests of the nodes: a node, or a process, and somebody who talks with it."""

import os
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("diffbot_msgs.msg")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_msgs.msg import PoseReference  # noqa: E402
from pose2d_trajectories.pose_message import Pose2D  # noqa: E402

DOMAIN = int(os.environ.get("ROS_DOMAIN_ID", "0"))
PERIOD = 10_000_000  # ns
PATIENCE = 30.0  # s; a busy machine takes long, a hang ends the test


def arguments(*parameters):
    return ["--ros-args", *(word for given in parameters for word in ("-p", given))]


def start(executable, *words, **how):
    """Start an executable of the package in the tests' domain (set ROS_DOMAIN_ID before)."""
    code = (
        f"from pose2d_trajectories.executables import {executable} as run; raise SystemExit(run())"
    )
    return subprocess.Popen([sys.executable, "-c", code, *words], text=True, **how)


class Graph:
    """Somebody who talks with a node in the same process, or in another one.

    Args:
        create: makes the node; None: it is elsewhere.
        parameters: of the node.
    """

    def __init__(self, create=None, *parameters):
        rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
        self.other = rclpy.create_node("other")
        self.node = create() if create else None
        self.executor = SingleThreadedExecutor()
        for node in filter(None, (self.other, self.node)):
            self.executor.add_node(node)
        self.states = self.other.create_publisher(JointState, "joint_states", 10)
        self.commands, self.references = [], []

    def hear(self, kind, topic):
        """The list that messages on this topic come into, and the subscription."""
        heard = []
        return heard, self.other.create_subscription(kind, topic, heard.append, 100)

    def listen(self):
        self.commands, _ = self.hear(Pose2D, "command")
        self.references, _ = self.hear(PoseReference, "reference")
        self.spin_until(
            lambda: (
                all(map(self.other.count_publishers, ("command", "reference")))
                and (self.node is None or self.node.listened_to())
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

    def drive(self, heard, stamps):
        """Publish joint states with these stamps, ns, and return what answers each in `heard`."""
        self.spin_until(self.states.get_subscription_count)
        return [self.step(heard, stamp) for stamp in stamps]

    def step(self, heard, stamp):
        before = len(heard)
        self.say(stamp)
        self.spin_until(lambda: len(heard) > before)
        return heard[-1]

    def begin(self, heard, stamp):
        """Say the first joint state, as a simulator in lock-step, until somebody answers."""
        deadline = time.monotonic() + PATIENCE
        while not heard:
            assert time.monotonic() < deadline, "nobody answered the first joint state"
            self.say(stamp)
            self.spin_for(0.05)
        self.spin_for(0.2)
        heard.clear()

    def say(self, stamp):
        message = JointState()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.states.publish(message)

    def close(self):
        self.executor.shutdown()
        if self.node:
            self.node.destroy_node()
        self.other.destroy_node()
        rclpy.try_shutdown()


def nanoseconds(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
