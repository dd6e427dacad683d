# SPDX-License-Identifier: Apache-2.0
"""Readings of one drive on common knots, the parameters that are fitted to them, and the fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_calibration.noise_levels import Mask, Noise
from diffbot_recordings.sensor_readings import Array, GyroReadings, PoseReadings, WheelTurns
from diffbot_recordings.wheel_path import gaps

GEOMETRY = ("log_radius", "log_ratio", "log_track")
POSE = ("pose_delay", "mount_x", "mount_y", "mount_yaw")
GYRO = ("gyro_delay", "gyro_scale")
DRIFT = ("pose_delay_rate", "gyro_delay_rate")
# Spacing of the knots without a pose source, s; most poses used.
KNOT, MOST = 0.05, 20000


@dataclass(frozen=True)
class DriveReadings:
    """One drive's readings on the knots of the fit.

    Attributes:
        stamps: Stamps of the knots, s, (K,): those of the poses, or evenly spaced.
        poses: Poses at the knots, [x, y, yaw], (K, 3).
        breaks: Mask of the steps between knots over which nothing is known, (K - 1,).
    """

    wheels: WheelTurns
    stamps: Array
    poses: Array | None
    gyro: GyroReadings | None
    breaks: Mask


@dataclass(frozen=True)
class Parameters:
    """Parameters of a drive: radii and track, delays, mounting and gyro.

    Attributes:
        names: Of GEOMETRY, POSE, GYRO and DRIFT.
        values: (p,).
        middle: Time at which a drifting clock is right, s.
    """

    names: tuple[str, ...]
    values: Array
    middle: float

    def value(self, name: str) -> float:
        """Return a parameter by name; 0 (for a scale: 1) if it was not fitted."""
        if name in self.names:
            return float(self.values[self.names.index(name)])
        return 1.0 if name == "gyro_scale" else 0.0

    def taken(self, stamps: Array) -> Array:
        """Return the times at which poses with these stamps were taken, s of the wheels' clock."""
        drift = self.value("pose_delay_rate") * (stamps - self.middle)
        when: Array = stamps - self.value("pose_delay") - drift
        return when

    def gyro_stamps(self, times: Array) -> Array:
        """Return the stamps of the gyro's readings at times of the wheels' clock, s."""
        drift = self.value("gyro_delay_rate") * (times - self.middle)
        stamps: Array = times + self.value("gyro_delay") + drift
        return stamps

    def geometry(self, radius: float) -> WheelGeometry:
        """Return radii and track; `radius`, m, is used if it was not fitted (no pose source)."""
        if "log_radius" in self.names:
            radius = math.exp(self.value("log_radius"))
        return _geometry(radius, self.value("log_ratio"), self.value("log_track"))

    def moved(self, step: Array) -> Parameters:
        """Return the parameters moved by a step, (p,)."""
        return replace(self, values=self.values + step)


@dataclass(frozen=True)
class Fit(Parameters):
    """Result of a fit.

    Attributes:
        covariance: Of the parameters, (p, p).
        slip_covariance: Its derivative by the logarithm of the path noise, (p, p).
        noise: Noise levels; those of missing sensors have no meaning.
        noise_std: Standard deviation of each level's logarithm; inf: not identifiable.
        walk: (a, c_x, c_y) and the gyro's (B, b) at the knots, (K, n).
        residuals: (K, m).
        used: Mask of the readings that are no outliers, (K,).
        correlation: Largest correlation of neighbouring residuals of the pose source.
    """

    covariance: Array
    slip_covariance: Array
    noise: Noise
    noise_std: dict[str, float]
    walk: Array
    residuals: Array
    used: Mask
    drive: DriveReadings
    correlation: float

    def std(self, name: str) -> float:
        """Return the standard deviation of a parameter; inf if it was not fitted."""
        if name not in self.names:
            return math.inf
        i = self.names.index(name)
        return math.sqrt(max(0.0, float(self.covariance[i, i])))


def _geometry(radius: float, log_ratio: float, log_track: float) -> WheelGeometry:
    half = math.tanh(0.5 * log_ratio)  # (right - left) / (right + left)
    return WheelGeometry(radius * (1.0 - half), radius * (1.0 + half), radius * math.exp(log_track))


def drive_of(
    wheels: WheelTurns, gyro: GyroReadings | None, poses: PoseReadings | None, delay: float
) -> DriveReadings:
    """Return the readings in the time that all sensors cover, on common knots.

    `delay` is approximately that of the pose source, s.
    """
    begin, end = wheels.stamps[0], wheels.stamps[-1]
    if gyro is not None:
        begin, end = max(begin, gyro.stamps[0]), min(end, gyro.stamps[-1])
    if poses is not None:
        keep = (poses.stamps - delay >= begin) & (poses.stamps - delay <= end)
        rows = np.flatnonzero(keep)
        rows = rows[:: max(1, math.ceil(len(rows) / MOST))]
        stamps, table = poses.stamps[rows], np.stack((poses.x, poses.y, poses.yaw), axis=1)[rows]
    else:
        stamps, table = np.arange(begin + 0.5 * KNOT, end - 0.5 * KNOT, KNOT), None
    breaks = np.zeros(max(len(stamps) - 1, 0), dtype=bool)
    for at in gaps(wheels):
        breaks |= (stamps[:-1] - delay <= at) & (stamps[1:] - delay >= at)
    return DriveReadings(wheels, stamps, table, gyro, breaks)
