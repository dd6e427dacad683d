# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots: wheel geometry, joint samples and exact arc odometry."""

from arc_odometry.joints import Anomaly, AnomalyKind, JointOdometry, JointReader, JointSample
from arc_odometry.odometry import (
    REST,
    UNLIMITED_RIMS,
    Arc,
    DiffOdometry,
    EncoderJumpError,
    Pose,
    RimLimit,
    Velocity,
    WheelGeometry,
    sinc,
    sinc_derivative,
)

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
