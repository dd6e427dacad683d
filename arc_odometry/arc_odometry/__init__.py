"""Differential-drive robots: geometry of the wheels, their samples, and exact arc odometry."""

from arc_odometry.geometry import WheelGeometry
from arc_odometry.joints import EncoderJumpError, JointReader, JointSample
from arc_odometry.odometry import (
    Arc,
    DiffOdometry,
    JointOdometry,
    Oddity,
    Pose,
    sinc,
    sinc_derivative,
)

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
