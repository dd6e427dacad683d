"""What a controller's node tells: `~/status`, `~/state`, `~/odom` and `/tf`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from arc_odometry import DiffOdometry
from arc_odometry.odometry_messages import fill_odometry, fill_transform
from arc_odometry.rate_limit import RateLimit
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_msgs.msg import ControllerState
from diffbot_node import CommandNode, KeptTopic, to_stamp


class Telemetry:
    """Publishers and the messages that they send again and again.

    Args:
        node: publishes; in lock-step (`wait_for_reference`) it keeps pace with its listeners.
        values: its parameters; see CONTROLLER_PARAMETERS.
        status_type: type of `~/status`.

    Attributes:
        status: message of `~/status`; its header has a frame.
        status_topic: that it is sent on.
        state: message of `~/state`.
    """

    def __init__(self, node: CommandNode, values: SimpleNamespace, status_type: type) -> None:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status: Any = status_type()
        self.status.header.frame_id = values.odom_frame
        self.state = ControllerState(duration=values.duration, parameters_source=values.parameters)
        self.state.header.frame_id = values.base_frame
        self._odom = Odometry(child_frame_id=values.base_frame)
        self._odom.header.frame_id = values.odom_frame
        self._transform = TransformStamped(child_frame_id=values.base_frame)
        self._transform.header.frame_id = values.odom_frame
        self._rate = RateLimit(values.odom_rate)
        resume = node.resume if values.wait_for_reference else None
        self.status_topic = KeptTopic(node, status_type, "~/status", resume)
        self._state_topic = node.create_publisher(ControllerState, "~/state", latched)
        self._odom_topic = node.create_publisher(Odometry, "~/odom", 10)
        self._tf_topic = node.create_publisher(TFMessage, "/tf", 100) if values.publish_tf else None

    def publish_status(self) -> None:
        """Send `status` as it is."""
        self.status_topic.publish(self.status)

    def publish_state(
        self, stamp: float, phase: int, message: str, dynamics: BodyDynamics | None
    ) -> None:
        """Send `state` with this stamp (s), phase, message and K5..K8."""
        state = self.state
        state.header.stamp = to_stamp(stamp)
        state.phase, state.message = phase, message
        state.statuses = self.status_topic.count
        if dynamics is not None:
            state.k5, state.k6 = dynamics.k5, dynamics.k6
            state.k7, state.k8 = dynamics.k7, dynamics.k8
        self._state_topic.publish(state)

    def publish_odometry(self, stamp: float, odometry: DiffOdometry) -> None:
        """Send pose, velocity and transform of this stamp, s, if they are due."""
        if odometry.time is None or not self._rate.due(stamp):
            return
        fill_odometry(self._odom, to_stamp(stamp), odometry)
        self._odom_topic.publish(self._odom)
        if self._tf_topic is not None:
            fill_transform(self._transform, self._odom)
            self._tf_topic.publish(TFMessage(transforms=[self._transform]))
