"""What the nodes of the two pose controllers share: set points, moving references, speed limits.

Subscribes to `~/command` (geometry_msgs/Pose2D: a set point, which lasts) and `~/reference`
(diffbot_msgs/PoseReference: a moving reference, stamped), both in the odom frame.
"""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import Pose2D
from rclpy.subscription import Subscription

from diffbot_controllers.controller_node import ControllerNode
from diffbot_controllers.motion import Reference, Velocity
from diffbot_controllers.reference_input import ReferenceInput, advance_pose
from diffbot_msgs.msg import PoseReference
from diffbot_node import Parameter, seconds

FIELDS = ("x", "y", "theta", "v", "omega", "dv", "domega")
STANDSTILL = 1e-9  # m/s and rad/s

POSE_PARAMETERS = (
    Parameter(
        "direction",
        "either",
        "in which the robot arrives at a set point",
        choices=("either", "forwards", "backwards"),
    ),
    Parameter("linear_velocity", 0.0, "largest |v|, m/s; 0: the robot's own", minimum=0.0),
    Parameter("angular_velocity", 0.0, "largest |omega|, rad/s; 0: the robot's own", minimum=0.0),
)


class PoseTrackingNode(ControllerNode):
    """ROS side of a law that is told poses."""

    def make_input(self) -> ReferenceInput[Reference]:
        """Set points and references."""
        self._command_topic = self.create_subscription(Pose2D, "~/command", self._on_command, 10)
        self._stream_topic = self.create_subscription(
            PoseReference, "~/reference", self._on_reference, 10
        )
        return ReferenceInput(self.values.reference_timeout, advance_pose)

    @property
    def reference_topics(self) -> tuple[Subscription, ...]:
        """The two topics that references come from."""
        return self._stream_topic, self._command_topic

    def at_rest(self, reference: Reference) -> bool:
        """Whether the reference stands."""
        return max(abs(reference.v), abs(reference.omega)) <= STANDSTILL

    def speed_limits(self) -> Velocity:
        """Bounds of |v| and |omega|, m/s and rad/s.

        Raises:
            ValueError: more is asked for than the robot may.
        """
        bounds = []
        for name, unit in (("linear_velocity", "m/s"), ("angular_velocity", "rad/s")):
            asked, limit = getattr(self.values, name), getattr(self.robot.limits, name)
            if asked > limit:
                raise ValueError(
                    f"parameter '{name}' = {asked} {unit}: must be <= {limit} {unit}, the limit of "
                    f"robot '{self.robot.name}'; lower it or correct the robot's YAML"
                )
            bounds.append(asked or limit)
        return Velocity(*bounds)

    def _on_command(self, message: Pose2D) -> None:
        if self.count_publishers(self._stream_topic.topic_name):
            self.complain(
                f"set point on {self._command_topic.topic_name} left out: references come on "
                f"{self._stream_topic.topic_name}; stop their publisher first"
            )
            return
        self.take(None, Reference, {name: getattr(message, name) for name in FIELDS[:3]})

    def _on_reference(self, message: PoseReference) -> None:
        fields: dict[str, Any] = {name: getattr(message, name) for name in FIELDS}
        frame, odom = message.header.frame_id, self.values.odom_frame
        if frame not in ("", odom):
            self.complain(f"reference in frame '{frame}': must be in '{odom}'; transform it first")
            fields["x"] = math.nan
        self.take(seconds(message.header.stamp), Reference, fields)
