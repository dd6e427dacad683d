# SPDX-License-Identifier: Apache-2.0
"""Noise levels of wheels, pose source and gyro in a calibration, and the resulting covariances.

See docs/theory/calibration.md#noise-levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import Array

Mask = NDArray[np.bool_]

# Bounds of the noise levels: m^2/m, m, rad, rad^2/s, (rad/s)^2/s, rad.
NOISE_NAMES = ("path", "position", "yaw", "gyro_walk", "bias_walk", "gyro_angle")
SMALLEST = (1e-10, 1e-5, 1e-5, 1e-12, 1e-14, 1e-6)
LARGEST = (1e-2, 1.0, 1.0, 1e-2, 1e-4, 0.1)
# Of a MEMS gyro, (rad/s)^2/s, and the standard deviation of its logarithm.
BIAS_WALK, BIAS_WALK_SPREAD = 1e-9, math.log(10.0)
# Sideways variance over that along the path; least deviation of a step, m and rad.
SIDEWAYS, FLOOR = 1e-3, 1e-7


@dataclass(frozen=True)
class Noise:
    """Noise levels.

    Attributes:
        path: Variance of a wheel's path per path driven, m^2/m; arc_odometry's path_noise.
        position: Standard deviation of the pose source's x and y, m.
        yaw: Standard deviation of its heading, rad.
        gyro_walk: Variance of the gyro's integral per time, rad^2/s.
        bias_walk: Variance of its bias per time, (rad/s)^2/s.
        gyro_angle: Standard deviation of errors that do not accumulate, such as encoder steps, rad.
    """

    path: float = 1e-6
    position: float = 0.01
    yaw: float = 0.01
    gyro_walk: float = 1e-6
    bias_walk: float = 1e-9
    gyro_angle: float = 1e-3

    def improbability(self) -> float:
        """Return the cost of a bias walk that is untypical of MEMS gyros, as -2 log likelihood."""
        return (math.log(self.bias_walk / BIAS_WALK) / BIAS_WALK_SPREAD) ** 2


@dataclass(frozen=True)
class Sensors:
    """Which sensors there are besides the wheels."""

    poses: bool
    gyro: bool

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the noise levels of these sensors and of the wheels."""
        pose = ("position", "yaw") if self.poses else ()
        gyro = ("gyro_walk", "bias_walk", "gyro_angle") if self.gyro else ()
        return ("path", *pose, *gyro)

    @property
    def slip_size(self) -> int:
        """Number of the walk's components that slip moves: a, and with a pose source c."""
        return 3 if self.poses else 1

    @property
    def size(self) -> int:
        """Number of components of the walk."""
        return self.slip_size + (2 if self.gyro else 0)


def bounds(name: str) -> tuple[float, float]:
    """Return lower and upper bound of a noise level's logarithm."""
    i = NOISE_NAMES.index(name)
    return math.log(SMALLEST[i]), math.log(LARGEST[i])


@dataclass(frozen=True)
class WheelSlip:
    """Steps of the wheels, by whose slip (a, c) grows.

    Paths without sign, m, and cosine and sine of the headings, (n,) each.
    """

    left: Array
    right: Array
    track: float
    cos: Array
    sin: Array

    @classmethod
    def of(cls, geometry: WheelGeometry, turned: Array, heading: Array) -> WheelSlip:
        """Return the steps of wheels that turn by [left, right], rad, (n, 2), at headings, (n,)."""
        left, right = np.abs(turned).T
        return cls(
            left=geometry.left_radius * left,
            right=geometry.right_radius * right,
            track=geometry.separation,
            cos=np.cos(heading),
            sin=np.sin(heading),
        )

    def information(self, path: float, size: int) -> tuple[Array, Array]:
        """Return inverse covariances, (n, size, size), and the covariances' determinants, (n,).

        `path` is the path noise, m^2/m; `size` 3 for (a, c), 1 for a alone.
        """
        floor, both = FLOOR**2, path * (self.left + self.right)
        turning = both / self.track**2 + floor
        if size == 1:
            return (1.0 / turning)[:, None, None], turning
        along, sideways = 0.25 * both + floor, SIDEWAYS * 0.25 * both + floor
        coupling = path * 0.5 * (self.right - self.left) / self.track
        # Of turning along - coupling^2.
        pair = (path / self.track) ** 2 * self.left * self.right + floor * (
            both / self.track**2 + along
        )
        a, both_ways, ahead, aside = along / pair, -coupling / pair, turning / pair, 1.0 / sideways
        cos, sin = self.cos, self.sin
        result = np.empty((len(both), 3, 3))
        result[:, 0, 0] = a
        result[:, 0, 1] = result[:, 1, 0] = cos * both_ways
        result[:, 0, 2] = result[:, 2, 0] = sin * both_ways
        result[:, 1, 1] = cos**2 * ahead + sin**2 * aside
        result[:, 1, 2] = result[:, 2, 1] = cos * sin * (ahead - aside)
        result[:, 2, 2] = sin**2 * ahead + cos**2 * aside
        return result, pair * sideways


@dataclass(frozen=True)
class WalkSteps:
    """Steps of the walk: slip, their duration, s, and where nothing is known, (K - 1,) each."""

    slip: WheelSlip
    period: Array
    breaks: Mask


def informations(
    noise: Noise, steps: WalkSteps, used: Mask, sensors: Sensors
) -> tuple[Array, Array, float]:
    """Return inverse covariances of measurements and steps, and the log determinants of all.

    Args:
        steps: K - 1 steps of the walk.
        used: Mask of the pose source's readings that count, (K,).

    Returns:
        Of the measurements, diagonal, (K, m); of the walk's steps, (K - 1, n, n); the sum of the
            logarithms of all covariances' determinants.
    """
    variances = []
    if sensors.poses:
        variances = [noise.position**2, noise.position**2, noise.yaw**2]
    if sensors.gyro:
        variances.append(noise.gyro_angle**2)
    r = np.tile(1.0 / np.array(variances), (len(used), 1))
    if sensors.poses:
        r[~used, :3] = 0.0
    logs = -float(np.sum(np.log(r[r > 0.0])))
    size, known = sensors.slip_size, ~steps.breaks
    q = np.zeros((len(known), sensors.size, sensors.size))
    q[:, :size, :size], determinants = steps.slip.information(noise.path, size)
    logs += float(np.sum(np.log(determinants[known])))
    if sensors.gyro:
        q[:, size:, size:], determinants = _bias_information(noise, steps.period)
        logs += float(np.sum(np.log(determinants[known])))
    q[steps.breaks] = 0.0
    return r, q, logs


def _bias_information(noise: Noise, period: Array) -> tuple[Array, Array]:
    """Return inverse covariances of the steps of (B, b), (n, 2, 2), and determinants, (n,)."""
    grown = noise.gyro_walk * period + noise.bias_walk * period**3 / 3.0
    both, bias = 0.5 * noise.bias_walk * period**2, noise.bias_walk * period
    # Of grown bias - both^2, without the difference.
    determinants = bias * (noise.gyro_walk * period + noise.bias_walk * period**3 / 12.0)
    information = np.empty((len(period), 2, 2))
    information[:, 0, 0] = bias / determinants
    information[:, 0, 1] = information[:, 1, 0] = -both / determinants
    information[:, 1, 1] = grown / determinants
    return information, determinants
