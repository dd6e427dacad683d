# SPDX-License-Identifier: Apache-2.0
"""A relay of joint states: while it hangs, the controller behind it receives none."""

from __future__ import annotations

from rclpy.node import Node
from sensor_msgs.msg import JointState

from diffbot_node import run_node


class Relay(Node):
    """Republishes `joint_states` on `relayed`."""

    def __init__(self) -> None:
        super().__init__("relay")
        self.exit_code: int | None = None
        publisher = self.create_publisher(JointState, "relayed", 10)
        self.create_subscription(JointState, "joint_states", publisher.publish, 10)

    def close(self) -> None:
        """Do nothing: no final message."""


def relay() -> int:
    """Run the node; return the exit status."""
    return run_node(Relay)
