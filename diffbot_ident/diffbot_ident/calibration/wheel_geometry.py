# SPDX-License-Identifier: Apache-2.0
"""The fit: radii, track, delays, mounting, gyro and all noise levels from one drive, jointly.

The robot's pose is that of the odometry X(t; radii, track), moved by what the wheels rolled wrongly
so far: p = R(a) p_X + c, theta = theta_X + a. (a, c) is a random walk; where the pose source's
frame lies is where that walk begins, so it needs no parameters, and where it jumps the walk may.
A pose source at m on the robot, yawed by alpha, whose stamps come d late, tells

    (x, y) = p + R(theta) m + white noise,    yaw = theta + alpha + white noise,    at t - d

and a gyro's integral tells s theta_X + a + B + white noise, where B grows by its bias, which itself
walks.
Radii and track are fitted as logarithms of mean radius, ratio and track over mean radius, as a gyro
knows the latter two only. Noise levels are those of the largest restricted likelihood, readings
beyond what white noise does are left out, and the covariance is the inverse of the information with
the walk removed: so intervals are as wide as slip makes them.

It rests on Censi, Franchi, Marchionni and Oriolo, "Simultaneous calibration of odometry and sensor
parameters for mobile robots" (IEEE T-RO 29, 2013), which knows neither delay nor correlated noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter
from scipy.optimize import minimize

from arc_odometry import WheelGeometry
from diffbot_ident.calibration.first_guess import (
    CalibrationError,
    Mounting,
    Turns,
    gyro_turns,
    mounting,
    pose_turns,
    turned_by,
)
from diffbot_ident.calibration.noise_levels import (
    Mask,
    Noise,
    Sensors,
    WalkSteps,
    bounds,
    informations,
    slip_of,
)
from diffbot_ident.calibration.random_walk_fit import LinearProblem, Solution, solve
from diffbot_ident.calibration.readings import Array, GyroReadings, PoseReadings, WheelTurns
from diffbot_ident.calibration.wheel_path import WheelPath, driven, gaps

GEOMETRY = ("log_radius", "log_ratio", "log_track")
POSE = ("pose_delay", "mount_x", "mount_y", "mount_yaw")
GYRO = ("gyro_delay", "gyro_scale")
DRIFT = ("pose_delay_rate", "gyro_delay_rate")
# Steps for derivatives: relative sizes, s, m, rad.
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
# A reading whose squared distance is beyond this is no white noise: one of 8000 (chi^2, 3).
OUTLIER = 20.5
# A step of the pose source's frame, in standard deviations of a median of JUMP_SPAN readings.
JUMP, JUMP_SPAN = 7.0, 7
# Knots of a fit without a pose source, s, and the most readings of one with.
KNOT, MOST = 0.05, 20000


@dataclass(frozen=True)
class DriveReadings:
    """One drive's readings on the knots of the fit.

    Attributes:
        wheels: as they are.
        stamps: of the knots, s, (K,): those of the poses, or evenly spaced.
        poses: at the knots, [x, y, yaw], (K, 3); None: there is no pose source.
        gyro: as it is; None: there is none.
        breaks: steps between knots over which nothing is known, (K - 1,).
    """

    wheels: WheelTurns
    stamps: Array
    poses: Array | None
    gyro: GyroReadings | None
    breaks: Mask


@dataclass(frozen=True)
class Fit:
    """What was fitted.

    Attributes:
        names: of the parameters, of GEOMETRY, POSE, GYRO and DRIFT.
        values: of them, (p,).
        covariance: (p, p).
        slip_covariance: what the covariance grows by with the logarithm of the path noise, (p, p).
        noise: the levels, of those that play a part.
        noise_std: standard deviation of the logarithm of each, by name; inf: cannot be told.
        walk: (a, c_x, c_y) and (B, b) of the gyro at the knots, (K, n).
        residuals: of the measurements, (K, m).
        used: readings that are no outliers, (K,).
        drive: what was fitted to.
        correlation: of neighbouring residuals of the pose source, the largest; about 0 if white.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    slip_covariance: Array
    noise: Noise
    noise_std: dict[str, float]
    walk: Array
    residuals: Array
    used: Mask
    drive: DriveReadings
    correlation: float

    def value(self, name: str) -> float:
        """A parameter by name; 0 (a scale: 1) where it was not fitted."""
        if name in self.names:
            return float(self.values[self.names.index(name)])
        return 1.0 if name == "gyro_scale" else 0.0

    def std(self, name: str) -> float:
        """Its standard deviation; inf where it was not fitted."""
        if name not in self.names:
            return math.inf
        i = self.names.index(name)
        return math.sqrt(max(0.0, float(self.covariance[i, i])))

    def taken(self, stamps: Array) -> Array:
        """When poses with these stamps were taken, s of the wheels' clock."""
        drift = self.value("pose_delay_rate") * (stamps - float(np.mean(self.drive.stamps)))
        when: Array = stamps - self.value("pose_delay") - drift
        return when

    def gyro_stamps(self, times: Array) -> Array:
        """Which stamps the gyro's readings at times in s of the wheels' clock have."""
        drift = self.value("gyro_delay_rate") * (times - float(np.mean(self.drive.stamps)))
        stamps: Array = times + self.value("gyro_delay") + drift
        return stamps

    def geometry(self, radius: float) -> WheelGeometry:
        """Radii and track; `radius` is the mean radius where only a gyro was there, m."""
        if "log_radius" in self.names:
            radius = math.exp(self.value("log_radius"))
        return _geometry(radius, self.value("log_ratio"), self.value("log_track"))


def _geometry(radius: float, log_ratio: float, log_track: float) -> WheelGeometry:
    """Of mean radius, log(right / left) and log(track / mean radius)."""
    half = math.tanh(0.5 * log_ratio)  # (right - left) / (right + left)
    return WheelGeometry(radius * (1.0 - half), radius * (1.0 + half), radius * math.exp(log_track))


def drive_of(
    wheels: WheelTurns, gyro: GyroReadings | None, poses: PoseReadings | None, delay: float
) -> DriveReadings:
    """Readings where all sensors overlap, on common knots.

    Args:
        wheels: their turns.
        gyro: its readings; None: there is none.
        poses: of a pose source; None: there is none.
        delay: of the pose source, roughly, s.

    Raises:
        CalibrationError: they do not overlap.
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
        wheels: turns of the wheels.
        geometry: what they were taken to be; its mean radius stays where there is no pose source.
        gyro: its readings; None: there is none.
        poses: of a pose source; None: there is none. One of the two must be there.
        gyro_scale_std: how well the gyro's scale is known to be 1.
        clock_drift: also fit how fast the sensors' clocks drift from the wheels'.

    Raises:
        CalibrationError: readings do not belong together.
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
        self._names: tuple[str, ...] = GEOMETRY[1:] if poses is None else (*GEOMETRY, *POSE)
        if gyro is not None:
            self._names += GYRO
        if clock_drift:
            wanted = zip(DRIFT, (poses, gyro), strict=True)
            self._names += tuple(name for name, there in wanted if there is not None)
        self._middle = float(np.mean(self.drive.stamps))
        self._begin(turns, mount, gyro_guess, geometry)

    def _begin(
        self, turns: Turns, mount: Mounting | None, gyro: Turns | None, geometry: WheelGeometry
    ) -> None:
        """First values of parameters, walk, noise, and of what is used."""
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
        self._beta = np.array([first.get(name, 0.0) for name in self._names])
        count = len(self.drive.stamps)
        if count < 30:
            raise CalibrationError(
                f"only {count} readings where all sensors overlap: must be 30 or more; record "
                "longer, and look whether the stamps are of one clock"
            )
        self._used = np.ones(count, dtype=bool)
        self._noise = Noise()
        self._walk = np.zeros((count, self._sensors.size))
        # The gyro is looked at where the first guess has the knots, whatever the delays become: its
        # noise must not change with them, or a delay would be fitted to it.
        self._gyro_at = self._taken(self._beta) + first.get("gyro_delay", 0.0)
        if self.drive.poses is not None:
            self._begin_walk()
        if self._gyro_turned is not None:
            self._walk[:, -2] = self._gyro_residual(self._beta, self._walk)

    # What is measured, and what the parameters say of it.

    def _get(self, beta: Array, name: str) -> float:
        if name in self._names:
            return float(beta[self._names.index(name)])
        return 1.0 if name == "gyro_scale" else 0.0

    def _geometry(self, beta: Array) -> WheelGeometry:
        radius = self._radius
        if "log_radius" in self._names:
            radius = math.exp(self._get(beta, "log_radius"))
        return _geometry(radius, self._get(beta, "log_ratio"), self._get(beta, "log_track"))

    def _path(self, beta: Array) -> WheelPath:
        return WheelPath(self.drive.wheels, self._geometry(beta))

    def _taken(self, beta: Array) -> Array:
        """When the knots' readings were taken, s."""
        stamps = self.drive.stamps
        rate = self._get(beta, "pose_delay_rate") * (stamps - self._middle)
        return stamps - self._get(beta, "pose_delay") - rate

    def _predict(self, beta: Array, walk: Array) -> tuple[Array, Array]:
        """Residuals of all measurements, (K, m), and poses of the odometry at the knots, (K, 3)."""
        taken = self._taken(beta)
        odometry = self._path(beta).poses(taken)
        columns = []
        if self.drive.poses is not None:
            a, heading = walk[:, 0], odometry[:, 2] + walk[:, 0]
            cos, sin = np.cos(a), np.sin(a)
            m_x, m_y = self._get(beta, "mount_x"), self._get(beta, "mount_y")
            x = cos * odometry[:, 0] - sin * odometry[:, 1] + walk[:, 1]
            y = sin * odometry[:, 0] + cos * odometry[:, 1] + walk[:, 2]
            cos, sin = np.cos(heading), np.sin(heading)
            measured = self.drive.poses
            yaw = measured[:, 2] - heading - self._get(beta, "mount_yaw")
            columns = [
                measured[:, 0] - x - cos * m_x + sin * m_y,
                measured[:, 1] - y - sin * m_x - cos * m_y,
                (yaw + np.pi) % (2.0 * np.pi) - np.pi,
            ]
        if self.drive.gyro is not None:
            columns.append(self._gyro_residual(beta, walk))
        return np.stack(columns, axis=1), odometry

    def _gyro_residual(self, beta: Array, walk: Array) -> Array:
        assert self.drive.gyro is not None and self._gyro_turned is not None
        stamps = self._gyro_at
        rate = self._get(beta, "gyro_delay_rate") * (stamps - self._middle)
        heading = self._path(beta).headings(stamps - self._get(beta, "gyro_delay") - rate)
        integral = np.interp(stamps, self.drive.gyro.stamps, self._gyro_turned)
        # The scale is not put on the walk: a larger one would ask for less slip, and would win.
        turned: Array = integral - self._get(beta, "gyro_scale") * heading - walk[:, 0]
        return turned - walk[:, -2]

    def _begin_walk(self) -> None:
        """The walk by running medians; jumps of the pose source's frame; first noise levels."""
        residuals, odometry = self._predict(self._beta, self._walk)
        turned = np.exp(1j * residuals[:, 2])
        smooth = _median(turned.real) + 1j * _median(turned.imag)
        self._walk[:, 0] = np.unwrap(np.angle(smooth))
        residuals, odometry = self._predict(self._beta, self._walk)
        c = residuals[:, :2]
        # At the robot and not at the origin: there noise of the heading moves it little.
        local = c + _moved(self._walk[:, 0], odometry)
        self._noise = replace(
            self._noise,
            position=max(_white(np.concatenate((local[:, 0], [np.nan], local[:, 1]))), 1e-4),
            yaw=max(_white(residuals[:, 2]), 1e-4),
        )
        self._walk[:, 1], self._walk[:, 2] = _median(c[:, 0]), _median(c[:, 1])
        self._find_jumps()

    def _find_jumps(self) -> None:
        """Steps of the pose source's frame that stay: there the walk begins anew."""
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
        found = np.zeros(len(steps), dtype=bool)
        for at in np.argsort(-steps):
            if steps[at] < JUMP:
                break
            if not found[max(0, at - 2 * span) : at + 2 * span].any():
                found[at] = True
        self.drive = replace(self.drive, breaks=self.drive.breaks | found)

    # Linearised.

    def _linear(self) -> tuple[LinearProblem, Array]:
        """The problem where parameters and walk are now, and the odometry's poses."""
        residuals, odometry = self._predict(self._beta, self._walk)
        columns = []
        for i, name in enumerate(self._names):
            step = np.zeros(len(self._beta))
            step[i] = STEPS[name]
            ahead, _ = self._predict(self._beta + step, self._walk)
            behind, _ = self._predict(self._beta - step, self._walk)
            difference = behind - ahead
            if self.drive.poses is not None:
                difference[:, 2] = (difference[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
            columns.append(difference / (2.0 * STEPS[name]))
        count, measured = residuals.shape
        h = np.zeros((count, measured, self._sensors.size))
        a = self._walk[:, 0]
        if self.drive.poses is not None:
            heading = odometry[:, 2] + a
            m_x, m_y = self._get(self._beta, "mount_x"), self._get(self._beta, "mount_y")
            lever = _moved(a, odometry) + _moved(heading, np.array([[m_x, m_y]]))
            h[:, 0, 0], h[:, 1, 0], h[:, 2, 0] = -lever[:, 1], lever[:, 0], 1.0
            h[:, 0, 1] = h[:, 1, 2] = 1.0
        if self.drive.gyro is not None:
            h[:, -1, 0] = h[:, -1, -2] = 1.0
        w, f, b = self._walk_steps(odometry)
        prior, prior_r = np.zeros(len(self._names)), np.zeros(len(self._names))
        if "gyro_scale" in self._names:
            i = self._names.index("gyro_scale")
            prior[i], prior_r[i] = 1.0 / self._prior_std**2, 1.0 - self._beta[i]
        j = np.stack(columns, axis=2)
        return LinearProblem(residuals, h, j, w, f, b, prior, prior_r), odometry

    def _walk_steps(self, odometry: Array) -> tuple[Array, Array, Array]:
        """What the walk does from knot to knot, (K - 1, n), and its derivatives."""
        walk, count, n = self._walk, len(self._walk), self._sensors.size
        w = np.diff(walk, axis=0)
        f = np.tile(np.eye(n), (count - 1, 1, 1))
        b = f.copy()
        if self.drive.poses is not None:
            middle = 0.5 * (odometry[1:, :2] + odometry[:-1, :2])
            now, before = _moved(walk[1:, 0], middle), _moved(walk[:-1, 0], middle)
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
        """The walk's steps where parameters and walk are now."""
        turned = np.diff(driven(self.drive.wheels, self._taken(self._beta)), axis=0)
        heading = 0.5 * (odometry[1:, 2] + odometry[:-1, 2]) + self._walk[1:, 0]
        slip = slip_of(self._geometry(self._beta), turned, heading)
        return WalkSteps(slip, np.diff(self.drive.stamps), self.drive.breaks)

    def _cost(self, logarithms: Array, problem: LinearProblem, steps: WalkSteps) -> float:
        noise = replace(
            self._noise, **dict(zip(self._sensors.levels, np.exp(logarithms).tolist(), strict=True))
        )
        cost = solve(problem, *self._informations(noise, steps)).cost
        return cost + (noise.improbability() if self._sensors.gyro else 0.0)

    def _fit_noise(self) -> None:
        """Noise levels of the largest restricted likelihood."""
        problem, odometry = self._linear()
        steps = self._steps(odometry)
        begin = np.log([getattr(self._noise, name) for name in self._sensors.levels])
        limits = [bounds(name) for name in self._sensors.levels]
        found = minimize(
            self._cost,
            np.clip(begin, *np.transpose(limits)),
            args=(problem, steps),
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": 20, "ftol": 1e-8, "eps": 1e-3},
        )
        levels = dict(zip(self._sensors.levels, np.exp(found.x).tolist(), strict=True))
        self._noise = replace(self._noise, **levels)

    # The course of the fit.

    def run(self) -> Fit:
        """Fit all.

        Raises:
            CalibrationError: it does not come to an end.
        """
        for most in (4, 2):
            self._settle(most)
            self._fit_noise()
        solution = self._settle(12)
        return self._found(solution)

    def clock_drift(self) -> dict[str, tuple[float, float]]:
        """How fast the sensors' clocks run away from the wheels', s/s: value and std, by name.

        One step from where the fit is; of those in DRIFT that are not fitted.
        """
        kept = self._names, self._beta
        there = (self.drive.poses is not None, self.drive.gyro is not None)
        new = [n for n, here in zip(DRIFT, there, strict=True) if here and n not in self._names]
        self._names = (*self._names, *new)
        self._beta = np.concatenate((self._beta, np.zeros(len(new))))
        problem, odometry = self._linear()
        solution = solve(problem, *self._informations(self._noise, self._steps(odometry)))
        std = np.sqrt(np.diag(solution.covariance))
        found = {n: self._names.index(n) for n in new}
        self._names, self._beta = kept
        return {n: (float(solution.beta[i]), float(std[i])) for n, i in found.items()}

    def _settle(self, most: int) -> Solution:
        """Steps of Gauss and Newton, with outliers found anew in each."""
        solution = None
        for _ in range(most):
            problem, odometry = self._linear()
            steps = self._steps(odometry)
            try:
                solution = solve(problem, *self._informations(self._noise, steps))
            except np.linalg.LinAlgError as error:
                raise CalibrationError(
                    f"the fit does not settle ({error}): the readings do not follow the wheels; "
                    "look at clocks, units and frames"
                ) from None
            std = np.sqrt(np.diag(solution.covariance))
            self._beta = self._beta + np.clip(solution.beta, -0.5, 0.5)
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

    def _found(self, solution: Solution) -> Fit:
        residuals, _ = self._predict(self._beta, self._walk)
        covariance, correlation, widened = solution.covariance, 0.0, 1.0
        if self.drive.poses is not None:
            correlation = max(_correlation(residuals[:, i], self._used) for i in range(3))
            if correlation > 4.0 / math.sqrt(len(residuals)):
                # Not white: so many fewer readings tell something of their own.
                widened = (1.0 + correlation) / (1.0 - min(correlation, 0.98))
        return Fit(
            names=self._names,
            values=self._beta,
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
        """Derivative of the covariance with respect to the logarithm of the path noise."""
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
        """Standard deviation of each level's logarithm, from the curvature of the likelihood."""
        problem, odometry = self._linear()
        steps = self._steps(odometry)
        at = np.log([getattr(self._noise, name) for name in self._sensors.levels])
        best, step, found = self._cost(at, problem, steps), 0.2, {}
        for i, name in enumerate(self._sensors.levels):
            move = np.zeros(len(at))
            move[i] = step
            curvature = (
                self._cost(at + move, problem, steps)
                + self._cost(at - move, problem, steps)
                - 2.0 * best
            ) / step**2
            found[name] = math.sqrt(2.0 / curvature) if curvature > 0.02 else math.inf
        return found


def _moved(angle: Array, places: Array) -> Array:
    """Places turned about the origin, (n, 2)."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = places[:, 0], places[:, 1]
    return np.stack((cos * x - sin * y, sin * x + cos * y), axis=1)


def _median(values: Array) -> Array:
    smooth: Array = median_filter(values, size=2 * JUMP_SPAN + 1, mode="nearest")
    return smooth


def _white(values: Array) -> float:
    """Standard deviation of white noise on something smooth, by second differences."""
    second = values[1:-1] - 0.5 * (values[:-2] + values[2:])
    return 1.4826 * float(np.nanmedian(np.abs(second))) / math.sqrt(1.5)


def _correlation(values: Array, used: Mask) -> float:
    """Of neighbours."""
    both = used[1:] & used[:-1]
    size = float(np.mean(values[used] ** 2)) if used.any() else 0.0
    return float(np.mean(values[1:][both] * values[:-1][both])) / size if size > 0.0 else 0.0
