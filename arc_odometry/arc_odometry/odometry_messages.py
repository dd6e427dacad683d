# SPDX-License-Identifier: Apache-2.0
"""Poses and velocities in the plane as ROS messages, and back."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseWithCovarianceStamped, Quaternion, TransformStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from arc_odometry.geometry import Pose

# The robot stays on its plane and its wheels do not slide sideways: what the odometry does not
# measure is known to be 0. Filters invert covariances, hence a small variance; m^2, rad^2, per s^2.
PLANE_VARIANCE = 1e-6
# Rows of [x, y, theta] and of [v, omega] in the 6 x 6 matrices of [x, y, z, roll, pitch, yaw].
_POSE_ROWS = np.ix_((0, 1, 5), (0, 1, 5))
_TWIST_ROWS = np.ix_((0, 5), (0, 5))


def quaternion(theta: float) -> Quaternion:
    """A heading, rad, as a rotation about the z axis."""
    return Quaternion(z=math.sin(0.5 * theta), w=math.cos(0.5 * theta))


class Measured(Protocol):
    """What an odometry knows; see DiffOdometry."""

    @property
    def pose(self) -> Pose:
        """In the odom frame."""

    @property
    def velocity(self) -> tuple[float, float]:
        """(v in m/s, omega in rad/s)."""

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Of the pose, (3, 3)."""

    @property
    def velocity_covariance(self) -> NDArray[np.float64]:
        """Of the velocity, (2, 2)."""


def fill_odometry(message: Odometry, stamp: Time, odometry: Measured) -> None:
    """Put pose, velocity and their covariances into a message whose frames are set."""
    pose, (linear, angular) = odometry.pose, odometry.velocity
    message.header.stamp = stamp
    message.pose.pose.position.x, message.pose.pose.position.y = pose.x, pose.y
    message.pose.pose.orientation = quaternion(pose.theta)
    message.twist.twist.linear.x, message.twist.twist.angular.z = linear, angular
    message.pose.covariance = _six(_POSE_ROWS, odometry.covariance)
    message.twist.covariance = _six(_TWIST_ROWS, odometry.velocity_covariance)


def fill_transform(transform: TransformStamped, message: Odometry) -> None:
    """Put the pose of an odometry message into a transform whose frames are set."""
    transform.header.stamp = message.header.stamp
    transform.transform.translation.x = message.pose.pose.position.x
    transform.transform.translation.y = message.pose.pose.position.y
    transform.transform.rotation = message.pose.pose.orientation


def read_pose(message: PoseWithCovarianceStamped, frame: str) -> tuple[Pose, NDArray[np.float64]]:
    """Pose and covariance (3, 3) of [x, y, theta], m and rad, of a message in the given frame.

    Raises:
        ValueError: another frame, or an orientation that is no rotation.
    """
    given = message.header.frame_id
    if given not in ("", frame):
        raise ValueError(f"pose in frame '{given}': must be in '{frame}'; transform it first")
    position = message.pose.pose.position
    yaw = heading(message.pose.pose.orientation)
    covariance = np.array(message.pose.covariance).reshape(6, 6)[_POSE_ROWS]
    return Pose(position.x, position.y, yaw), covariance


def heading(rotation: Quaternion) -> float:
    """Rotation about the vertical axis, rad, within +-pi.

    Raises:
        ValueError: it is no rotation.
    """
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(norm - 1.0) < 0.01:
        raise ValueError(
            f"orientation ({x}, {y}, {z}, {w}) of length {norm:g}: must be a quaternion of length 1"
        )
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _six(rows: tuple[NDArray[np.intp], ...], block: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = PLANE_VARIANCE * np.eye(6)
    matrix[rows] = block
    return matrix.ravel()
