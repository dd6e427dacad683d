# SPDX-License-Identifier: Apache-2.0
"""Estimation of each wheel's position within its encoder count at the first reading.

Taken as exact, that reading turns the heading by up to a count over the track. The first encoder
edges show where the wheels stood: docs/theory/observer.md#the-first-reading.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arc_odometry import REST, DiffOdometry, Pose, Velocity
from arc_odometry.number_range import Array, within_each
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion_observer import BASE, NOISE, MotionObserver
from diffbot_description import DynamicParameters, Torque

Mask = NDArray[np.bool_]

WINDOW = 0.3  # time from the start of a wheel's motion in which its edges are used, s
LEAST_WIDTH = 0.05  # minimum uncertainty (full width) of the position at an edge, counts
# Standard deviations beyond which the normalised squared innovations disprove the model.
IMPROBABLE = 3.0
# Largest deviation of a reading from whole counts; beyond it the encoder has other counts.
NOT_WHOLE = 0.01
STANDS = 1e-9  # a wheel with a lower modelled speed, rad/s, is at rest


class Offsets(NamedTuple):
    """Mean offsets by which readings since the first one are ahead of the wheel angles.

    Attributes:
        determined: Which have just been determined, [left, right] of n robots, shape (2, n).
        mean: rad, within half a count; 0 where the model does not explain the readings.
        variance: rad^2.
    """

    determined: Mask
    mean: Array
    variance: Array


class FirstReadings:
    """Kalman filters for both wheels of n robots, shape (2, n).

    Args:
        count: Angle of a count, rad, shape (n,); 0: exact encoder, nothing to estimate.
        noise: Noise intensity of the model's errors per wheel, rad^2/s^3, shape (2, n).
    """

    def __init__(self, count: Array, noise: Array) -> None:
        zero = np.zeros_like(noise)
        self._coarse = count > 0.0
        self._count = np.where(self._coarse, count, 1.0)
        self._noise = noise / self._count**2
        self._y, self._e, self._u = zero + 0.5, zero, zero
        # yy, ye, yu, ee, eu, uu
        self._cov = (zero + 1.0 / 12.0, zero, zero, zero, zero, zero)
        self._edges = self._excess = zero
        self._read = zero  # counts since the first reading
        self._predicted = zero  # paths by the model, counts
        self._time = zero  # time since a wheel has started, s
        self._pending: Mask = np.broadcast_to(self._coarse, noise.shape).copy()

    @property
    def is_done(self) -> bool:
        return not self._pending.any()

    def update(self, angles: Array, ways: Array, dt: float) -> Offsets | None:
        """Process a period of dt s; return newly determined offsets, or None.

        `angles`, read since the first reading, and `ways`, paths by the model over the period: rad,
        shape (2, n).
        """
        started = (self._time > 0.0) | (np.abs(ways) > STANDS * dt)
        counts, ways = angles / self._count, ways / self._count
        read: Array = np.rint(counts)
        self._time = self._time + dt * started
        changed = read != self._read
        # Otherwise another encoder, or the wheel rolls while it rests in the model.
        fits = (np.abs(counts - read) <= NOT_WHOLE) & (started | ~changed)
        self._predicted = self._predicted + ways
        self._predict(started, dt)
        if changed.any():
            self._correct(read - self._read, read, ways + dt * self._u)
            self._read = read
        result = self._pending & (~fits | (self._time >= WINDOW))
        if not result.any():
            return None
        self._pending &= ~result
        explained = fits & (self._excess <= IMPROBABLE * np.sqrt(2.0 * self._edges))
        mean = np.where(explained, within_each(self._y, 0.0, 1.0) - 0.5, 0.0)
        variance = np.where(explained, self._cov[0], 1.0 / 12.0)
        return Offsets(result, mean * self._count, variance * self._count**2)

    def _predict(self, started: Mask, dt: float) -> None:
        yy, ye, yu, ee, eu, uu = self._cov
        q = self._noise * started
        self._e = self._e + dt * self._u
        self._cov = (
            yy,
            ye + dt * yu,
            yu,
            ee + dt * (2.0 * eu + dt * uu) + q * (dt**3 / 3.0),
            eu + dt * uu + q * (0.5 * dt * dt),
            uu + q * dt,
        )

    def _correct(self, change: Array, read: Array, ways: Array) -> None:
        """Correct with the edges where readings have changed; paths in counts."""
        width = np.where(np.abs(change) > 1.0, 1.0, within_each(np.abs(ways), LEAST_WIDTH, 1.0))
        # The last edge is the count's lower one forwards, its upper one backwards.
        beyond = np.where(change > 0.0, read + 0.5 * width, read + 1.0 - 0.5 * width)
        yy, ye, yu, ee, eu, uu = self._cov
        hy, he, hu = yy + ye, ye + ee, yu + eu
        total = hy + he + width * width / 12.0
        innovation = beyond - self._predicted - self._y - self._e
        edge = change != 0.0
        gain = edge / total
        ky, ke, ku = gain * hy, gain * he, gain * hu
        self._y = self._y + ky * innovation
        self._e = self._e + ke * innovation
        self._u = self._u + ku * innovation
        self._cov = (
            yy - ky * hy,
            ye - ky * he,
            yu - ky * hu,
            ee - ke * he,
            eu - ke * hu,
            uu - ku * hu,
        )
        self._edges = self._edges + edge
        self._excess = self._excess + edge * (innovation * innovation / total - 1.0)


def model_noise(mobility: Array, torque: Array) -> Array:
    """Return the noise intensity of the model's errors per wheel, rad^2/s^3, shape (2, n).

    `mobility`: 1/(kg m^2), shape (2, n); `torque`: N m, shape (n,).
    """
    noise: Array = BASE * (NOISE * torque * mobility) ** 2
    return noise


class FirstReading:
    """Corrects the odometry of one robot by the offsets of its first reading."""

    def __init__(self, dynamics: DynamicParameters, wheels: KnownWheels) -> None:
        # Gets no readings; provides the model.
        self._model = MotionObserver(dynamics, wheels)
        self._geometry = wheels.geometry
        self._u = REST
        self._start = Pose(0.0, 0.0, 0.0)
        self._angles = (0.0, 0.0)
        count = math.tau / wheels.counts if wheels.counts else 0.0
        own = np.array([[self._model.mobility[0][0]], [self._model.mobility[1][1]]])
        noise = model_noise(own, np.array([min(wheels.torque, wheels.limit)]))
        self._filters = FirstReadings(np.array([count]), noise)

    @property
    def is_done(self) -> bool:
        return self._filters.is_done

    def begin(self, odometry: DiffOdometry) -> None:
        self._start, self._angles = odometry.pose, odometry.angles

    def update(self, odometry: DiffOdometry, torque: Torque, dt: float) -> None:
        """Process the latest reading, dt s after the previous one; correct the pose once possible.

        `torque` was commanded for the period that ends, [left, right], N m.
        """
        u = self._u
        rate, _ = self._model.rate(u, self._model.acting(torque, dt), dt)
        self._u = Velocity(u.v + dt * rate.v, u.omega + dt * rate.omega)
        left, right = self._geometry.wheel_velocity(
            0.5 * dt * (u.v + self._u.v), 0.5 * dt * (u.omega + self._u.omega)
        )
        angles = np.subtract(odometry.angles, self._angles).reshape(2, 1)
        offsets = self._filters.update(angles, np.array([[left], [right]]), dt)
        if offsets is None:
            return
        for side in (0, 1):
            if offsets.determined[side, 0]:
                put_right(
                    odometry,
                    self._start,
                    side,
                    float(offsets.mean[side, 0]),
                    float(offsets.variance[side, 0]),
                )


def put_right(
    odometry: DiffOdometry, start: Pose, side: int, offset: float, variance: float
) -> None:
    """Turn and shift an odometry's frame about its start by the offset of a wheel's readings.

    Args:
        side: 0: left, 1: right.
        offset: Angle by which the wheel's readings are ahead, rad.
        variance: Of the offset, rad^2; it is added to the covariance.
    """
    geometry = odometry.geometry
    radius = (geometry.left_radius, geometry.right_radius)[side]
    pose = np.array(odometry.pose)
    by = pose_per_offset(side, radius, geometry.separation, np.array(start), pose)
    odometry.set_pose(
        (pose - offset * by).tolist(), odometry.covariance + variance * np.outer(by, by)
    )


def pose_per_offset(
    side: int, radius: Array | float, separation: Array | float, start: Array, pose: Array
) -> Array:
    """Return the error of odometry's poses per rad by which a wheel's readings are ahead.

    Args:
        side: 0: left, 1: right.
        radius: Of that wheel, m; a number or shape (n,), as `separation`, m.
        start: [x, y, theta] at the first reading, m and rad, shape (3,) or (3, n), as `pose`.
    """
    turn = (-1.0, 1.0)[side] * radius / separation
    along = 0.5 * radius
    x = along * np.cos(start[2]) - turn * (pose[1] - start[1])
    y = along * np.sin(start[2]) + turn * (pose[0] - start[0])
    return np.stack((x, y, np.broadcast_to(turn, np.shape(x))))
