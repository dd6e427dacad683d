# SPDX-License-Identifier: Apache-2.0
"""Set points: the pose_step command sends one, pose2d_to_pose_stamped converts them for RViz.

pose_step is pose_step.sh of Lages (2018), 5.1:

    ros2 run pose2d_trajectories pose_step X Y THETA --ros-args -r command:=CONTROLLER/command

It publishes one geometry_msgs/Pose2D on `command` once there is a subscriber, and ends.
pose2d_to_pose_stamped, ibid. 5.3, publishes what arrives on `pose2d` as `pose_stamped`
(geometry_msgs/PoseStamped), stamped with the node's clock.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.utilities import remove_ros_args

from arc_odometry.odometry_messages import quaternion
from diffbot_node import Node, declare, parameter, pose_from_text, run_node
from diffbot_node.launch_supervision import tell_why
from diffbot_node.robot_messages import create_wall_timer
from pose2d_trajectories.pose_message import Pose2D

USAGE = """\
usage: pose_step X Y THETA [--ros-args -r command:=CONTROLLER/command]
   or: pose_step X,Y,THETA

Sends the set point (x in m, y in m, theta in rad, in the odom frame) to a controller.
Parameter patience: wall time to wait for a subscriber, s (10)."""


@dataclass(frozen=True)
class PoseStepParameters:
    """Parameters of pose_step."""

    goal: str = parameter("", "set point x,y,theta in m, m, rad; empty: that of the command line")
    patience: float = parameter(
        10.0, "wall time to wait for a subscriber of command, s", minimum=0.0
    )


LOOK_PERIOD = 0.02  # wall time between two checks of the subscriber, s
CONFIRMATION = 1.0  # minimum wall time that a subscriber has to confirm, s


class PoseStepNode(Node):
    """Sends one set point; exit status 0 if it was delivered, otherwise 1.

    `pose`: x, y, theta in the odom frame, m, m, rad; None: that of the parameter `goal`.
    """

    def __init__(self, pose: tuple[float, float, float] | None = None) -> None:
        super().__init__("pose_step")
        values = declare(self, PoseStepParameters)
        x, y, theta = pose or pose_from_text("goal", values.goal)
        self._pose = Pose2D(x=x, y=y, theta=theta)
        self._patience = values.patience
        self._topic = self.create_publisher(Pose2D, "command", 10)
        self._sent = False
        self._end = time.monotonic() + self._patience
        create_wall_timer(self, LOOK_PERIOD, self._send_when_subscribed)

    def _send_when_subscribed(self) -> None:
        if self.exit_code is not None:
            return
        topic, pose = self._topic.topic_name, self._pose
        if not self._sent and self._topic.get_subscription_count():
            self._topic.publish(pose)
            self._sent = True
            self._end = time.monotonic() + max(self._patience, CONFIRMATION)
        # Wait for delivery: a process that ends at once would lose the message.
        if self._sent and self._topic.wait_for_all_acked(Duration()):
            self.get_logger().info(
                f"sent to {topic}: x {pose.x:g} m, y {pose.y:g} m, theta {pose.theta:g} rad"
            )
            self.exit_code = 0
        elif time.monotonic() >= self._end:
            self.get_logger().error(
                f"the subscriber of {topic} did not confirm"
                if self._sent
                else f"no node subscribed to {topic} within {self._patience:g} s; start a "
                "controller, or remap: --ros-args -r command:=CONTROLLER/command"
            )
            self.exit_code = 1


def main(args: list[str] | None = None) -> int:
    """Run the `pose_step` command; return the exit status, 130 if it is interrupted."""
    args = sys.argv if args is None else args
    try:
        words = remove_ros_args(args)[1:]
        if set(words) & {"-h", "--help"}:
            print(USAGE)
            return 0
        pose = pose_from_text("set point", " ".join(words))
    except (ValueError, RuntimeError) as error:  # RuntimeError: a wrong remapping or parameter
        print(f"pose_step: {error}\n{USAGE}", file=sys.stderr)
        tell_why(str(error))
        return 2
    return run_node(lambda: PoseStepNode(pose), args, interrupted=130)


@dataclass(frozen=True)
class PoseStampedParameters:
    """Parameters of pose2d_to_pose_stamped."""

    frame: str = parameter("odom", "frame of the poses")


class PoseStampedNode(Node):
    """Converts planar poses to stamped poses in space."""

    def __init__(self) -> None:
        super().__init__("pose2d_to_pose_stamped")
        self._frame = declare(self, PoseStampedParameters).frame
        self._topic = self.create_publisher(PoseStamped, "pose_stamped", 10)
        self.create_subscription(Pose2D, "pose2d", self._on_pose, 10)

    def _on_pose(self, pose: Pose2D) -> None:
        if not all(map(math.isfinite, (pose.x, pose.y, pose.theta))):
            self.get_logger().warning(
                f"pose ({pose.x} m, {pose.y} m, {pose.theta} rad) ignored: must be finite",
                throttle_duration_sec=1.0,
            )
            return
        message = PoseStamped()
        message.header.frame_id = self._frame
        message.header.stamp = self.get_clock().now().to_msg()
        message.pose.position.x, message.pose.position.y = pose.x, pose.y
        message.pose.orientation = quaternion(pose.theta)
        self._topic.publish(message)
