"""What the simulator of a robot that takes velocity commands publishes, and what it obeys."""

from __future__ import annotations

import math
from collections.abc import Callable

from geometry_msgs.msg import TransformStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from tf2_msgs.msg import TFMessage

from arc_odometry.odometry_messages import fill_odometry, fill_transform
from diffbot_ident.velocity.sigma import Sigma
from diffbot_msgs.msg import VelocityParameters
from diffbot_node import KeptTopic, to_stamp
from diffbot_node.answers import named_by
from diffbot_node.state_subscription import WithSender
from diffbot_sim.odometry_covariance import MeasuredMotion
from diffbot_sim.simulator_topics import MotionTopic, rival_of

COMMANDS = "cmd_vel"


class VelocityTopic:
    """Subscription of `cmd_vel`, linear.x in m/s and angular.z in rad/s.

    Args:
        node: whose subscription it is.
        stamped: whether it is a TwistStamped; else a Twist.
        on_command: called with every command, the stamp of the odometry that it names, s (None: no
            name), and who has sent it (None: not known); after one that is not finite with zero, as
            a robot's driver stops on it.
    """

    def __init__(
        self,
        node: Node,
        stamped: bool,
        on_command: Callable[[tuple[float, float], float | None, object], None],
    ) -> None:
        self._node = node
        self._on_command = on_command
        self._stamped = stamped
        kind = TwistStamped if stamped else Twist
        node.create_subscription(kind, COMMANDS, WithSender(self._receive), 10)

    def _receive(self, message: Twist | TwistStamped, sender: object) -> None:
        named = named_by(message) if self._stamped else None
        twist = message.twist if self._stamped else message
        command = (twist.linear.x, twist.angular.z)
        if not all(map(math.isfinite, command)):
            self._node.get_logger().warning(
                f"command v = {command[0]} m/s, omega = {command[1]} rad/s refused: must be "
                "finite; the robot is told to stop",
                throttle_duration_sec=1.0,
            )
            command = (0.0, 0.0)
        self._on_command(command, named, sender)


class VelocitySimulatorTopics(MotionTopic):
    """All publishers of the node.

    Besides the true motion: `odom` (nav_msgs/Odometry with covariance), `clock` and `/tf`, once per
    control period, and `ground_truth/velocity_parameters` (latched).

    Args:
        node: publishes.
        publish_tf: whether odom -> base_link is sent on /tf.
        resume: see KeptTopic; None: nobody is waited for.

    Attributes:
        parameters_topic: that the parameters are sent on.
    """

    def __init__(
        self, node: Node, publish_tf: bool, resume: Callable[[], None] | None = None
    ) -> None:
        super().__init__(node, resume)
        self._node = node
        self._clock_topic = node.create_publisher(ClockMessage, "clock", 10)
        self._odom_topic = node.create_publisher(Odometry, "odom", 10)
        self._tf_topic = node.create_publisher(TFMessage, "/tf", 100) if publish_tf else None
        self.parameters_topic = KeptTopic(
            node, VelocityParameters, "ground_truth/velocity_parameters", resume, latched=True
        )
        self._measured = Odometry(child_frame_id="base_link")
        self._measured.header.frame_id = "odom"
        self._transform = TransformStamped(child_frame_id="base_link")
        self._transform.header.frame_id = "odom"

    def publish_odometry(self, stamp: float, odometry: MeasuredMotion) -> None:
        """Publish what the robot measures, and the time of it, s."""
        now = to_stamp(stamp)
        self._clock_topic.publish(ClockMessage(clock=now))
        fill_odometry(self._measured, now, odometry)
        self._odom_topic.publish(self._measured)
        if self._tf_topic is not None:
            fill_transform(self._transform, self._measured)
            self._tf_topic.publish(TFMessage(transforms=[self._transform]))

    def publish_parameters(self, stamp: float, sigma: Sigma, dead_time: float) -> None:
        """Publish the true sigma and dead time (s) from this stamp on, s."""
        message = VelocityParameters(sigma=sigma.as_array(), dead_time=[dead_time] * 2)
        message.header.stamp = to_stamp(stamp)
        message.header.frame_id = "base_link"
        self.parameters_topic.publish(message)

    def rival(self) -> str | None:
        """What is wrong when somebody else publishes odometry or the clock, too; else None."""
        return rival_of(self._node, self._odom_topic, self._clock_topic)
