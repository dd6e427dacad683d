# SPDX-License-Identifier: Apache-2.0
"""Nodes that a test runs itself: composed, as in a simulated run, or each for itself."""

import time

import rclpy

from diffbot_node.intra_process import IntraProcess, Node
from diffbot_node.node_process import make_executor


class Together:
    """Nodes in one executor; create them after this.

    Args:
        words: ROS arguments.
        composed: Whether they hand their messages to each other directly.
    """

    def __init__(self, words, composed=True):
        rclpy.init(args=words)
        self.room = Node.room = IntraProcess() if composed else None
        self.executor = make_executor()
        self.nodes = []

    def add(self, node):
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def spin(self, condition, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"waited {timeout} s in vain"
            if self.room is None or not self.room.deliver(0.01):
                self.executor.spin_once(timeout_sec=0.01)

    def close(self):
        self.executor.shutdown()
        for node in self.nodes:
            node.destroy_node()
        Node.room = None
        rclpy.shutdown()
