# SPDX-License-Identifier: Apache-2.0
"""Joint fit of radii, track, delays, mounting, gyro and all noise levels to one drive.

The robot's pose is that of the odometry X(t; radii, track), displaced by the accumulated slip of
the wheels: p = R(a) p_X + c, theta = theta_X + a. (a, c) is a random walk. Its first value also
contains the placement of the pose source's frame, which needs no parameters of its own. Where that
frame jumps, the walk may jump, too. A pose source at m on the robot, yawed by alpha, whose stamps
are late by d, measures

    (x, y) = p + R(theta) m + white noise,    yaw = theta + alpha + white noise,    at t - d

and a gyro's integral measures s theta_X + a + B + white noise, where B grows by the gyro's bias,
which is a random walk, too.

Radii and track are fitted as logarithms of mean radius, radius ratio and track over mean radius,
since a gyro determines only the latter two. Noise levels maximise the restricted likelihood.
Readings that white noise cannot explain are left out. The covariance is the inverse of the
information after the walk was eliminated, so that intervals include slip.

The method extends Censi, Franchi, Marchionni and Oriolo, "Simultaneous calibration of odometry and
sensor parameters for mobile robots" (IEEE T-RO 29, 2013), which has neither delays nor correlated
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter
from scipy.optimize import minimize

from arc_odometry import WheelGeometry
from diffbot_calibration.noise_levels import (
    Mask,
    Noise,
    Sensors,
    WalkSteps,
    WheelSlip,
    bounds,
    informations,
)
from diffbot_calibration.random_walk_fit import LinearProblem, Solution, solve
from diffbot_calibration.sensor_mounting import Mounting, mounting
from diffbot_recordings.sensor_readings import Array, GyroReadings, PoseReadings, WheelTurns
from diffbot_recordings.sensor_turns import (
    CalibrationError,
    Turns,
    gyro_turns,
    pose_turns,
    turned_by,
)
from diffbot_recordings.wheel_path import WheelPath, driven, gaps

GEOMETRY = ("log_radius", "log_ratio", "log_track")
POSE = ("pose_delay", "mount_x", "mount_y", "mount_yaw")
GYRO = ("gyro_delay", "gyro_scale")
DRIFT = ("pose_delay_rate", "gyro_delay_rate")
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
# A pose is an outlier above this squared normalised distance, which white noise exceeds once in
# 8000 (chi^2 of 3 degrees of freedom).
OUTLIER = 20.5
# The pose source's frame jumped if its readings step by more than JUMP standard deviations of a
# median of JUMP_SPAN readings.
JUMP, JUMP_SPAN = 7.0, 7
# Spacing of the knots without a pose source, s; and maximum number of poses that are used.
KNOT, MOST = 0.05, 20000


@dataclass(frozen=True)
class DriveReadings:
    """One drive's readings on the knots of the fit.

    Attributes:
        wheels: Turns of the wheels.
        stamps: Stamps of the knots, s, (K,): those of the poses, or evenly spaced.
        poses: Poses at the knots, [x, y, yaw], (K, 3); None: there is no pose source.
        gyro: Readings of the gyro; None: there is none.
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
        names: Names of the p parameters, of GEOMETRY, POSE, GYRO and DRIFT.
        values: Values of the parameters, (p,).
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
        """Return radii and track.

        Args:
            radius: Mean radius to use if it was not fitted (no pose source), m.
        """
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
        covariance: Covariance of the parameters, (p, p).
        slip_covariance: Derivative of the covariance by the logarithm of the path noise, (p, p).
        noise: Noise levels; those of missing sensors have no meaning.
        noise_std: Standard deviation of the logarithm of each level, by name; inf: not
            identifiable.
        walk: (a, c_x, c_y) and the gyro's (B, b) at the knots, (K, n).
        residuals: Residuals of the measurements, (K, m).
        used: Mask of the readings that are no outliers, (K,).
        drive: Readings that were fitted.
        correlation: Largest correlation of neighbouring residuals of the pose source; about 0 if
            they are white.
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
    """Return the geometry of mean radius, log(right / left) and log(track / mean radius)."""
    half = math.tanh(0.5 * log_ratio)  # (right - left) / (right + left)
    return WheelGeometry(radius * (1.0 - half), radius * (1.0 + half), radius * math.exp(log_track))


def drive_of(
    wheels: WheelTurns, gyro: GyroReadings | None, poses: PoseReadings | None, delay: float
) -> DriveReadings:
    """Return the readings in the time that all sensors cover, on common knots.

    Args:
        wheels: Turns of the wheels.
        gyro: Readings of the gyro; None: there is none.
        poses: Readings of the pose source; None: there is none.
        delay: Approximate delay of the pose source, s.
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


class WheelGeometryFit:
    """The fit of one drive; see the top of this file.

    Args:
        wheels: Turns of the wheels.
        geometry: Radii and track assumed so far; without a pose source, the mean radius is kept.
        gyro: Readings of the gyro; None: there is none.
        poses: Readings of the pose source; None: there is none. One of the two is needed.
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
        self._radius = 0.5 * (geometry.left_radius + geometry.right_radius)
        turns = mount = None
        if poses is not None:
            turns = pose_turns(wheels, poses, geometry)
            mount = mounting(wheels, poses, turns, geometry)
        gyro_guess = None if gyro is None else gyro_turns(wheels, gyro, geometry)
        turns = turns or gyro_guess
        assert turns is not None
        self.drive = drive_of(wheels, gyro, poses, turns.delay)
        self._sensors = Sensors(poses is not None, gyro is not None)
        self._gyro_turned = None if gyro is None else turned_by(gyro)
        self._prior_std = gyro_scale_std
        names: tuple[str, ...] = GEOMETRY[1:] if poses is None else (*GEOMETRY, *POSE)
        if gyro is not None:
            names += GYRO
        if clock_drift:
            wanted = zip(DRIFT, (poses, gyro), strict=True)
            names += tuple(name for name, there in wanted if there is not None)
        self._initialise(names, turns, mount, gyro_guess)

    def _initialise(
        self, names: tuple[str, ...], turns: Turns, mount: Mounting | None, gyro: Turns | None
    ) -> None:
        """Initialise parameters, walk, noise, and the mask of used readings."""
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
        self._beta = Parameters(names, values, float(np.mean(self.drive.stamps)))
        count = len(self.drive.stamps)
        if count < 30:
            raise CalibrationError(
                f"only {count} readings where all sensors overlap: must be at least 30; record "
                "longer, and check that all stamps use one clock"
            )
        self._used = np.ones(count, dtype=bool)
        self._noise = Noise()
        self._walk = np.zeros((count, self._sensors.size))
        # The gyro is evaluated at fixed stamps, from the first guess of the delays. Otherwise its
        # noise in the residuals would change with the delays, and they would be fitted to it.
        self._gyro_at = self._beta.taken(self.drive.stamps) + first.get("gyro_delay", 0.0)
        if self.drive.poses is not None:
            self._initialise_walk()
        if self._gyro_turned is not None:
            self._walk[:, -2] = self._gyro_residual(self._beta, self._walk)

    # Measurements and their predictions.

    def _path(self, beta: Parameters) -> WheelPath:
        return WheelPath(self.drive.wheels, beta.geometry(self._radius))

    def _predict(self, beta: Parameters, walk: Array) -> tuple[Array, Array]:
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
            columns.append(self._gyro_residual(beta, walk))
        return np.stack(columns, axis=1), odometry

    def _gyro_residual(self, beta: Parameters, walk: Array) -> Array:
        assert self.drive.gyro is not None and self._gyro_turned is not None
        stamps = self._gyro_at
        rate = beta.value("gyro_delay_rate") * (stamps - beta.middle)
        heading = self._path(beta).headings(stamps - beta.value("gyro_delay") - rate)
        integral = np.interp(stamps, self.drive.gyro.stamps, self._gyro_turned)
        # The scale does not multiply the walk: a larger scale would then need less slip, which the
        # likelihood would favour.
        turned: Array = integral - beta.value("gyro_scale") * heading - walk[:, 0]
        return turned - walk[:, -2]

    def _initialise_walk(self) -> None:
        """Initialise the walk by running medians, and noise levels; find jumps of the frame."""
        residuals, odometry = self._predict(self._beta, self._walk)
        turned = np.exp(1j * residuals[:, 2])
        smooth = _median(turned.real) + 1j * _median(turned.imag)
        self._walk[:, 0] = np.unwrap(np.angle(smooth))
        residuals, odometry = self._predict(self._beta, self._walk)
        c = residuals[:, :2]
        # Displacement at the robot, where noise of the heading moves it little, not at the origin.
        local = c + _rotated(self._walk[:, 0], odometry)
        self._noise = replace(
            self._noise,
            position=max(
                _white_noise_std(np.concatenate((local[:, 0], [np.nan], local[:, 1]))), 1e-4
            ),
            yaw=max(_white_noise_std(residuals[:, 2]), 1e-4),
        )
        self._walk[:, 1], self._walk[:, 2] = _median(c[:, 0]), _median(c[:, 1])
        self._find_jumps()

    def _find_jumps(self) -> None:
        """Find lasting steps of the pose source's frame, over which the walk may jump."""
        if self.drive.poses is None or len(self.drive.stamps) < 4 * JUMP_SPAN:
            return
        anchored = np.tile(self._walk[len(self._walk) // 2], (len(self._walk), 1))
        a = self._walk[:, 0]
        anchored[:, 0] = a
        residuals, odometry = self._predict(self._beta, anchored)
        span = JUMP_SPAN
        steps = np.zeros(len(residuals) - 1)
        sizes = (self._noise.position, self._noise.position, self._noise.yaw)
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
        self.drive = replace(self.drive, breaks=self.drive.breaks | result)

    # Linearisation.

    def _linear(self) -> tuple[LinearProblem, Array]:
        """Linearise at the current parameters and walk; also return the odometry's poses."""
        residuals, odometry = self._predict(self._beta, self._walk)
        columns = []
        names = self._beta.names
        for i, name in enumerate(names):
            step = np.zeros(len(names))
            step[i] = STEPS[name]
            ahead, _ = self._predict(self._beta.moved(step), self._walk)
            behind, _ = self._predict(self._beta.moved(-step), self._walk)
            difference = behind - ahead
            if self.drive.poses is not None:
                difference[:, 2] = (difference[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
            columns.append(difference / (2.0 * STEPS[name]))
        count, measured = residuals.shape
        h = np.zeros((count, measured, self._sensors.size))
        a = self._walk[:, 0]
        if self.drive.poses is not None:
            heading = odometry[:, 2] + a
            m_x, m_y = self._beta.value("mount_x"), self._beta.value("mount_y")
            lever = _rotated(a, odometry) + _rotated(heading, np.array([[m_x, m_y]]))
            h[:, 0, 0], h[:, 1, 0], h[:, 2, 0] = -lever[:, 1], lever[:, 0], 1.0
            h[:, 0, 1] = h[:, 1, 2] = 1.0
        if self.drive.gyro is not None:
            h[:, -1, 0] = h[:, -1, -2] = 1.0
        w, f, b = self._walk_steps(odometry)
        prior, prior_r = np.zeros(len(names)), np.zeros(len(names))
        if "gyro_scale" in names:
            i = names.index("gyro_scale")
            prior[i], prior_r[i] = 1.0 / self._prior_std**2, 1.0 - self._beta.values[i]
        j = np.stack(columns, axis=2)
        return LinearProblem(residuals, h, j, w, f, b, prior, prior_r), odometry

    def _walk_steps(self, odometry: Array) -> tuple[Array, Array, Array]:
        """Return the walk's steps from knot to knot, (K - 1, n), and their derivatives."""
        walk, count, n = self._walk, len(self._walk), self._sensors.size
        w = np.diff(walk, axis=0)
        f = np.tile(np.eye(n), (count - 1, 1, 1))
        b = f.copy()
        if self.drive.poses is not None:
            middle = 0.5 * (odometry[1:, :2] + odometry[:-1, :2])
            now, before = _rotated(walk[1:, 0], middle), _rotated(walk[:-1, 0], middle)
            w[:, 1:3] += now - before
            for matrix, at in ((f, now), (b, before)):
                matrix[:, 1, 0], matrix[:, 2, 0] = -at[:, 1], at[:, 0]
        if self.drive.gyro is not None:
            period = np.diff(self.drive.stamps)
            w[:, -2] -= walk[:-1, -1] * period
            b[:, -2, -1] = period
        return w, f, b

    # Noise.

    def _informations(self, noise: Noise, steps: WalkSteps) -> tuple[Array, Array, float]:
        return informations(noise, steps, self._used, self._sensors)

    def _steps(self, odometry: Array) -> WalkSteps:
        """Return the noise model of the walk's steps at the current parameters and walk."""
        taken = self._beta.taken(self.drive.stamps)
        turned = np.diff(driven(self.drive.wheels, taken), axis=0)
        heading = 0.5 * (odometry[1:, 2] + odometry[:-1, 2]) + self._walk[1:, 0]
        slip = WheelSlip.of(self._beta.geometry(self._radius), turned, heading)
        return WalkSteps(slip, np.diff(self.drive.stamps), self.drive.breaks)

    def _cost(self, logarithms: Array, problem: LinearProblem, steps: WalkSteps) -> float:
        noise = replace(
            self._noise, **dict(zip(self._sensors.levels, np.exp(logarithms).tolist(), strict=True))
        )
        cost = solve(problem, *self._informations(noise, steps)).cost
        return cost + (noise.improbability() if self._sensors.gyro else 0.0)

    def _fit_noise(self) -> None:
        """Set the noise levels that maximise the restricted likelihood."""
        problem, odometry = self._linear()
        steps = self._steps(odometry)
        begin = np.log([getattr(self._noise, name) for name in self._sensors.levels])
        limits = [bounds(name) for name in self._sensors.levels]
        result = minimize(
            self._cost,
            np.clip(begin, *np.transpose(limits)),
            args=(problem, steps),
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": 20, "ftol": 1e-8, "eps": 1e-3},
        )
        levels = dict(zip(self._sensors.levels, np.exp(result.x).tolist(), strict=True))
        self._noise = replace(self._noise, **levels)

    # Steps of the fit.

    def run(self) -> Fit:
        """Fit all parameters and noise levels.

        Raises:
            CalibrationError: The fit does not converge.
        """
        for most in (4, 2):
            self._gauss_newton(most)
            self._fit_noise()
        solution = self._gauss_newton(12)
        return self._result(solution)

    def clock_drift(self) -> dict[str, tuple[float, float]]:
        """Estimate the drift of the sensors' clocks against the wheels' clock, s/s.

        It is a single step from the current fit, for those parameters in DRIFT that are not fitted.

        Returns:
            Value and standard deviation, by name.
        """
        kept = self._beta
        there = (self.drive.poses is not None, self.drive.gyro is not None)
        new = [n for n, here in zip(DRIFT, there, strict=True) if here and n not in kept.names]
        values = np.concatenate((kept.values, np.zeros(len(new))))
        self._beta = Parameters((*kept.names, *new), values, kept.middle)
        problem, odometry = self._linear()
        solution = solve(problem, *self._informations(self._noise, self._steps(odometry)))
        std = np.sqrt(np.diag(solution.covariance))
        results = {n: self._beta.names.index(n) for n in new}
        self._beta = kept
        return {n: (float(solution.beta[i]), float(std[i])) for n, i in results.items()}

    def _gauss_newton(self, most: int) -> Solution:
        """Take up to `most` Gauss-Newton steps, and update the outliers in each."""
        solution = None
        for _ in range(most):
            problem, odometry = self._linear()
            steps = self._steps(odometry)
            try:
                solution = solve(problem, *self._informations(self._noise, steps))
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
        if self.drive.poses is None:
            return self._used
        residuals, _ = self._predict(self._beta, self._walk)
        noise = self._noise
        far = (residuals[:, 0] ** 2 + residuals[:, 1] ** 2) / noise.position**2
        within: Mask = far + (residuals[:, 2] / noise.yaw) ** 2 < OUTLIER
        return within

    def _result(self, solution: Solution) -> Fit:
        residuals, _ = self._predict(self._beta, self._walk)
        covariance, correlation, widened = solution.covariance, 0.0, 1.0
        if self.drive.poses is not None:
            correlation = max(_correlation(residuals[:, i], self._used) for i in range(3))
            if correlation > 4.0 / math.sqrt(len(residuals)):
                # Correlated noise: the effective number of independent readings is smaller.
                widened = (1.0 + correlation) / (1.0 - min(correlation, 0.98))
        return Fit(
            names=self._beta.names,
            values=self._beta.values,
            middle=self._beta.middle,
            covariance=widened * covariance,
            slip_covariance=widened * self._slip_covariance(),
            noise=self._noise,
            noise_std=self._noise_std(),
            walk=self._walk,
            residuals=residuals,
            used=self._used,
            drive=self.drive,
            correlation=correlation,
        )

    def _slip_covariance(self) -> Array:
        """Return the derivative of the covariance by the logarithm of the path noise."""
        problem, odometry = self._linear()
        steps, step = self._steps(odometry), 0.2
        less, more = (
            solve(
                problem,
                *self._informations(replace(self._noise, path=self._noise.path * factor), steps),
            ).covariance
            for factor in (math.exp(-step), math.exp(step))
        )
        slope: Array = (more - less) / (2.0 * step)
        return slope

    def _noise_std(self) -> dict[str, float]:
        """Return each log level's standard deviation, from the likelihood's curvature."""
        problem, odometry = self._linear()
        steps = self._steps(odometry)
        at = np.log([getattr(self._noise, name) for name in self._sensors.levels])
        best, step, result = self._cost(at, problem, steps), 0.2, {}
        for i, name in enumerate(self._sensors.levels):
            move = np.zeros(len(at))
            move[i] = step
            curvature = (
                self._cost(at + move, problem, steps)
                + self._cost(at - move, problem, steps)
                - 2.0 * best
            ) / step**2
            result[name] = math.sqrt(2.0 / curvature) if curvature > 0.02 else math.inf
        return result


def _rotated(angle: Array, places: Array) -> Array:
    """Rotate places about the origin, (n, 2)."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = places[:, 0], places[:, 1]
    return np.stack((cos * x - sin * y, sin * x + cos * y), axis=1)


def _median(values: Array) -> Array:
    smooth: Array = median_filter(values, size=2 * JUMP_SPAN + 1, mode="nearest")
    return smooth


def _white_noise_std(values: Array) -> float:
    """Return the standard deviation of white noise on a smooth signal, by second differences."""
    second = values[1:-1] - 0.5 * (values[:-2] + values[2:])
    return 1.4826 * float(np.nanmedian(np.abs(second))) / math.sqrt(1.5)


def _correlation(values: Array, used: Mask) -> float:
    """Return the correlation of neighbouring values that are both used."""
    both = used[1:] & used[:-1]
    size = float(np.mean(values[used] ** 2)) if used.any() else 0.0
    return float(np.mean(values[1:][both] * values[:-1][both])) / size if size > 0.0 else 0.0
