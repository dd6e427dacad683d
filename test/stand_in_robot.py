# SPDX-License-Identifier: Apache-2.0
"""A stand-in of a real robot's driver, sound or with a fault; for tests and benchmarks."""

import threading
import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from diffbot_node.robot_messages import to_stamp

NAMES = ("left_wheel_joint", "right_wheel_joint")
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


PERIOD = 0.02  # s


class StandIn:
    """A driver in a thread and a participant of its own; `make` gives it what it publishes.

    Attributes:
        received: The commands that it got.
    """

    def __init__(self, make, name="driver"):
        self.context, self.received = Context(), []
        rclpy.init(args=[], context=self.context)
        self.node = Node(name, context=self.context)
        make(self)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._ends = False
        self._thread = threading.Thread(target=self._spin)

    def _spin(self):
        while not self._ends:
            self._executor.spin_once(timeout_sec=0.05)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends = True
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def takes(self, kind, topic, qos=10):
        self.node.create_subscription(kind, topic, self.received.append, qos)

    def publishes(
        self, kind, topic, qos=10, period=PERIOD, stamp=lambda t: t, change=None, **fields
    ):
        """Publish each `period`, s; `change` sets fields by the time; `stamp` changes that, s."""
        publisher = self.node.create_publisher(kind, topic, qos)

        def tick():
            now = time.time()
            message = kind(**fields)
            if change is not None:
                change(message, now)
            if hasattr(message, "header"):
                message.header.stamp = to_stamp(stamp(now))
            publisher.publish(message)

        self.node.create_timer(period, tick)

    def joint_states(self, names=NAMES, topic="joint_states", **more):
        """Publish joint states of wheels that stand, of other fields by `more`."""
        fields = dict.fromkeys(("position", "velocity", "effort"), [0.0] * len(names))
        self.publishes(JointState, topic, **{"name": list(names), **fields, **more})
