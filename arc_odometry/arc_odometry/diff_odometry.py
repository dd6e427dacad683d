"""Odometry of a differential-drive robot from the angles of its wheels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arc_odometry.arc import Arc, Pose
from arc_odometry.geometry import WheelGeometry
from arc_odometry.pose_covariance import checked, propagate
from arc_odometry.wheel_turn import wheel_turn

MAX_WHEEL_SPEED = 100.0  # rad/s, default
# Stamps jitter by milliseconds, angles do not: a shorter period than this, s, is no proof of speed.
SHORTEST_PERIOD = 0.01
# A larger path, m, or turn, rad, in one step has no digits left for the pose.
LARGEST = 1e15


class DiffOdometry:
    """Pose, velocity and the covariance of both from wheel angles; Lages (2018), (35)-(38).

    Between two readings the robot drives along an arc, which is exact while the ratio of the wheel
    speeds is constant, for steps of any size. All pairs of wheels are ordered [left, right], the
    pose is that of the middle of the axle in the odom frame. What cannot be used is refused by a
    ValueError, and then nothing has changed; neither pose nor covariance ever holds a NaN.

    Args:
        geometry: radii and separation of the wheels.
        path_noise: variance of a wheel's path per path driven, m^2/m, >= 0; see pose_covariance.
        max_wheel_speed: faster changes of a wheel's angle are refused as jumps, rad/s, > 0;
            math.inf refuses none and leaves encoders that wrap after several turns unnoticed.
        pose: at the start, (x in m, y in m, theta in rad).
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        path_noise: float = 0.0,
        max_wheel_speed: float = MAX_WHEEL_SPEED,
        pose: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        if not max_wheel_speed > 0.0:
            raise ValueError(f"max_wheel_speed = {max_wheel_speed} rad/s: must be > 0")
        self._max_wheel_speed = max_wheel_speed
        self.set_geometry(geometry)
        self.set_path_noise(path_noise)
        self.set_pose(pose)
        self.restart()

    # What is known.

    @property
    def pose(self) -> Pose:
        """Pose (x in m, y in m, theta in rad, not wrapped) in the odom frame."""
        return self._pose

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of [x, y, theta], (3, 3), m and rad, in the odom frame; a copy."""
        return self._covariance.copy()

    @property
    def velocity(self) -> tuple[float, float]:
        """Body velocity (v in m/s, omega in rad/s), the mean over the last step; 0 before."""
        return self._velocity

    @property
    def velocity_covariance(self) -> NDArray[np.float64]:
        """Covariance of (v, omega), (2, 2), m/s and rad/s, over the last step."""
        left, right = self._speed_variances
        b2 = self._geometry.separation
        mixed = 0.5 * (right - left) / b2
        return np.array([[0.25 * (left + right), mixed], [mixed, (left + right) / b2**2]])

    @property
    def time(self) -> float | None:
        """Stamp of the last reading, s; None before the first and after a restart."""
        return self._time

    @property
    def angles(self) -> tuple[float, float]:
        """The wheel angles last read [left, right], rad."""
        return self._angles

    @property
    def geometry(self) -> WheelGeometry:
        """Radii and separation of the wheels."""
        return self._geometry

    @property
    def path_noise(self) -> float:
        """Variance of a wheel's path per path driven, m^2/m."""
        return self._path_noise

    # What may be set, at any time.

    def set_geometry(self, geometry: WheelGeometry) -> None:
        """Change radii and separation, from the last reading on; the pose stays."""
        self._geometry = geometry

    def set_path_noise(self, path_noise: float) -> None:
        """Change the noise, m^2/m, from the last reading on."""
        if not (math.isfinite(path_noise) and path_noise >= 0.0):
            raise ValueError(f"path_noise = {path_noise} m^2/m: must be finite and >= 0")
        self._path_noise = float(path_noise)

    def set_pose(self, pose: Sequence[float], covariance: object = None) -> None:
        """Put the robot elsewhere; the readings go on from there.

        Args:
            pose: (x in m, y in m, theta in rad), odom frame, finite.
            covariance: of the pose, (3, 3), symmetric positive semidefinite; None: 0, known well.
        """
        values = tuple(map(float, pose))
        if len(values) != 3 or not all(map(math.isfinite, values)):
            raise ValueError(f"pose = {values}: must be finite x, y in m and theta in rad")
        matrix = np.zeros((3, 3)) if covariance is None else checked(covariance)
        self._pose, self._covariance = Pose(*values), matrix

    def restart(self) -> None:
        """Forget the last reading, as after a gap or a reset of time; the pose stays.

        The next reading is a new beginning: the way between the two is not counted.
        """
        self._time: float | None = None
        self._angles = (0.0, 0.0)
        self._velocity = (0.0, 0.0)
        self._speed_variances = (0.0, 0.0)

    # What moves it.

    def update(self, time: float, angles: tuple[float, float]) -> None:
        """Take in a reading of both encoders; the first one is only the beginning.

        Args:
            time: stamp of the reading, s, later than the last one.
            angles: wheel angles [left, right], rad; they may wrap, see wheel_turn.

        Raises:
            EncoderJumpError: a wheel would have turned faster than max_wheel_speed.
            ValueError: an angle or the time is not finite, or the time is not later.
        """
        if not (math.isfinite(time) and all(map(math.isfinite, angles))):
            raise ValueError(
                f"wheel angles {tuple(angles)} rad at {time} s: must be finite; check the driver"
            )
        if self._time is not None:
            if time <= self._time:
                raise ValueError(
                    f"time = {time} s: must be later than {self._time} s, the last reading's; "
                    "restart after a reset of time"
                )
            period = time - self._time
            limit = self._max_wheel_speed * max(period, SHORTEST_PERIOD)
            left, right = (
                wheel_turn(name, before, after, limit)
                for name, before, after in zip(("left", "right"), self._angles, angles, strict=True)
            )
            self.advance((left, right), period)
        self._time, self._angles = time, (float(angles[0]), float(angles[1]))

    def advance(self, turns: tuple[float, float], duration: float) -> None:
        """Drive along one arc; for those who have differences of angles, not angles.

        Args:
            turns: by how much each wheel has turned [left, right], rad.
            duration: how long it took, s, > 0.

        Raises:
            ValueError: not finite, no time, or a pose beyond all numbers.
        """
        if not (math.isfinite(duration) and duration > 0.0):
            raise ValueError(f"duration = {duration} s: must be finite and > 0")
        left, right = turns
        arc = Arc(*self._geometry.body_velocity(left, right))
        if not (abs(arc.length) <= LARGEST and abs(arc.turn) <= LARGEST):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad: must be finite, and path (m) and turn (rad) "
                f"of the robot <= {LARGEST:g}"
            )
        paths = (self._geometry.left_radius * left, self._geometry.right_radius * right)
        variances = (self._path_noise * abs(paths[0]), self._path_noise * abs(paths[1]))
        pose = arc.end(self._pose)
        covariance = propagate(
            self._covariance, self._pose, arc, variances, self._geometry.separation
        )
        velocity = (arc.length / duration, arc.turn / duration)
        speed_variances = (variances[0] / duration / duration, variances[1] / duration / duration)
        numbers = (*pose, *velocity, *speed_variances)
        if not (all(map(math.isfinite, numbers)) and np.isfinite(covariance).all()):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad in {duration} s from {pose}: beyond the "
                "numbers that a computer holds; check the encoders"
            )
        self._pose, self._covariance = pose, covariance
        self._velocity, self._speed_variances = velocity, speed_variances
