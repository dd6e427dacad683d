"""The torque commands that a simulator obeys."""

from __future__ import annotations

import math
from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from diffbot_description import Robot
from diffbot_node.answers import named_by
from diffbot_node.state_subscription import WithSender

COMMANDS = "effort_controller/commands"


class CommandTopic:
    """Subscription of `effort_controller/commands`, [left, right] in N m.

    Args:
        node: whose subscription it is.
        robot: more torque than its wheels carry without slip is warned of, once.
        on_command: called with every command, the stamp of the state that it names, s (None: no
            name), and who has sent it (None: not known); after one that is refused with the last
            good one, which stays on, as with ros2_control's forward controller.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_command: Callable[[tuple[float, float], float | None, object], None],
    ) -> None:
        self._node = node
        self._robot = robot
        self._on_command = on_command
        self._command = (0.0, 0.0)
        node.create_subscription(Float64MultiArray, COMMANDS, WithSender(self._receive), 10)

    def _receive(self, message: Float64MultiArray, sender: object) -> None:
        command = tuple(message.data)
        if len(command) == 2 and all(map(math.isfinite, command)):
            self._command = command
            self._check_traction()
        else:
            self._node.get_logger().warning(
                f"command {list(command)} refused: must be 2 finite torques [left, right] in N m; "
                f"{list(self._command)} N m stays on",
                throttle_duration_sec=1.0,
            )
        self._on_command(self._command, named_by(message), sender)

    def _check_traction(self) -> None:
        traction = self._robot.limits.traction
        if max(map(abs, self._command)) > traction:
            self._node.get_logger().warning(
                f"torque {list(self._command)} N m is beyond limits.traction = {traction} N m of "
                f"{self._robot.name}: its wheels may slip or lift, and odometry is then wrong; "
                "lower torque_limit",
                once=True,
            )
