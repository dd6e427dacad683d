# SPDX-License-Identifier: Apache-2.0
"""Noise of wheels, pose source and gyro in a calibration, as covariances of its measurements.

The walk (a, c_x, c_y) of wheel_geometry.py grows with the path that the wheels roll: each by white
noise of variance `path` per path, and sideways by a small share of it. The gyro's (B, b) grow with
time: B by white noise and by its bias b, which walks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.calibration.readings import Array

Mask = NDArray[np.bool_]

# Noise levels are looked for within these: (m^2/m), m, rad, rad^2/s, (rad/s)^2/s, rad.
NOISE_NAMES = ("path", "position", "yaw", "gyro_walk", "bias_walk", "gyro_angle")
SMALLEST = (1e-10, 1e-5, 1e-5, 1e-12, 1e-14, 1e-6)
LARGEST = (1e-2, 1.0, 1.0, 1e-2, 1e-4, 0.1)
# Bias walk of a gyro on a chip, (rad/s)^2/s, and the standard deviation of its logarithm.
BIAS_WALK, BIAS_WALK_SPREAD = 1e-9, math.log(10.0)
# Slip sideways as a share of that along the way, and what any step of the walk may do, m and rad.
SIDEWAYS, FLOOR = 1e-3, 1e-7


@dataclass(frozen=True)
class Noise:
    """Noise levels.

    Attributes:
        path: variance of a wheel's path per path driven, m^2/m; arc_odometry's path_noise.
        position: standard deviation of x and of y of the pose source, m.
        yaw: of its heading, rad.
        gyro_walk: variance of the gyro's integral per time, rad^2/s.
        bias_walk: variance of its bias per time, (rad/s)^2/s.
        gyro_angle: standard deviation of what does not add up, as from encoder steps, rad.
    """

    path: float = 1e-6
    position: float = 0.01
    yaw: float = 0.01
    gyro_walk: float = 1e-6
    bias_walk: float = 1e-9
    gyro_angle: float = 1e-3

    def improbability(self) -> float:
        """Cost of a bias walk that gyros on chips do not have, as -2 log likelihood.

        A minute hardly tells it, and none at all would make the track too sure.
        """
        return (math.log(self.bias_walk / BIAS_WALK) / BIAS_WALK_SPREAD) ** 2


@dataclass(frozen=True)
class Sensors:
    """Which sensors there are besides the wheels.

    Attributes:
        poses: whether there is a pose source.
        gyro: whether there is a gyro.
    """

    poses: bool
    gyro: bool

    @property
    def levels(self) -> tuple[str, ...]:
        """Noise levels that play a part."""
        pose = ("position", "yaw") if self.poses else ()
        gyro = ("gyro_walk", "bias_walk", "gyro_angle") if self.gyro else ()
        return ("path", *pose, *gyro)

    @property
    def slip_size(self) -> int:
        """Components of the walk that slip moves: a, and with a pose source c."""
        return 3 if self.poses else 1

    @property
    def size(self) -> int:
        """Components of the walk."""
        return self.slip_size + (2 if self.gyro else 0)


def bounds(name: str) -> tuple[float, float]:
    """Least and greatest logarithm of a noise level."""
    i = NOISE_NAMES.index(name)
    return math.log(SMALLEST[i]), math.log(LARGEST[i])


@dataclass(frozen=True)
class WalkSteps:
    """What the noise of the walk's steps depends on besides the noise levels.

    Attributes:
        slip: covariance of (a, c) for a path noise of 1, (K - 1, 3, 3).
        period: s, (K - 1,).
        breaks: steps over which nothing is known, (K - 1,).
    """

    slip: Array
    period: Array
    breaks: Mask


def slip_of(geometry: WheelGeometry, turned: Array, heading: Array) -> Array:
    """Covariance of the steps of (a, c) for a path noise of 1.

    Args:
        geometry: radii and track.
        turned: by how much the wheels turn in each step, [left, right], rad, (n, 2).
        heading: of the robot in each, rad, (n,).

    Returns:
        Shape (n, 3, 3).
    """
    ways = np.abs(turned)
    left, right = geometry.left_radius * ways[:, 0], geometry.right_radius * ways[:, 1]
    track, both = geometry.separation, left + right
    slip = np.zeros((len(both), 3, 3))
    slip[:, 0, 0] = both / track**2
    along = 0.5 * (right - left) / track
    slip[:, 0, 1] = slip[:, 1, 0] = along
    slip[:, 1, 1] = 0.25 * both
    slip[:, 2, 2] = SIDEWAYS * 0.25 * both
    turn = np.zeros_like(slip)
    turn[:, 0, 0] = 1.0
    turn[:, 1, 1] = turn[:, 2, 2] = np.cos(heading)
    turn[:, 2, 1] = np.sin(heading)
    turn[:, 1, 2] = -turn[:, 2, 1]
    turned_slip: Array = turn @ slip @ turn.transpose(0, 2, 1)
    return turned_slip


def informations(
    noise: Noise, steps: WalkSteps, used: Mask, sensors: Sensors
) -> tuple[Array, Array, float]:
    """Inverse covariances of measurements and steps, and the log determinants of all.

    Args:
        noise: levels.
        steps: of the walk, K - 1 of them.
        used: readings of the pose source that count, (K,).
        sensors: which there are.

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
    slip = noise.path * steps.slip[:, :size, :size] + FLOOR**2 * np.eye(size)
    q[:, :size, :size] = np.linalg.inv(slip)
    logs += float(np.sum(np.linalg.slogdet(slip[known])[1]))
    if sensors.gyro:
        bias = _bias_steps(noise, steps.period)
        q[:, size:, size:] = np.linalg.inv(bias)
        logs += float(np.sum(np.linalg.slogdet(bias[known])[1]))
    q[steps.breaks] = 0.0
    return r, q, logs


def _bias_steps(noise: Noise, period: Array) -> Array:
    """Covariance of the steps of (B, b), (n, 2, 2)."""
    bias = np.empty((len(period), 2, 2))
    bias[:, 0, 0] = noise.gyro_walk * period + noise.bias_walk * period**3 / 3.0
    bias[:, 0, 1] = bias[:, 1, 0] = 0.5 * noise.bias_walk * period**2
    bias[:, 1, 1] = noise.bias_walk * period
    return bias
