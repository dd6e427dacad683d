"""Differential-drive robots: geometry of the wheels, their samples, and exact arc odometry."""

from arc_odometry.arc import Arc, Pose
from arc_odometry.diff_odometry import DiffOdometry
from arc_odometry.geometry import WheelGeometry
from arc_odometry.joint_odometry import JointOdometry, Oddity
from arc_odometry.joints import JointReader, JointSample
from arc_odometry.series import sinc, sinc_derivative
from arc_odometry.wheel_turn import EncoderJumpError

__all__ = [
    "Arc",
    "DiffOdometry",
    "EncoderJumpError",
    "JointOdometry",
    "JointReader",
    "JointSample",
    "Oddity",
    "Pose",
    "WheelGeometry",
    "sinc",
    "sinc_derivative",
]
