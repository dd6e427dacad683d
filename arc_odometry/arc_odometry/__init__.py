# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: geometry of the wheels, their samples, and exact arc odometry."""

from arc_odometry.geometry import REST, Arc, Pose, Velocity, WheelGeometry, sinc, sinc_derivative
from arc_odometry.joints import EncoderJumpError, JointReader, JointSample
from arc_odometry.odometry import DiffOdometry, JointOdometry, Oddity, OddityKind

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
