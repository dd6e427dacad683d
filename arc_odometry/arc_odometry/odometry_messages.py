# SPDX-License-Identifier: Apache-2.0
"""Conversion of planar poses and velocities to and from ROS messages."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseWithCovarianceStamped, Quaternion, TransformStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from arc_odometry.arcs import Pose

# Of what is known to be 0 on a plane, m^2, rad^2, and per s^2; filters invert covariances.
PLANE_VARIANCE = 1e-6
# Indices of [x, y, theta] and [v, omega] in 6 x 6 matrices.
_POSE_ROWS = np.ix_((0, 1, 5), (0, 1, 5))
_TWIST_ROWS = np.ix_((0, 5), (0, 5))


def quaternion(theta: float) -> Quaternion:
    """Return a heading, rad, as a rotation about the z axis."""
    return Quaternion(z=math.sin(0.5 * theta), w=math.cos(0.5 * theta))


class Measured(Protocol):
    """State of an odometry; see DiffOdometry."""

    @property
    def pose(self) -> Pose:
        """Pose in the odom frame."""

    @property
    def velocity(self) -> tuple[float, float]:
        """Body velocity (v in m/s, omega in rad/s)."""

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the pose, (3, 3)."""

    @property
    def velocity_covariance(self) -> NDArray[np.float64]:
        """Covariance of the velocity, (2, 2)."""


class OdometryPublisher:
    """Publishes an odometry on a topic and, unless `tf` is false, its pose on /tf.

    Args:
        frames: Frame of the pose and of the robot; parent and child in tf.

    Attributes:
        topic: Publisher of the odometry.
    """

    def __init__(self, node: Node, topic: str, frames: tuple[str, str], tf: bool) -> None:
        self._frames = frames
        self.topic = node.create_publisher(Odometry, topic, 10)
        self._tf = node.create_publisher(TFMessage, "/tf", 100) if tf else None

    def publish(self, stamp: Time, odometry: Measured) -> None:
        """Publish pose, velocity and transform with this stamp, to those who subscribe."""
        wanted = self._tf is not None and self._tf.get_subscription_count() > 0
        if not wanted and not self.topic.get_subscription_count():
            return  # the messages take half as long as a control law
        message = odometry_message(stamp, odometry, self._frames)
        self.topic.publish(message)
        if self._tf is not None and wanted:
            self._tf.publish(TFMessage(transforms=[transform_of(message)]))


def odometry_message(stamp: Time, odometry: Measured, frames: tuple[str, str]) -> Odometry:
    """Return pose, velocity and their covariances as a message; `frames`: pose's and robot's."""
    message, pose = Odometry(child_frame_id=frames[1]), odometry.pose
    message.header.stamp, message.header.frame_id = stamp, frames[0]
    linear, angular = odometry.velocity
    message.pose.pose.position.x, message.pose.pose.position.y = pose.x, pose.y
    message.pose.pose.orientation = quaternion(pose.theta)
    message.twist.twist.linear.x, message.twist.twist.angular.z = linear, angular
    message.pose.covariance = _six(_POSE_ROWS, odometry.covariance)
    message.twist.covariance = _six(_TWIST_ROWS, odometry.velocity_covariance)
    return message


def transform_of(message: Odometry) -> TransformStamped:
    """Return the pose of an odometry message as a transform."""
    transform = TransformStamped(header=message.header, child_frame_id=message.child_frame_id)
    transform.transform.translation.x = message.pose.pose.position.x
    transform.transform.translation.y = message.pose.pose.position.y
    transform.transform.rotation = message.pose.pose.orientation
    return transform


def read_pose(message: PoseWithCovarianceStamped, frame: str) -> tuple[Pose, NDArray[np.float64]]:
    """Return pose and covariance (3, 3) of [x, y, theta], m and rad, of a message.

    Raises:
        ValueError: It is in another frame, or its orientation is no rotation.
    """
    given = message.header.frame_id
    if given not in ("", frame):
        raise ValueError(f"pose in frame '{given}': must be in '{frame}'; transform it first")
    position = message.pose.pose.position
    yaw = heading(message.pose.pose.orientation)
    covariance = np.array(message.pose.covariance).reshape(6, 6)[_POSE_ROWS]
    return Pose(position.x, position.y, yaw), covariance


def heading(rotation: Quaternion) -> float:
    """Return the rotation about the vertical axis, rad, within +-pi; ValueError: no rotation."""
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(norm - 1.0) < 0.01:
        raise ValueError(
            f"orientation ({x}, {y}, {z}, {w}) of length {norm:g}: must be a quaternion of length 1"
        )
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _six(rows: tuple[NDArray[np.intp], ...], batch: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = PLANE_VARIANCE * np.eye(6)
    matrix[rows] = batch
    return matrix.ravel()
