# SPDX-License-Identifier: Apache-2.0
"""Joint fit of radii, track, delays, mounting, gyro and all noise levels to one drive.

First guess, model and method: docs/theory/calibration.md#joint-fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_calibration.drive_model import (
    DRIFT,
    GEOMETRY,
    GYRO,
    POSE,
    DriveModel,
    DriveReadings,
    Fit,
    Parameters,
    drive_of,
    first_walk,
    jumps,
)
from diffbot_calibration.noise_levels import Mask, Noise
from diffbot_calibration.random_walk_fit import NoiseLikelihood, Solution
from diffbot_recordings.sensor_readings import (
    Array,
    GyroReadings,
    PoseReadings,
    WheelPath,
    WheelTurns,
)
from diffbot_recordings.sensor_turns import (
    RATIO,
    CalibrationError,
    Turns,
    gyro_turns,
    pose_turns,
    robust_regression,
    turned_by,
    windows,
)

# Length of the windows, s, over which displacements are compared.
PATH_WINDOW = 1.0
# Least ratio of singular values at which track and mounting can be told apart.
DISTINCT = 0.03


@dataclass(frozen=True)
class Mounting:
    """Track and place [x ahead, y left] of a pose source, m, its yaw, rad, and the misfit, m."""

    track: float
    x: float
    y: float
    yaw: float
    residual: float


def mounting(
    wheels: WheelTurns, poses: PoseReadings, turns: Turns, geometry: WheelGeometry
) -> Mounting:
    """Return a first guess of track and mounting for known turns.

    Raises:
        CalibrationError: The displacements are mirrored, in another unit, or do not suffice.
    """
    result = _mounting(wheels, poses, turns, mirrored=False)
    mirror = _mounting(wheels, poses, turns, mirrored=True)
    if mirror.residual < 0.5 * result.residual:
        raise CalibrationError(
            "the pose source's path bends opposite to its yaw: its frame is mirrored (y down); "
            "change the sign of y"
        )
    ratio = result.track / geometry.separation
    if not RATIO[0] < ratio < RATIO[1]:
        unit = " (mm instead of m?)" if 500.0 < ratio < 2000.0 else ""
        unit = " (cm instead of m?)" if 50.0 < ratio < 200.0 else unit
        raise CalibrationError(
            f"the pose source's path is {ratio:.3g} times as long as that of wheels of this "
            f"radius{unit}, must be {RATIO[0]:g} to {RATIO[1]:g}: give x and y in m, and check "
            "the wheels' radius in the robot file"
        )
    return result


def _mounting(wheels: WheelTurns, poses: PoseReadings, turns: Turns, mirrored: bool) -> Mounting:
    pairs, _ = windows(poses.stamps, PATH_WINDOW)
    unit = WheelPath(wheels, WheelGeometry(turns.left, turns.right, 1.0))
    there = unit.poses(poses.stamps - turns.delay)
    place = there[:, 0] + 1j * there[:, 1]
    source = poses.x + (-1j if mirrored else 1j) * poses.y
    begin, end = pairs.T
    path = (source[end] - source[begin]) * np.exp(-1j * poses.yaw[begin])
    q = (place[end] - place[begin]) * np.exp(-1j * there[begin, 2])
    turn = np.exp(1j * (there[end, 2] - there[begin, 2])) - 1.0
    design = np.stack((q / max(float(np.std(np.abs(q))), 1e-9), turn), axis=1)
    sizes = np.linalg.svd(design, compute_uv=False)
    if not (np.mean(np.abs(q)) > 1e-3 and sizes[1] > DISTINCT * sizes[0]):
        raise CalibrationError(
            "too little motion: with turns on the spot or one circle only, the track cannot be "
            "distinguished from the sensor's position; drive straight legs, and turns both ways"
        )
    (u, lever), residual = robust_regression(np.stack((q, turn), axis=1), path)
    m = lever * np.exp(-1j * np.angle(u))
    return Mounting(float(abs(u)), float(m.real), float(m.imag), float(-np.angle(u)), residual)


# Squared normalised distance (chi^2 of 3 degrees of freedom, 1 in 8000) of an outlier.
OUTLIER = 20.5


class WheelGeometryFit:
    """The fit of one drive.

    Args:
        geometry: Radii and track assumed so far; without a pose source, the mean radius is kept.
        gyro, poses: One of the two is needed.
        gyro_scale_std: Standard deviation of the gyro's scale about 1.
        clock_drift: Whether to fit the drift of the sensors' clocks against the wheels' clock, too.

    Raises:
        CalibrationError: The readings do not belong together.
    """

    def __init__(
        self,
        wheels: WheelTurns,
        geometry: WheelGeometry,
        gyro: GyroReadings | None,
        poses: PoseReadings | None,
        gyro_scale_std: float,
        clock_drift: bool = False,
    ) -> None:
        if gyro is None and poses is None:
            raise CalibrationError(
                "neither gyro nor pose source: record one, or measure with a tape (--umbmark)"
            )
        radius = 0.5 * (geometry.left_radius + geometry.right_radius)
        turns = mount = None
        if poses is not None:
            turns = pose_turns(wheels, poses, geometry)
            mount = mounting(wheels, poses, turns, geometry)
        gyro_guess = None if gyro is None else gyro_turns(wheels, gyro, geometry)
        turns = turns or gyro_guess
        assert turns is not None
        drive = drive_of(wheels, gyro, poses, turns.delay)
        names: tuple[str, ...] = GEOMETRY[1:] if poses is None else (*GEOMETRY, *POSE)
        if gyro is not None:
            names += GYRO
        if clock_drift:
            wanted = zip(DRIFT, (poses, gyro), strict=True)
            names += tuple(name for name, there in wanted if there is not None)
        self._beta = _first_parameters(names, turns, mount, gyro_guess, drive)
        count = len(drive.stamps)
        if count < 30:
            raise CalibrationError(
                f"only {count} readings where all sensors overlap: must be at least 30; record "
                "longer, and check that all stamps use one clock"
            )
        self._model = DriveModel(
            drive,
            radius,
            gyro_scale_std,
            None if gyro is None else turned_by(gyro),
            self._beta.taken(drive.stamps) + self._beta.value("gyro_delay"),
        )
        self._used = np.ones(count, dtype=bool)
        self._noise = Noise()
        self._walk = np.zeros((count, self._model.sensors.size))
        if poses is not None:
            self._walk, self._noise = first_walk(self._model, self._beta)
            jumped = jumps(self._model, self._beta, self._walk, self._noise)
            drive = replace(drive, breaks=drive.breaks | jumped)
            self._model = replace(self._model, drive=drive)
        if gyro is not None:
            self._walk[:, -2] = self._model.gyro_residual(self._beta, self._walk)

    def _likelihood(self) -> NoiseLikelihood:
        problem, steps = self._model.linearised(self._beta, self._walk)
        return NoiseLikelihood(problem, steps, self._used, self._model.sensors)

    def run(self) -> Fit:
        """Fit all parameters and noise levels. Raises CalibrationError if it does not converge."""
        for most in (4, 2):
            self._gauss_newton(most)
            self._noise = self._likelihood().best(self._noise)
        solution = self._gauss_newton(12)
        return self._result(solution)

    def clock_drift(self) -> dict[str, tuple[float, float]]:
        """Estimate drifts that are not fitted, s/s: value and standard deviation, by name."""
        kept = self._beta
        sensors = self._model.sensors
        there = (sensors.poses, sensors.gyro)
        new = [n for n, here in zip(DRIFT, there, strict=True) if here and n not in kept.names]
        values = np.concatenate((kept.values, np.zeros(len(new))))
        self._beta = Parameters((*kept.names, *new), values, kept.middle)
        solution = self._likelihood().solution(self._noise)
        std = np.sqrt(np.diag(solution.covariance))
        results = {n: self._beta.names.index(n) for n in new}
        self._beta = kept
        return {n: (float(solution.beta[i]), float(std[i])) for n, i in results.items()}

    def _gauss_newton(self, most: int) -> Solution:
        solution = None
        for _ in range(most):
            likelihood = self._likelihood()
            try:
                solution = likelihood.solution(self._noise)
            except np.linalg.LinAlgError as error:
                raise CalibrationError(
                    f"the fit does not converge ({error}): the readings do not follow the "
                    "wheels; check clocks, units and frames"
                ) from None
            std = np.sqrt(np.diag(solution.covariance))
            self._beta = self._beta.moved(np.clip(solution.beta, -0.5, 0.5))
            self._walk = self._walk + solution.z
            used = self._inliers()
            same = bool((used == self._used).all())
            self._used = used
            if same and bool(np.all(np.abs(solution.beta) < 1e-2 * std + 1e-12)):
                break
        assert solution is not None
        return solution

    def _inliers(self) -> Mask:
        if not self._model.sensors.poses:
            return self._used
        residuals, _ = self._model.predict(self._beta, self._walk)
        noise = self._noise
        far = (residuals[:, 0] ** 2 + residuals[:, 1] ** 2) / noise.position**2
        within: Mask = far + (residuals[:, 2] / noise.yaw) ** 2 < OUTLIER
        return within

    def _result(self, solution: Solution) -> Fit:
        likelihood = self._likelihood()
        residuals = likelihood.problem.r
        covariance, correlation, widened = solution.covariance, 0.0, 1.0
        if self._model.sensors.poses:
            correlation = max(_correlation(residuals[:, i], self._used) for i in range(3))
            if correlation > 4.0 / math.sqrt(len(residuals)):
                # Correlated noise: the effective number of independent readings is smaller.
                widened = (1.0 + correlation) / (1.0 - min(correlation, 0.98))
        return Fit(
            names=self._beta.names,
            values=self._beta.values,
            middle=self._beta.middle,
            covariance=widened * covariance,
            slip_covariance=widened * likelihood.slip_covariance(self._noise),
            noise=self._noise,
            noise_std=likelihood.stds(self._noise),
            walk=self._walk,
            residuals=residuals,
            used=self._used,
            drive=self._model.drive,
            correlation=correlation,
        )


def _first_parameters(
    names: tuple[str, ...],
    turns: Turns,
    mount: Mounting | None,
    gyro: Turns | None,
    drive: DriveReadings,
) -> Parameters:
    mean = 0.5 * (turns.left + turns.right)
    first = {
        "log_ratio": math.log(turns.right / turns.left),
        "log_track": -math.log(mean),
        "gyro_scale": 1.0,
    }
    if mount is not None:
        first["log_radius"] = math.log(mount.track * mean)
        first |= {"mount_x": mount.x, "mount_y": mount.y, "mount_yaw": mount.yaw}
        first["pose_delay"] = turns.delay
    if gyro is not None:
        first["gyro_delay"] = gyro.delay
    values = np.array([first.get(name, 0.0) for name in names])
    return Parameters(names, values, float(np.mean(drive.stamps)))


def _correlation(values: Array, used: Mask) -> float:
    both = used[1:] & used[:-1]
    size = float(np.mean(values[used] ** 2)) if used.any() else 0.0
    return float(np.mean(values[1:][both] * values[:-1][both])) / size if size > 0.0 else 0.0
