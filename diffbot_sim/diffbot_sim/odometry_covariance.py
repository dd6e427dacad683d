"""What a simulated robot's driver knows of the errors of its odometry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Arc, Pose, WheelGeometry
from arc_odometry.pose_covariance import propagate

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredMotion:
    """A reading of odometry.

    Attributes:
        pose: x, y in m and theta in rad.
        velocity: v in m/s and omega in rad/s.
        covariance: of the pose, (3, 3), m and rad.
        velocity_covariance: of the velocity, (2, 2), m/s and rad/s.
    """

    pose: Pose
    velocity: tuple[float, float]
    covariance: Matrix
    velocity_covariance: Matrix


class OdometryCovariance:
    """Puts covariances to the readings of a VelocityOdometry.

    The pose's grows with the way by dead reckoning, as DiffOdometry's does; noise is added.

    Args:
        geometry: of the wheels.
        path_noise: variance of a wheel's path per path driven, m^2/m, >= 0.
        counts: of the encoders per turn of a wheel; 0: exact ones.
        period: between two readings, s, > 0.
        velocity_noise: standard deviations of (v, omega), m/s and rad/s.
        pose_noise: standard deviations of (x, y, theta), m and rad.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        path_noise: float,
        counts: int,
        period: float,
        velocity_noise: tuple[float, float],
        pose_noise: tuple[float, float, float],
    ) -> None:
        self._geometry, self._path_noise = geometry, path_noise
        self._pose_noise = np.diag(np.square(pose_noise))
        # A difference of two readings that are each right to half a count: evenly spread errors.
        count = math.tau / counts if counts else 0.0
        speeds = (geometry.left_radius * count / period) ** 2 / 6.0
        quantised = np.array([0.5, 2.0 / geometry.separation**2]) * speeds
        self._velocity = np.diag(quantised + np.square(velocity_noise))
        self._grown = np.zeros((3, 3))
        self._last: Pose | None = None

    def measured(
        self, pose: tuple[float, float, float], velocity: tuple[float, float]
    ) -> MeasuredMotion:
        """Take in the next reading."""
        now = Pose(*pose)
        if self._last is not None:
            turn = now.theta - self._last.theta
            chord = math.hypot(now.x - self._last.x, now.y - self._last.y)
            paths = (chord - 0.5 * turn * self._geometry.separation,
                     chord + 0.5 * turn * self._geometry.separation)  # fmt: skip
            variances = tuple(self._path_noise * abs(path) for path in paths)
            separation = self._geometry.separation
            arc = Arc(math.copysign(chord, velocity[0]), turn)
            self._grown = propagate(self._grown, self._last, arc, variances, separation)
        self._last = now
        return MeasuredMotion(now, velocity, self._grown + self._pose_noise, self._velocity)
