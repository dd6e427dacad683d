# SPDX-License-Identifier: Apache-2.0
"""Drift of odometry on held-out motion before and after calibration, and its consistency.

See docs/theory/calibration.md#held-out-drift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from arc_odometry import WheelGeometry
from diffbot_calibration.drive_model import Fit
from diffbot_recordings.sensor_readings import (
    Array,
    CalibrationReadings,
    WheelPath,
    WheelTurns,
    driven,
    gaps,
)
from diffbot_recordings.sensor_turns import turned_by

WINDOW = 3.0
"""Length of a window, s."""
# Poses around an end, and their median's variance over a single one's (Gaussian).
AROUND, MEDIAN = 7, 0.2104
# Time step for the sum of slip over a window, s.
STEP = 0.1
# Minimum motion in a window, rad of both wheels together.
LEAST_MOTION = 1.0
# Probability of the interval in which a mean NEES is consistent.
CONSISTENT = 0.99
FEWEST = 3


@dataclass(frozen=True)
class Drift:
    """Drift over the windows: root mean squares, rad and m (None without poses), and mean NEES."""

    heading: float
    position: float | None
    nees: float


@dataclass(frozen=True)
class HeldOut:
    """Drift on the held-out part, with the given geometry and with the one fitted to the rest.

    Attributes:
        window: Length of a window, s.
        distance: Mean distance driven in a window, m.
        noise: Root mean square by the sensor's noise alone, [heading rad, position m].
        expected: Expected NEES, 1 or 3.
        bounds: Bounds of a consistent mean NEES.
        worse: Significance of a larger drift after than before, see significance.
        errors: Drift before and after in each window, [heading rad, x m, y m], (windows, 2, 3).
    """

    windows: int
    window: float
    distance: float
    before: Drift
    after: Drift
    noise: tuple[float, float | None]
    expected: int
    bounds: tuple[float, float]
    worse: float
    errors: Array

    @property
    def consistent(self) -> bool:
        """Whether the drift after calibration agrees with the noise levels."""
        return self.bounds[0] <= self.after.nees <= self.bounds[1]


def held_out_drift(
    readings: CalibrationReadings, begin: float, given: WheelGeometry, fit: Fit
) -> HeldOut | None:
    """Evaluate the drift after `begin`, s; None: the held-out part is too short.

    Readings of a gyro are used only without a pose source; `fit` is that to earlier readings.
    """
    radius = 0.5 * (given.left_radius + given.right_radius)
    after = fit.geometry(radius)
    wheels, with_poses = readings.wheels, readings.poses is not None
    ends = _ends(readings, begin, fit)
    if len(ends) < FEWEST:
        return None
    pairs = [_errors(readings, ends, geometry, fit) for geometry in (given, after)]
    covariances, sensor = _covariances(wheels, ends, after, fit, with_poses)
    size = covariances.shape[1]
    nees = [np.einsum("ki,kij,kj->k", e, np.linalg.inv(covariances), e) for e in pairs]
    count = size * len(ends)
    tail = 0.5 * (1.0 - CONSISTENT)
    low, high = (float(scipy.special.chdtri(count, p)) / len(ends) for p in (1.0 - tail, tail))
    ways = np.diff(driven(wheels, ends), axis=1)[:, 0] @ [after.left_radius, after.right_radius]
    noise = np.sqrt(np.mean(np.diagonal(sensor, axis1=1, axis2=2), axis=0))
    drifts = [_drift(e, n) for e, n in zip(pairs, nees, strict=True)]
    padded = [np.pad(e, ((0, 0), (0, 3 - size))) for e in pairs]
    return HeldOut(
        windows=len(ends),
        window=WINDOW,
        distance=float(np.mean(ways)) * 0.5,
        before=drifts[0],
        after=drifts[1],
        noise=(float(noise[0]), float(np.hypot(noise[1], noise[2])) if size == 3 else None),
        expected=size,
        bounds=(low, high),
        worse=significance(nees[1] - nees[0]),
        errors=np.stack(padded, axis=1),
    )


def significance(growth: Array) -> float:
    """Return the significance of a growth in n >= 2 windows, in normal standard deviations.

    By Student's t: with three windows, 2.5 standard deviations of the mean are hardly significant.
    """
    spread = float(np.std(growth, ddof=1)) / math.sqrt(len(growth)) + 1e-12
    return float(
        -scipy.special.ndtri(scipy.special.stdtr(len(growth) - 1, -float(np.mean(growth)) / spread))
    )


def _drift(errors: Array, nees: Array) -> Drift:
    position = float(np.sqrt(np.mean(np.sum(errors[:, 1:] ** 2, axis=1))))
    return Drift(
        float(np.sqrt(np.mean(errors[:, 0] ** 2))),
        position if errors.shape[1] == 3 else None,
        float(np.mean(nees)),
    )


def _ends(readings: CalibrationReadings, begin: float, fit: Fit) -> Array:
    wheels, poses = readings.wheels, readings.poses
    source = poses or readings.gyro
    assert source is not None
    taken = fit.taken(source.stamps)  # a gyro's delay is small
    first = max(begin, float(wheels.stamps[0]), float(taken[0])) + 0.3
    last = min(float(wheels.stamps[-1]), float(taken[-1])) - 0.3
    starts = first + WINDOW * np.arange(max(0, int((last - first) / WINDOW)))
    ends = np.stack((starts, starts + WINDOW), axis=1)
    if not len(ends):
        return ends
    moved = np.diff(driven(wheels, ends), axis=1)[:, 0].sum(axis=1)
    torn = np.zeros(len(ends), dtype=bool)
    for at in gaps(wheels):
        torn |= (ends[:, 0] <= at) & (at <= ends[:, 1])
    if poses is not None:
        near = np.searchsorted(taken, ends)
        near = np.clip(near, AROUND, len(poses.stamps) - AROUND)
        spread = poses.stamps[near + AROUND // 2] - poses.stamps[near - AROUND // 2]
        torn |= (spread > 1.0).any(axis=1)
        if poses.frame is not None:
            frames = poses.frame[[near[:, 0] - AROUND // 2, near[:, 1] + AROUND // 2]]
            torn |= frames[0] != frames[1]
    kept: Array = ends[(moved > LEAST_MOTION) & ~torn]
    return kept


def _errors(readings: CalibrationReadings, ends: Array, geometry: WheelGeometry, fit: Fit) -> Array:
    """Return the drift at the end of each window, [heading, x, y] in rad and m, or [heading]."""
    gyro, poses = readings.gyro, readings.poses
    path = WheelPath(readings.wheels, geometry)
    if poses is None:
        assert gyro is not None
        late = fit.gyro_stamps(ends)
        turned = np.diff(np.interp(late, gyro.stamps, turned_by(gyro)), axis=1)[:, 0]
        bias = float(fit.walk[-1, -1])
        wheel = np.diff(path.headings(ends.ravel()).reshape(-1, 2), axis=1)[:, 0]
        drift: Array = (turned - bias * WINDOW) / fit.value("gyro_scale") - wheel
        return drift[:, None]
    taken = fit.taken(poses.stamps)
    odometry = path.poses(taken)
    at_ends = path.poses(ends.ravel()).reshape(-1, 2, 3)
    heading = poses.yaw - fit.value("mount_yaw")
    lever = complex(fit.value("mount_x"), fit.value("mount_y"))
    source = poses.x + 1j * poses.y - lever * np.exp(1j * heading)
    errors = []
    for (begin, end), robot in zip(ends, at_ends, strict=True):
        a_0, p_0 = _end(begin, robot[0], taken, odometry, heading, source)
        a_1, p_1 = _end(end, robot[1], taken, odometry, heading, source)
        sense = complex(*(robot[1] - robot[0])[:2]) * np.exp(1j * a_0)
        off = (p_1 - (p_0 + sense)) * np.exp(-1j * a_0)
        turn = math.remainder(a_1 - a_0, 2.0 * math.pi)
        errors.append((turn, off.real, off.imag))
    return np.array(errors)


def _end(
    time: float, robot: Array, taken: Array, odometry: Array, heading: Array, source: Array
) -> tuple[float, complex]:
    middle = int(np.searchsorted(taken, time))
    rows = slice(max(0, middle - AROUND // 2), max(0, middle - AROUND // 2) + AROUND)
    turned = heading[rows] - odometry[rows, 2]
    about = np.angle(np.median(np.cos(turned)) + 1j * np.median(np.sin(turned)))
    a = float(about + np.median((turned - about + np.pi) % (2.0 * np.pi) - np.pi))
    to_robot = (robot[0] - odometry[rows, 0]) + 1j * (robot[1] - odometry[rows, 1])
    there = source[rows] + to_robot * np.exp(1j * a)
    return a, complex(np.median(there.real), np.median(there.imag))


def _covariances(
    wheels: WheelTurns, ends: Array, geometry: WheelGeometry, fit: Fit, poses: bool
) -> tuple[Array, Array]:
    """Return the covariance of each window's drift, and the sensor's part, (n, size, size)."""
    count = round(WINDOW / STEP)
    times = ends[:, :1] + np.linspace(0.0, WINDOW, count + 1)
    path = WheelPath(wheels, geometry).poses(times.ravel()).reshape(len(ends), count + 1, 3)
    ways = np.abs(np.diff(driven(wheels, times.ravel()).reshape(len(ends), count + 1, 2), axis=1))
    left, right = geometry.left_radius * ways[..., 0], geometry.right_radius * ways[..., 1]
    heading = 0.5 * (path[:, 1:, 2] + path[:, :-1, 2])
    to_end = path[:, -1:, :2] - 0.5 * (path[:, 1:, :2] + path[:, :-1, :2])
    total = np.zeros((len(ends), 3, 3))
    for sense, side in ((left, -1.0), (right, 1.0)):
        turn = np.full_like(sense, side / geometry.separation)
        x = 0.5 * np.cos(heading) - turn * to_end[..., 1]
        y = 0.5 * np.sin(heading) + turn * to_end[..., 0]
        moved = np.stack((turn, x, y), axis=2) * np.sqrt(fit.noise.path * sense)[..., None]
        total += moved.transpose(0, 2, 1) @ moved
    if not poses:
        noise = fit.noise
        own = noise.gyro_walk * WINDOW + 2.0 * noise.gyro_angle**2
        own += noise.bias_walk * WINDOW**3 / 3.0
        return total[:, :1, :1] + own, np.full((len(ends), 1, 1), own)
    sensor = np.zeros_like(total)
    yaw, place = fit.noise.yaw**2 * MEDIAN, fit.noise.position**2 * MEDIAN
    lever = math.hypot(fit.value("mount_x"), fit.value("mount_y"))
    place += 0.5 * (lever * fit.noise.yaw) ** 2 * MEDIAN
    sensor[:, 0, 0], sensor[:, 1, 1], sensor[:, 2, 2] = yaw, 2.0 * place, 2.0 * place
    sense = path[:, -1, :2] - path[:, 0, :2]
    start = np.stack((np.ones(len(ends)), -sense[:, 1], sense[:, 0]), axis=1)
    sensor += yaw * start[:, :, None] * start[:, None, :]
    return total + sensor, sensor
