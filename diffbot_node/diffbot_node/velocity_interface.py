# SPDX-License-Identifier: Apache-2.0
"""Robots that take velocity commands: their odometry and `cmd_vel`."""

from __future__ import annotations

import time

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from std_msgs.msg import Header

from arc_odometry import Pose, Velocity
from arc_odometry.odometry_checks import OdometrySample
from arc_odometry.odometry_messages import heading
from diffbot_node.command_guard import PairLimiter
from diffbot_node.command_interfaces import RobotInterface
from diffbot_node.endpoints import EndpointRole
from diffbot_node.robot_messages import to_stamp
from diffbot_node.topic_nodes import Instead

TWISTS = ("auto", "Twist", "TwistStamped")
"""Types of cmd_vel; auto: that of its subscribers."""
# Time between two looks at the subscribers, s.
LOOK_PERIOD = 0.1


def is_stamped(node: Node, patience: float = 0.0, topic: str = "cmd_vel") -> bool:
    """Return whether the subscribers of a topic take TwistStamped; wait until there is one.

    Args:
        patience: Longest wall time to wait, s; 0: for ever.

    Raises:
        ValueError: There is no subscriber, or one of another type.
    """
    name, began, waiting = node.resolve_topic_name(topic), time.monotonic(), False
    alternative = Instead(node, EndpointRole.SUBSCRIBES, name, Twist, TwistStamped)
    while True:
        infos = node.get_subscriptions_info_by_topic(name)
        types = {info.topic_type.rpartition("/")[2] for info in infos}
        if chosen := types.intersection(TWISTS[1:]):
            return TWISTS[2] in chosen
        if types:
            raise ValueError(
                f"{name} is of type {', '.join(sorted(types))}: must be Twist or TwistStamped"
            )
        waited = time.monotonic() - began
        if 0.0 < patience < waited:
            raise ValueError(
                f"no node subscribes to {name} within {patience:g} s: start the robot's driver, "
                f"name its topic, or set twist to the type that it takes{alternative.text()}"
            )
        if not waiting and waited > 1.0:
            waiting = True
            node.get_logger().info(f"waiting: no node subscribes to {name} yet{alternative.text()}")
        time.sleep(LOOK_PERIOD)


class VelocityInterface(RobotInterface):
    """A robot that publishes `odom` (nav_msgs/Odometry) and accepts `cmd_vel`.

    Args:
        limits: Largest |v| in m/s and |omega| in rad/s that are commanded, > 0.
        frame: Frame of the odometry's poses; empty: any.
        stamped: Whether commands are TwistStamped; if not, Twist.
    """

    state_name = "odometry message"
    command_name = "velocity"
    subscriber = (
        "the robot's driver, or set stamped to the type that it expects (TwistStamped or Twist)"
    )

    def __init__(self, limits: Velocity, frame: str, stamped: bool) -> None:
        self._frame, self._stamped = frame, stamped
        self._newest = 0.0  # stamp of the newest odometry, s
        super().__init__(
            (Odometry, "odom"),
            (TwistStamped if stamped else Twist, "cmd_vel"),
            PairLimiter("velocity", "(m/s, rad/s)", limits),
        )

    def read(self, stamp: float, message: Odometry) -> OdometrySample:
        """Return pose and velocity of an odometry message.

        Raises:
            ValueError: The frame is another one, the orientation is no rotation, or a number is not
                finite.
        """
        self._newest = stamp
        frame = message.header.frame_id
        if self._frame and frame not in ("", self._frame):
            raise ValueError(
                f"odometry in frame '{frame}': must be in '{self._frame}'; set "
                "odom_frame, and give references in that frame"
            )
        pose, twist = message.pose.pose, message.twist.twist
        return OdometrySample(
            stamp,
            Pose(pose.position.x, pose.position.y, heading(pose.orientation)),
            Velocity(twist.linear.x, twist.angular.z),
        )

    def message_of(self, command: tuple[float, float]) -> Twist | TwistStamped:
        """Return a velocity command, m/s and rad/s, with the stamp of the newest odometry."""
        twist = Twist()
        twist.linear.x, twist.angular.z = float(command[0]), float(command[1])
        if not self._stamped:
            return twist
        header = Header(stamp=to_stamp(self._newest), frame_id="base_link")
        return TwistStamped(header=header, twist=twist)
