# SPDX-License-Identifier: Apache-2.0
"""Where within a count each wheel stood at the encoders' first reading.

Odometry takes the first reading for exact. A wheel stands somewhere within its count, though, and
the heading is off by up to one count over the track from then on: 1.4 mm to the side after 2 m with
2048 counts. The first edges tell where it stood: at an edge the angle is known exactly, and the way
from rest to there follows from the torque.

In counts, with n the reading, s the way since the first reading (n = 0) and y, 0 to 1, where in its
count the wheel stood,

    n <= s + y < n + 1,    s = model's way from rest + e,    e' = u,    u' = white noise

of the intensity that the MotionObserver takes the model to be wrong by at the torque limit. A
reading that differs from the one before says that an edge was passed within the period: s + y is
beyond that edge by half the way of the period, or half a count where that is less, give or take a
uniform error of that width. One that repeats says nothing. So a Kalman filter on [y, e, u] per
wheel finds y, from a mean of 1/2 and a variance of 1/12 on, until WINDOW after the wheel has
started. A model that is wrong, or a robot that rolled at the start, shows in the innovations: the
reading stays as it was then.

What readings are off by on average is y - 1/2 counts; odometry's frame is turned and shifted by
that about its start, once, and the variance that is left counts in its covariance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arc_odometry import REST, DiffOdometry, Pose, Velocity
from arc_odometry.geometry import within_each
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import BASE, NOISE, MotionObserver
from diffbot_description import DynamicParameters, Torque

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

WINDOW = 0.3  # s of a wheel's motion, in which its edges count
LEAST_WIDTH = 0.05  # of a count, that an edge is uncertain by
# A sum of squared innovations over their variances that is beyond its mean by so many standard
# deviations shows that the model does not explain the readings.
IMPROBABLE = 3.0
# Readings are whole counts but for this, else they are not of this encoder.
NOT_WHOLE = 0.01
STANDS = 1e-9  # rad/s; a wheel that the model has slower stands


class Offsets(NamedTuple):
    """What the mean readings of wheels are ahead of their angles since the first reading.

    Attributes:
        found: which wheels' have just been settled, shape (2, n), [left, right] of n robots.
        mean: rad, within half a count; 0 where the model does not explain the readings.
        variance: rad^2.
    """

    found: Mask
    mean: Array
    variance: Array


class FirstReadings:
    """The filters of both wheels of n robots, shape (2, n).

    Args:
        count: angle of a count, rad, shape (n,); 0: exact, nothing is to be found.
        noise: intensity of what the model may have wrong of a wheel, rad^2/s^3, shape (2, n).
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
        self._foretold = zero  # ways by the model, counts
        self._time = zero  # since a wheel has started, s
        self._sought: Mask = np.broadcast_to(self._coarse, noise.shape).copy()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to be found."""
        return not self._sought.any()

    def update(self, angles: Array, ways: Array, dt: float) -> Offsets | None:
        """Take in a period; None: it has settled no wheel.

        Args:
            angles: read, since the first reading, rad, shape (2, n).
            ways: of the model over the period, rad, shape (2, n).
            dt: s.
        """
        started = (self._time > 0.0) | (np.abs(ways) > STANDS * dt)
        counts, ways = angles / self._count, ways / self._count
        read: Array = np.rint(counts)
        self._time = self._time + dt * started
        changed = read != self._read
        # Else it is another encoder, or the wheel rolls though the model has it stand.
        fits = (np.abs(counts - read) <= NOT_WHOLE) & (started | ~changed)
        self._foretold = self._foretold + ways
        self._predict(started, dt)
        if changed.any():
            self._correct(read - self._read, read, ways + dt * self._u)
            self._read = read
        found = self._sought & (~fits | (self._time >= WINDOW))
        if not found.any():
            return None
        self._sought &= ~found
        explained = fits & (self._excess <= IMPROBABLE * np.sqrt(2.0 * self._edges))
        mean = np.where(explained, within_each(self._y, 0.0, 1.0) - 0.5, 0.0)
        variance = np.where(explained, self._cov[0], 1.0 / 12.0)
        return Offsets(found, mean * self._count, variance * self._count**2)

    def _predict(self, started: Mask, dt: float) -> None:
        """Go on by a period; of a wheel that has started the model may be wrong."""
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
        """Take in the edges where readings have changed; ways of the period in counts."""
        width = np.where(np.abs(change) > 1.0, 1.0, within_each(np.abs(ways), LEAST_WIDTH, 1.0))
        # Forwards the last edge is the count's lower one, backwards its upper one.
        beyond = np.where(change > 0.0, read + 0.5 * width, read + 1.0 - 0.5 * width)
        yy, ye, yu, ee, eu, uu = self._cov
        hy, he, hu = yy + ye, ye + ee, yu + eu
        total = hy + he + width * width / 12.0
        innovation = beyond - self._foretold - self._y - self._e
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
    """Intensity of what a model may have wrong of wheels, rad^2/s^3, shape (2, n).

    Args:
        mobility: accelerations of the wheels by their own torque, 1/(kg m^2), shape (2, n).
        torque: largest of a wheel that is commanded, N m, shape (n,).
    """
    noise: Array = BASE * (NOISE * torque * mobility) ** 2
    return noise


class FirstReading:
    """That of one robot, whose odometry it puts right.

    Args:
        dynamics: K5..K8.
        wheels: the rest.
    """

    def __init__(self, dynamics: DynamicParameters, wheels: KnownWheels) -> None:
        # It is told of no reading: its velocity is that of the model alone.
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
        """Whether nothing is left to be put right."""
        return self._filters.is_done

    def begin(self, odometry: DiffOdometry) -> None:
        """Take in the first reading."""
        self._start, self._angles = odometry.pose, odometry.angles

    def update(self, odometry: DiffOdometry, torque: Torque, dt: float) -> None:
        """Take in a reading that odometry has, and put its pose right once more is known.

        Args:
            odometry: of the robot.
            torque: commanded for the period that ends, [left, right], N m.
            dt: since the reading before, s.
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
            if offsets.found[side, 0]:
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
    """Turn and shift an odometry's frame about its start by what a wheel's readings are ahead.

    Args:
        odometry: its pose is put right, and what is left of the offset counts in its covariance.
        start: pose at the first reading.
        side: 0: left, 1: right.
        offset: of the wheel, rad.
        variance: of the offset, rad^2.
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
    """By how much poses by odometry are off per rad that a wheel's readings are ahead.

    Args:
        side: 0: left, 1: right.
        radius: of that wheel, m, or of n robots' wheels.
        separation: of the wheels, m, likewise.
        start: [x, y, theta] at the first reading, m and rad, shape (3,) or (3, n).
        pose: now, likewise.
    """
    turn = (-1.0, 1.0)[side] * radius / separation
    along = 0.5 * radius
    x = along * np.cos(start[2]) - turn * (pose[1] - start[1])
    y = along * np.sin(start[2]) + turn * (pose[0] - start[0])
    return np.stack((x, y, np.broadcast_to(turn, np.shape(x))))
