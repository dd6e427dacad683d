"""Differential-drive robots: geometry of the wheels, their samples, and exact arc odometry."""

from arc_odometry.geometry import WheelGeometry
from arc_odometry.joints import EncoderJumpError, JointReader, JointSample
from arc_odometry.odometry import DiffOdometry, JointOdometry, Oddity, OddityKind
from arc_odometry.plane import REST, Arc, Pose, Velocity, sinc, sinc_derivative

__all__ = [
    "REST",
    "Arc",
    "DiffOdometry",
    "EncoderJumpError",
    "JointOdometry",
    "JointReader",
    "JointSample",
    "Oddity",
    "OddityKind",
    "Pose",
    "Velocity",
    "WheelGeometry",
    "sinc",
    "sinc_derivative",
]
