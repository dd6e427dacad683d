# SPDX-License-Identifier: Apache-2.0
"""What pose source and gyro measure on a drive, and its linearisation.

See docs/theory/calibration.md#joint-fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffbot_calibration.drive_parameters import GEOMETRY, DriveReadings, Parameters
from diffbot_calibration.noise_levels import Sensors, WalkSteps, WheelSlip
from diffbot_calibration.random_walk_fit import LinearProblem
from diffbot_recordings.sensor_readings import Array
from diffbot_recordings.wheel_path import WheelPath, driven

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
        """The sensors that there are."""
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
