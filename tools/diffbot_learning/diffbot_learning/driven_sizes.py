# SPDX-License-Identifier: Apache-2.0
"""Radii, track, gyro and mounting from a stretch of ordinary driving, by the fit of `calibrate`.

The sensors are those of `calibrate`: a gyro, and poses of a laser, SLAM, AMCL or tf. What the
motion of one stretch does not tell is left out; the stretches together may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import (
    GYRO_SCALE_STD,
    OWN_ODOMETRY,
    CalibratedValue,
    fit_drive,
    fitted_values,
)
from diffbot_description import Robot
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.recorded_readings import ReadingOptions, read_readings
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sensor_readings import CalibrationReadings, CommonPoseErrors

NO_POSE = "none"
# Standard deviation of a gyro's scale where poses tell it, and where its error is left to `common`.
UNKNOWN_SCALE, EXACT_SCALE = 0.2, 1e-6
# Sizes that a gyro tells up to its own scale.
UP_TO_GYRO = ("track_over_mean_radius", "angular_scale")
# Positive values, whose errors are relative.
LOGARITHMIC = ("path_noise",)
LEFT_OUT = (
    *("pose_position_noise", "pose_yaw_noise", "gyro_angle_random_walk", "gyro_bias_walk"),
    *("pose_delay_rate", "gyro_delay_rate"),
)


class StretchValue(NamedTuple):
    """What a stretch tells of a value.

    Attributes:
        std: Standard deviation of what differs from stretch to stretch, in `unit`.
        common: That of what all stretches have in common.
    """

    value: float
    std: float
    unit: str
    common: float = 0.0


def read_driven(path: Path, robot: Robot, tf: tuple[str, str] | None) -> CalibrationReadings:
    """Read wheels or odometry, gyro and poses; without poses if the laser's cannot be used.

    Raises:
        ValueError: There are no wheels, or values cannot be used.
    """
    options = ReadingOptions(robot=robot, tf=tf)
    try:
        return read_readings([path], options, robot.geometry)
    except RecordingError:
        options = replace(options, pose=NO_POSE, tf=None)
        return read_readings([path], options, robot.geometry)


def driven_sizes(
    readings: CalibrationReadings, given: WheelGeometry
) -> tuple[dict[str, StretchValue], str]:
    """Return what a stretch tells, by the names of calibration.yaml; if nothing, why.

    Args:
        readings: Of one stretch.
        given: Radii and track of the description.
    """
    if readings.gyro is None and readings.poses is None:
        return {}, "neither gyro nor poses: radii and track are not told"
    try:
        return _values(readings, given), ""
    except (ValueError, ArithmeticError) as error:
        if readings.gyro is None or readings.poses is None:
            return {}, str(error)
    try:
        without = replace(readings, poses=None, pose_errors=CommonPoseErrors())
        return _values(without, given), ""
    except (ValueError, ArithmeticError) as error:
        return {}, str(error)


def _values(readings: CalibrationReadings, given: WheelGeometry) -> dict[str, StretchValue]:
    posed = readings.poses is not None
    # A prior would count once for each stretch.
    fit, _ = fit_drive(readings, given, UNKNOWN_SCALE if posed else EXACT_SCALE)
    if posed and max(fit.noise.position, fit.noise.yaw) < OWN_ODOMETRY:
        raise ValueError("the poses are computed from the wheels: they tell nothing of them")
    own = fitted_values(fit, readings, given, CommonPoseErrors())
    whole = fitted_values(fit, readings, given, readings.pose_errors)
    return {
        name: _quantity(name, value, whole, posed)
        for name, value in own.items()
        if value.identified and name not in LEFT_OUT and math.isfinite(value.upper)
    }


def _quantity(
    name: str, own: CalibratedValue, whole: Mapping[str, CalibratedValue], posed: bool
) -> StretchValue:
    std, total = (_std(name, value) for value in (own, whole[name]))
    common = math.sqrt(max(0.0, total**2 - std**2)) if whole[name].identified else 0.0
    if not posed and name in UP_TO_GYRO:
        common = GYRO_SCALE_STD * abs(own.value)
    return StretchValue(own.value, std, own.unit, common)


def _std(name: str, value: CalibratedValue) -> float:
    if name in LOGARITHMIC:
        return value.value * math.log(value.upper / value.value) / NORMAL_95
    return 0.5 * (value.upper - value.lower) / NORMAL_95
