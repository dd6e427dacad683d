# SPDX-License-Identifier: Apache-2.0
"""One drive: its readings on common knots, the fitted parameters, and what sensors measure.

See docs/theory/calibration.md#joint-fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from arc_odometry import WheelGeometry
from diffbot_calibration.noise_levels import Mask, Noise, Sensors, WalkSteps, WheelSlip
from diffbot_calibration.random_walk_fit import LinearProblem
from diffbot_recordings.sensor_readings import (
    Array,
    GyroReadings,
    PoseReadings,
    WheelPath,
    WheelTurns,
    driven,
    gaps,
)

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
    if poses is not None and poses.frame is not None:
        breaks |= np.diff(poses.frame[rows]) != 0.0
    return DriveReadings(wheels, stamps, table, gyro, breaks)


# Steps of the parameters for numerical derivatives: relative, s, m, rad.
STEPS = {
    **dict.fromkeys(GEOMETRY, 1e-5),
    "pose_delay": 5e-3,
    "mount_x": 1e-3,
    "mount_y": 1e-3,
    "mount_yaw": 1e-4,
    "gyro_delay": 5e-3,
    "gyro_scale": 1e-3,
    "pose_delay_rate": 1e-4,
    "gyro_delay_rate": 1e-4,
}


@dataclass(frozen=True)
class DriveModel:
    """Measurements of one drive as functions of parameters and walk.

    Attributes:
        drive: Readings on the knots.
        radius: Mean radius if it is not fitted (no pose source), m.
        gyro_scale_std: Standard deviation of the gyro's scale about 1.
        gyro_turned: Integral of the gyro's readings, rad.
        gyro_at: Fixed stamps at which the gyro is evaluated, s, (K,).
    """

    drive: DriveReadings
    radius: float
    gyro_scale_std: float
    gyro_turned: Array | None
    gyro_at: Array

    @property
    def sensors(self) -> Sensors:
        return Sensors(self.drive.poses is not None, self.drive.gyro is not None)

    def _path(self, beta: Parameters) -> WheelPath:
        return WheelPath(self.drive.wheels, beta.geometry(self.radius))

    def predict(self, beta: Parameters, walk: Array) -> tuple[Array, Array]:
        """Return residuals of all measurements, (K, m), and odometry at the knots, (K, 3)."""
        odometry = self._path(beta).poses(beta.taken(self.drive.stamps))
        columns = []
        if self.drive.poses is not None:
            a, heading = walk[:, 0], odometry[:, 2] + walk[:, 0]
            cos, sin = np.cos(a), np.sin(a)
            m_x, m_y = beta.value("mount_x"), beta.value("mount_y")
            x = cos * odometry[:, 0] - sin * odometry[:, 1] + walk[:, 1]
            y = sin * odometry[:, 0] + cos * odometry[:, 1] + walk[:, 2]
            cos, sin = np.cos(heading), np.sin(heading)
            measured = self.drive.poses
            yaw = measured[:, 2] - heading - beta.value("mount_yaw")
            columns = [
                measured[:, 0] - x - cos * m_x + sin * m_y,
                measured[:, 1] - y - sin * m_x - cos * m_y,
                (yaw + np.pi) % (2.0 * np.pi) - np.pi,
            ]
        if self.drive.gyro is not None:
            columns.append(self.gyro_residual(beta, walk))
        return np.stack(columns, axis=1), odometry

    def gyro_residual(self, beta: Parameters, walk: Array) -> Array:
        """Return the residuals of the gyro's integral, rad, (K,)."""
        assert self.drive.gyro is not None and self.gyro_turned is not None
        stamps = self.gyro_at
        rate = beta.value("gyro_delay_rate") * (stamps - beta.middle)
        heading = self._path(beta).headings(stamps - beta.value("gyro_delay") - rate)
        integral = np.interp(stamps, self.drive.gyro.stamps, self.gyro_turned)
        turned: Array = integral - beta.value("gyro_scale") * heading - walk[:, 0]
        return turned - walk[:, -2]

    def linearised(self, beta: Parameters, walk: Array) -> tuple[LinearProblem, WalkSteps]:
        """Linearise at parameters and walk; also return the noise model of the walk's steps."""
        residuals, odometry = self.predict(beta, walk)
        columns = []
        names = beta.names
        for i, name in enumerate(names):
            step = np.zeros(len(names))
            step[i] = STEPS[name]
            ahead, _ = self.predict(beta.moved(step), walk)
            behind, _ = self.predict(beta.moved(-step), walk)
            difference = behind - ahead
            if self.drive.poses is not None:
                difference[:, 2] = (difference[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
            columns.append(difference / (2.0 * STEPS[name]))
        count, measured = residuals.shape
        h = np.zeros((count, measured, self.sensors.size))
        a = walk[:, 0]
        if self.drive.poses is not None:
            heading = odometry[:, 2] + a
            m_x, m_y = beta.value("mount_x"), beta.value("mount_y")
            lever = rotated(a, odometry) + rotated(heading, np.array([[m_x, m_y]]))
            h[:, 0, 0], h[:, 1, 0], h[:, 2, 0] = -lever[:, 1], lever[:, 0], 1.0
            h[:, 0, 1] = h[:, 1, 2] = 1.0
        if self.drive.gyro is not None:
            h[:, -1, 0] = h[:, -1, -2] = 1.0
        w, f, b = self._walk_steps(walk, odometry)
        prior, prior_r = np.zeros(len(names)), np.zeros(len(names))
        if "gyro_scale" in names:
            i = names.index("gyro_scale")
            prior[i], prior_r[i] = 1.0 / self.gyro_scale_std**2, 1.0 - beta.values[i]
        j = np.stack(columns, axis=2)
        problem = LinearProblem(residuals, h, j, w, f, b, prior, prior_r)
        return problem, self._steps_noise(beta, walk, odometry)

    def _walk_steps(self, walk: Array, odometry: Array) -> tuple[Array, Array, Array]:
        count, n = len(walk), self.sensors.size
        w = np.diff(walk, axis=0)
        f = np.tile(np.eye(n), (count - 1, 1, 1))
        b = f.copy()
        if self.drive.poses is not None:
            middle = 0.5 * (odometry[1:, :2] + odometry[:-1, :2])
            now, before = rotated(walk[1:, 0], middle), rotated(walk[:-1, 0], middle)
            w[:, 1:3] += now - before
            for matrix, at in ((f, now), (b, before)):
                matrix[:, 1, 0], matrix[:, 2, 0] = -at[:, 1], at[:, 0]
        if self.drive.gyro is not None:
            period = np.diff(self.drive.stamps)
            w[:, -2] -= walk[:-1, -1] * period
            b[:, -2, -1] = period
        return w, f, b

    def _steps_noise(self, beta: Parameters, walk: Array, odometry: Array) -> WalkSteps:
        taken = beta.taken(self.drive.stamps)
        turned = np.diff(driven(self.drive.wheels, taken), axis=0)
        heading = 0.5 * (odometry[1:, 2] + odometry[:-1, 2]) + walk[1:, 0]
        slip = WheelSlip.of(beta.geometry(self.radius), turned, heading)
        return WalkSteps(slip, np.diff(self.drive.stamps), self.drive.breaks)


def rotated(angle: Array, places: Array) -> Array:
    """Rotate places about the origin, (n, 2)."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = places[:, 0], places[:, 1]
    return np.stack((cos * x - sin * y, sin * x + cos * y), axis=1)


# A frame jumped if readings step by JUMP standard deviations of a median of JUMP_SPAN.
JUMP, JUMP_SPAN = 7.0, 7


def first_walk(model: DriveModel, beta: Parameters) -> tuple[Array, Noise]:
    """Return a first walk, by running medians, and noise levels of a pose source."""
    walk = np.zeros((len(model.drive.stamps), model.sensors.size))
    residuals, odometry = model.predict(beta, walk)
    turned = np.exp(1j * residuals[:, 2])
    smooth = _median(turned.real) + 1j * _median(turned.imag)
    walk[:, 0] = np.unwrap(np.angle(smooth))
    residuals, odometry = model.predict(beta, walk)
    c = residuals[:, :2]
    # At the robot, where noise of the heading moves it little.
    local = c + rotated(walk[:, 0], odometry)
    noise = Noise(
        position=max(_white_noise_std(np.concatenate((local[:, 0], [np.nan], local[:, 1]))), 1e-4),
        yaw=max(_white_noise_std(residuals[:, 2]), 1e-4),
    )
    walk[:, 1], walk[:, 2] = _median(c[:, 0]), _median(c[:, 1])
    return walk, noise


def jumps(model: DriveModel, beta: Parameters, walk: Array, noise: Noise) -> Mask:
    """Return the lasting steps of the pose source's frame, where the walk may jump, (K - 1,)."""
    if len(model.drive.stamps) < 4 * JUMP_SPAN:
        return np.zeros(max(len(walk) - 1, 0), dtype=bool)
    anchored = np.tile(walk[len(walk) // 2], (len(walk), 1))
    a = walk[:, 0]
    anchored[:, 0] = a
    residuals, odometry = model.predict(beta, anchored)
    span = JUMP_SPAN
    steps = np.zeros(len(residuals) - 1)
    sizes = (noise.position, noise.position, noise.yaw)
    index = np.arange(span - 1, len(residuals) - span)
    offsets = np.arange(span)[:, None]
    turned = np.column_stack((residuals[:, :2], residuals[:, 2] + a))
    for column, size in enumerate(sizes):
        before = turned[index - offsets, column]
        after = turned[index + 1 + offsets, column]
        step = np.median(after, axis=0) - np.median(before, axis=0)
        step = (step + np.pi) % (2.0 * np.pi) - np.pi if column == 2 else step
        usual = 1.4826 * float(np.median(np.abs(step - np.median(step))))
        level = max(1.25 * size * math.sqrt(2.0 / span), usual)
        steps[index] = np.maximum(steps[index], np.abs(step) / level)
    result = np.zeros(len(steps), dtype=bool)
    for at in np.argsort(-steps):
        if steps[at] < JUMP:
            break
        if not result[max(0, at - 2 * span) : at + 2 * span].any():
            result[at] = True
    return result


def _median(values: Array) -> Array:
    smooth: Array = scipy.ndimage.median_filter(values, size=2 * JUMP_SPAN + 1, mode="nearest")
    return smooth


def _white_noise_std(values: Array) -> float:
    second = values[1:-1] - 0.5 * (values[:-2] + values[2:])
    return 1.4826 * float(np.nanmedian(np.abs(second))) / math.sqrt(1.5)
