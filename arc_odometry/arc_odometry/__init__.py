# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: wheel geometry, joint samples and exact arc odometry."""

from arc_odometry.geometry import (
    REST,
    UNLIMITED_RIMS,
    Arc,
    Pose,
    RimLimit,
    Velocity,
    WheelGeometry,
    sinc,
    sinc_derivative,
)
from arc_odometry.joints import EncoderJumpError, JointReader, JointSample
from arc_odometry.odometry import Anomaly, AnomalyKind, DiffOdometry, JointOdometry

__all__ = [
    "REST",
    "UNLIMITED_RIMS",
    "Arc",
    "DiffOdometry",
    "EncoderJumpError",
    "JointOdometry",
    "JointReader",
    "JointSample",
    "Anomaly",
    "AnomalyKind",
    "Pose",
    "RimLimit",
    "Velocity",
    "WheelGeometry",
    "sinc",
    "sinc_derivative",
]
