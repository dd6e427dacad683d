# SPDX-License-Identifier: Apache-2.0
"""Robots that take velocity commands: their motion and `cmd_vel`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Twist, TwistStamped
from rclpy.node import Node
from std_msgs.msg import Header

from arc_odometry import Velocity
from arc_odometry.odometry_checks import OdometrySample
from diffbot_node.command_guard import Pair, PairLimiter
from diffbot_node.command_interfaces import RobotInterface
from diffbot_node.endpoints import EndpointRole
from diffbot_node.odometry_sources import OdometrySource
from diffbot_node.robot_messages import to_stamp
from diffbot_node.topic_nodes import Instead
from diffbot_node.verdicts import GOOD, Level, Verdict, judged

TWISTS = ("auto", "Twist", "TwistStamped")
"""Types of cmd_vel; auto: that of its subscribers."""
# Time between two looks at the subscribers, s.
LOOK_PERIOD = 0.1


def is_stamped(node: Node, patience: float = 0.0, topic: str = "cmd_vel") -> bool:
    """Whether the subscribers of a topic take TwistStamped; wait until there is one.

    `patience`: longest wall time to wait, s; 0: for ever.

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
    """A robot that publishes its motion in one way or another, and accepts `cmd_vel`.

    `limits`: largest |v| in m/s and |omega| in rad/s that are commanded, > 0; `stamped`: commands
    are TwistStamped, else Twist; `slips`: whether a sample contradicts its commands.
    """

    command_name = "velocity"
    subscriber = (
        "the robot's driver, or set stamped to the type that it expects (TwistStamped or Twist)"
    )

    def __init__(
        self,
        limits: Velocity,
        source: OdometrySource,
        stamped: bool,
        slips: Callable[[OdometrySample, Pair, bool], Verdict] | None = None,
    ) -> None:
        self._source, self._stamped, self._slips = source, stamped, slips
        self.state_name = source.state_name
        self._newest = 0.0  # stamp of the newest state, s
        super().__init__(
            source.states,
            (TwistStamped if stamped else Twist, "cmd_vel"),
            PairLimiter("velocity", "(m/s, rad/s)", limits),
        )

    def concerns(self, message: Any) -> bool:
        return self._source.concerns(message)

    def unrelated(self) -> Verdict:
        return judged(Level.WAIT, self._source.unrelated())

    def stamp(self, message: Any) -> Time:
        return self._source.stamp(message)

    def read(self, stamp: float, message: Any) -> OdometrySample:
        self._newest = stamp
        return self._source.read(stamp, message)

    def contradiction(self, sample: OdometrySample, commanded: Pair, anew: bool) -> Verdict:
        return GOOD if self._slips is None else self._slips(sample, commanded, anew)

    def message_of(self, command: tuple[float, float]) -> Twist | TwistStamped:
        """Return a velocity command, m/s and rad/s, with the stamp of the newest state."""
        twist = Twist()
        twist.linear.x, twist.angular.z = float(command[0]), float(command[1])
        if not self._stamped:
            return twist
        header = Header(stamp=to_stamp(self._newest), frame_id="base_link")
        return TwistStamped(header=header, twist=twist)
