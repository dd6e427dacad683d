"""The pose2d_to_pose_stamped node: set points that RViz can show; Lages (2018), 5.3.

Subscribes to `pose2d` (geometry_msgs/Pose2D, for example a controller's `command`) and publishes
each as `pose_stamped` (geometry_msgs/PoseStamped), stamped with the node's clock since a Pose2D has
no stamp.
"""

from __future__ import annotations

import math

from geometry_msgs.msg import Pose2D, PoseStamped
from rclpy.node import Node

from diffbot_node import Parameter, declare

PARAMETERS = (Parameter("frame", "odom", "frame of the poses"),)


class PoseStampedNode(Node):
    """Turns poses in the plane into poses in space."""

    def __init__(self) -> None:
        super().__init__("pose2d_to_pose_stamped")
        self.exit_code: int | None = None
        self._message = PoseStamped()
        self._message.header.frame_id = declare(self, PARAMETERS).frame
        self._topic = self.create_publisher(PoseStamped, "pose_stamped", 10)
        self.create_subscription(Pose2D, "pose2d", self._on_pose, 10)

    def _on_pose(self, pose: Pose2D) -> None:
        if not all(map(math.isfinite, (pose.x, pose.y, pose.theta))):
            self.get_logger().warning(
                f"pose ({pose.x} m, {pose.y} m, {pose.theta} rad) left out: must be finite",
                throttle_duration_sec=1.0,
            )
            return
        message = self._message
        message.header.stamp = self.get_clock().now().to_msg()
        message.pose.position.x, message.pose.position.y = pose.x, pose.y
        half = 0.5 * pose.theta
        message.pose.orientation.z, message.pose.orientation.w = math.sin(half), math.cos(half)
        self._topic.publish(message)

    def close(self) -> None:
        """Nothing has to be said at the end."""
