# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: wheel geometry, joint samples and exact arc odometry."""

from arc_odometry.arcs import REST, Arc, Pose, Velocity, sinc, sinc_derivative
from arc_odometry.joints import Anomaly, AnomalyKind, JointOdometry, JointReader, JointSample
from arc_odometry.motion_limits import UNLIMITED_RIMS, MotionLimits, RimLimit
from arc_odometry.odometry import DiffOdometry, EncoderJumpError, WheelGeometry

__all__ = [
    "REST",
    "UNLIMITED_RIMS",
    "Arc",
    "DiffOdometry",
    "EncoderJumpError",
    "JointOdometry",
    "JointReader",
    "JointSample",
    "MotionLimits",
    "Anomaly",
    "AnomalyKind",
    "Pose",
    "RimLimit",
    "Velocity",
    "WheelGeometry",
    "sinc",
    "sinc_derivative",
]
