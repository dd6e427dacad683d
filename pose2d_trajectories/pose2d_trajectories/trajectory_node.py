"""The trajectory_publisher node: a trajectory as messages, at the robot's pace (see PacedNode).

Publishes `command` (geometry_msgs/Pose2D, the pose alone, as in Lages (2018), 5.3) and `reference`
(diffbot_msgs/PoseReference: pose, velocity and acceleration). After the end of the trajectory its
last pose is held.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose2D

from diffbot_msgs.msg import PoseReference
from pose2d_trajectories.catalogue import make_trajectory
from pose2d_trajectories.limit_parameters import limits
from pose2d_trajectories.paced_node import PacedNode, pace_parameters
from pose2d_trajectories.trajectory_parameters import TRAJECTORY_PARAMETERS, options


class TrajectoryNode(PacedNode):
    """ROS side of a trajectory.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_publisher", (*TRAJECTORY_PARAMETERS, *pace_parameters()))
        values = self.values
        self.trajectory = make_trajectory(
            values.trajectory,
            x=values.x,
            y=values.y,
            theta=values.theta,
            backwards=values.backwards,
            limits=limits(values),
            **options(values),
        )
        self.title, self.duration = values.trajectory, self.trajectory.duration
        self._command = Pose2D()
        self._reference = PoseReference()
        self._reference.header.frame_id = values.frame
        self._command_topic = self.create_publisher(Pose2D, "command", 10)
        self._reference_topic = self.create_publisher(PoseReference, "reference", 10)
        self.topics = (self._command_topic, self._reference_topic)

    def publish(self, stamp: Time, t: float) -> None:
        """Publish the reference for time t, s."""
        now = self.trajectory.at(t)
        message = self._reference
        message.header.stamp = stamp
        message.x, message.y, message.theta = now.x, now.y, now.theta
        message.v, message.omega = now.v, now.omega
        message.dv, message.domega = now.dv, now.domega
        self._reference_topic.publish(message)
        command = self._command
        command.x, command.y, command.theta = now.x, now.y, now.theta
        self._command_topic.publish(command)
