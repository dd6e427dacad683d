# SPDX-License-Identifier: Apache-2.0
"""Odometry of a differential-drive robot from its wheel angles; Lages (2018), (35)-(38).

DiffOdometry implements the mathematics. JointOdometry handles joint samples that arrive late or
twice, after gaps and after resets of time.

The covariance of the pose grows with the noise of the wheel paths. Model: each wheel's path is
measured (or rolled) with white noise, independent of the other wheel's, so that over a piece ds of
its path the variance grows by k |ds|, k in m^2/m. The standard deviation over 1 m is sqrt(k) m.
Systematic errors, such as those of radii and separation, are not part of the model.

Noise dl, dr at a point p of the arc moves the pose at the arc's end, to first order, by

    d theta = (dr - dl) / (2 b)
    d p     = h (dl + dr) / 2 + d theta J (p_end - p)

with h the unit vector of the heading and J a rotation by 90 degrees. The covariance that the arc
adds is the integral of the square of this along the arc. Because of the integration, instead of all
noise at the arc's end, the result does not depend on how finely the arc is divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arc_odometry.geometry import REST, Arc, Pose, Velocity, WheelGeometry
from arc_odometry.joints import MAX_WHEEL_SPEED, EncoderJumpError, JointSample, wheel_turn

Array = NDArray[np.float64]

# Gauss-Legendre quadrature on [0, 1]; its positive weights keep the sum positive semidefinite.
# Three nodes per piece of 0.05 rad have a relative error of 3e-13, and one piece is enough for a
# control period. Steps of more than 3.2 rad get no more pieces; the error is 5e-7 at five turns.
_PIECE = 0.05
_MOST_PIECES = 64
_OFF = 0.5 * math.sqrt(0.6)
_NODES, _WEIGHTS = (0.5 - _OFF, 0.5, 0.5 + _OFF), (5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0)


class Spread(NamedTuple):
    """The six distinct entries of a covariance of [x, y, theta], m and rad, in the odom frame.

    They are plain floats because odometry updates them with each reading, and NumPy takes three
    times as long for 3 x 3 matrices.
    """

    xx: float
    xy: float
    xt: float
    yy: float
    yt: float
    tt: float

    @classmethod
    def of(cls, matrix: Array) -> Spread:
        """Return the entries of a symmetric matrix (3, 3)."""
        (xx, xy, xt), (_, yy, yt), (_, _, tt) = matrix.tolist()
        return cls(xx, xy, xt, yy, yt, tt)

    @property
    def trace(self) -> float:
        """Sum of the variances; an upper bound of all entries."""
        return self.xx + self.yy + self.tt

    def matrix(self) -> Array:
        """Return the covariance as an array (3, 3)."""
        xx, xy, xt, yy, yt, tt = self
        return np.array([[xx, xy, xt], [xy, yy, yt], [xt, yt, tt]])


KNOWN = Spread(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Covariance of an exactly known pose."""


def propagate(
    spread: Spread,
    start: Pose,
    arc: Arc,
    variances: tuple[float, float],
    separation: float,
) -> Spread:
    """Return the covariance of the pose at the end of an arc; positive semidefinite.

    Args:
        spread: Covariance at the start.
        start: Pose at the start.
        arc: Arc that was driven.
        variances: Variances of the wheels' paths over the arc [left, right], m^2.
        separation: Wheel separation, 2 b, m.
    """
    if spread == KNOWN and variances == (0.0, 0.0):
        return spread
    end = arc.end(start)
    xx, xy, xt, yy, yt, tt = spread
    # The end point moves by (p, q) per rad of heading error at the start.
    p, q = start.y - end.y, end.x - start.x
    xx, xy, yy = (
        xx + p * (2.0 * xt + p * tt),
        xy + p * yt + q * (xt + p * tt),
        yy + q * (2.0 * yt + q * tt),
    )
    xt, yt = xt + p * tt, yt + q * tt
    if variances == (0.0, 0.0):
        return Spread(xx, xy, xt, yy, yt, tt)
    pieces = int(min(1.0 + abs(arc.turn) / _PIECE, _MOST_PIECES))
    left, right = variances[0] / pieces, variances[1] / pieces
    turn = 1.0 / separation
    for piece in range(pieces):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            done = (piece + node) / pieces
            theta = start.theta + done * arc.turn
            rest = arc.share(1.0 - done).end(Pose(0.0, 0.0, theta))
            cosine, sine = 0.5 * math.cos(theta), 0.5 * math.sin(theta)
            for x, y, t, variance in (
                (cosine + turn * rest.y, sine - turn * rest.x, -turn, weight * left),
                (cosine - turn * rest.y, sine + turn * rest.x, turn, weight * right),
            ):
                xx += variance * x * x
                xy += variance * x * y
                xt += variance * x * t
                yy += variance * y * y
                yt += variance * y * t
                tt += variance * t * t
    return Spread(xx, xy, xt, yy, yt, tt)


def _checked_covariance(covariance: object) -> Array:
    """Check a given covariance and return it as a symmetric array (3, 3).

    Raises:
        ValueError: It has the wrong shape or is not finite, or it is not symmetric or not positive
            semidefinite by more than rounding.
    """
    matrix: Array = np.array(covariance, dtype=float)
    if matrix.shape != (3, 3):
        raise ValueError(f"covariance of shape {matrix.shape}: must be (3, 3), of [x, y, theta]")
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"covariance = {matrix.tolist()}: must be finite")
    rounding = 1e-9 * float(np.max(np.abs(matrix)))
    if np.max(np.abs(matrix - matrix.T)) > rounding:
        raise ValueError(f"covariance = {matrix.tolist()}: must be symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -rounding:
        raise ValueError(
            f"covariance = {matrix.tolist()}: must be positive semidefinite and has the "
            f"eigenvalue {smallest:.3g}"
        )
    return matrix


# Above this sum of variances, m^2 and rad^2, the covariance is computed at once and not deferred,
# so that an overflow is found before the reading is accepted.
LARGEST_SPREAD = 1e15
# Minimum period, s, for the jump check: stamps jitter by milliseconds, angles do not, so that a
# shorter period does not prove a high wheel speed.
SHORTEST_PERIOD = 0.01
# Largest path, m, or turn, rad, in one step; beyond it no digits are left for the pose.
LARGEST = 1e15


class DiffOdometry:
    """Pose, velocity and the covariance of both from wheel angles.

    Between two readings the robot is assumed to drive along an arc. This is exact for steps of any
    size while the ratio of the wheel speeds is constant. All pairs of wheels are ordered [left,
    right]; the pose is that of the midpoint of the axle in the odom frame. Unusable input raises
    ValueError and changes nothing; neither pose nor covariance ever contains a NaN.

    Args:
        geometry: Radii and separation of the wheels.
        path_noise: Variance of a wheel's path per path driven, m^2/m, >= 0; k above.
        max_wheel_speed: Faster changes of a wheel's angle are rejected as jumps, rad/s, > 0;
            math.inf rejects none and does not detect encoders that wrap after several turns.
        pose: Start pose (x in m, y in m, theta in rad).

    Attributes:
        pose: Pose (x in m, y in m, theta in rad, not wrapped) in the odom frame.
        velocity: Body velocity, mean over the last step; 0 before the first step.
        time: Stamp of the last reading, s; None before the first one and after a restart.
        angles: Wheel angles of the last reading [left, right], rad.
        geometry: Radii and separation of the wheels; see set_geometry.
        path_noise: Variance of a wheel's path per path driven, m^2/m; see set_path_noise.
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
        # The newest arc, if the covariance does not include it yet: its start pose, the arc, and
        # the variances of the wheels' paths.
        self._unsettled: tuple[Pose, Arc, tuple[float, float]] | None = None
        self.set_geometry(geometry)
        self.set_path_noise(path_noise)
        self.set_pose(pose)
        self.restart()

    # State.

    @property
    def covariance(self) -> Array:
        """Covariance of [x, y, theta], (3, 3), m and rad, in the odom frame; a copy."""
        self.settle()
        return self._spread.matrix()

    @property
    def velocity_covariance(self) -> Array:
        """Covariance of (v, omega), (2, 2), m/s and rad/s, over the last step."""
        left, right = self._speed_variances
        b2 = self.geometry.separation
        mixed = 0.5 * (right - left) / b2
        return np.array([[0.25 * (left + right), mixed], [mixed, (left + right) / b2**2]])

    # Settings, which may change at any time.

    def set_geometry(self, geometry: WheelGeometry) -> None:
        """Change radii and separation from the last reading on; the pose stays."""
        self.settle()
        self.geometry = geometry

    def set_path_noise(self, path_noise: float) -> None:
        """Change the path noise, m^2/m, from the last reading on."""
        if not (math.isfinite(path_noise) and path_noise >= 0.0):
            raise ValueError(f"path_noise = {path_noise} m^2/m: must be finite and >= 0")
        self.path_noise = float(path_noise)

    def set_pose(self, pose: Sequence[float], covariance: object = None) -> None:
        """Set the pose; odometry continues from there.

        Args:
            pose: (x in m, y in m, theta in rad), odom frame, finite.
            covariance: Covariance of the pose, (3, 3), symmetric positive semidefinite; None: 0,
                known exactly.
        """
        values = tuple(map(float, pose))
        if len(values) != 3 or not all(map(math.isfinite, values)):
            raise ValueError(f"pose = {values}: must be finite x, y in m and theta in rad")
        spread = KNOWN if covariance is None else Spread.of(_checked_covariance(covariance))
        self.pose, self._spread = Pose(*values), spread
        self._unsettled = None

    def restart(self) -> None:
        """Forget the last reading, as after a gap or a reset of time; the pose stays.

        The next reading is a new start: motion between the two readings is not counted.
        """
        self.time: float | None = None
        self.angles = (0.0, 0.0)
        self.velocity = REST
        self._speed_variances = (0.0, 0.0)

    # Updates.

    def settle(self) -> None:
        """Compute the pending covariance of the pose.

        Reading the covariance and the next reading do this too. It takes longer than the pose: a
        control loop may call this after it has sent its output.
        """
        if self._unsettled is not None:
            start, arc, variances = self._unsettled
            self._spread = self._propagated(start, arc, variances)
            self._unsettled = None

    def _propagated(self, start: Pose, arc: Arc, variances: tuple[float, float]) -> Spread:
        return propagate(self._spread, start, arc, variances, self.geometry.separation)

    def update(self, time: float, angles: tuple[float, float]) -> None:
        """Process a reading of both encoders; the first one only sets the starting angles.

        Args:
            time: Stamp of the reading, s, later than the last one.
            angles: Wheel angles [left, right], rad; they may wrap, see wheel_turn.

        Raises:
            EncoderJumpError: A wheel would have turned faster than max_wheel_speed.
            ValueError: An angle or the time is not finite, or the time is not later.
        """
        if not (math.isfinite(time) and all(map(math.isfinite, angles))):
            raise ValueError(
                f"wheel angles {tuple(angles)} rad at {time} s: must be finite; check the driver"
            )
        if self.time is not None:
            if time <= self.time:
                raise ValueError(
                    f"time = {time} s: must be later than {self.time} s, the last reading's; "
                    "restart after a reset of time"
                )
            period = time - self.time
            limit = self._max_wheel_speed * max(period, SHORTEST_PERIOD)
            left, right = (
                wheel_turn(name, before, after, limit)
                for name, before, after in zip(("left", "right"), self.angles, angles, strict=True)
            )
            self.advance((left, right), period)
        self.time, self.angles = time, (float(angles[0]), float(angles[1]))

    def advance(self, turns: tuple[float, float], duration: float) -> None:
        """Advance along one arc; for callers that have increments of angles instead of angles.

        Args:
            turns: Angle by which each wheel has turned [left, right], rad.
            duration: Duration of the arc, s, > 0.

        Raises:
            ValueError: An input is not finite, the duration is not > 0, or the pose would overflow.
        """
        if not (math.isfinite(duration) and duration > 0.0):
            raise ValueError(f"duration = {duration} s: must be finite and > 0")
        self.settle()
        left, right = turns
        arc = Arc(*self.geometry.body_velocity(left, right))
        if not (abs(arc.length) <= LARGEST and abs(arc.turn) <= LARGEST):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad: must be finite, and path (m) and turn (rad) "
                f"of the robot <= {LARGEST:g}"
            )
        paths = (self.geometry.left_radius * left, self.geometry.right_radius * right)
        variances = (self.path_noise * abs(paths[0]), self.path_noise * abs(paths[1]))
        pose = arc.end(self.pose)
        velocity = Velocity(arc.length / duration, arc.turn / duration)
        speed_variances = (variances[0] / duration / duration, variances[1] / duration / duration)
        unsettled = (self.pose, arc, variances)
        spread, waits = self._spread, sum(variances) + self._spread.trace < LARGEST_SPREAD
        if not waits:
            spread = self._propagated(*unsettled)
        if not all(map(math.isfinite, (*pose, *velocity, *speed_variances, *spread))):
            raise ValueError(
                f"wheels turned by {tuple(turns)} rad in {duration} s from {pose}: beyond the "
                "numbers that a computer holds; check the encoders"
            )
        self.pose, self._spread = pose, spread
        self._unsettled = unsettled if waits else None
        self.velocity, self._speed_variances = velocity, speed_variances


# Default of the longest time between two stamps that is not reported as a gap, s.
LONGEST_GAP = 0.5
# Encoders are taken as restarted when, after a gap, both wheel angles are this close to 0, rad, and
# one of them was not before. The motion of a robot that has rolled back so exactly would be lost.
NEAR_ZERO = 0.05


class AnomalyKind(str, Enum):
    """Kinds of anomalies in the stamp or the values of a sample."""

    JUMP = "jump"
    GAP = "gap"
    STAMP = "stamp"
    LATE = "late"
    RESET = "reset"
    RESTART = "restart"


class Anomaly(NamedTuple):
    """Anomaly of a sample that was not rejected with an error.

    Attributes:
        kind: Kind of the anomaly.
        text: A sentence with the values, the limit, the reaction, and what to check.
    """

    kind: AnomalyKind
    text: str


class JointOdometry:
    """Feeds joint samples to a DiffOdometry and reports their anomalies.

    Args:
        odometry: Odometry to feed; read pose and velocity there.
        longest_gap: Longer times between two samples are reported, s, > 0.
        reset_on_time_jump: Whether the pose returns to its present value, with no uncertainty, when
            time is reset; otherwise it stays as it is.
    """

    def __init__(
        self,
        odometry: DiffOdometry,
        longest_gap: float = LONGEST_GAP,
        reset_on_time_jump: bool = False,
    ) -> None:
        if not longest_gap > 0.0:
            raise ValueError(f"longest_gap = {longest_gap} s: must be > 0")
        self.odometry = odometry
        self._longest_gap = longest_gap
        self._home = odometry.pose if reset_on_time_jump else None
        self._late = False

    def update(self, sample: JointSample) -> Anomaly | None:
        """Process a sample; return its anomaly, or None for a regular sample.

        - After an encoder jump or a reset of time, odometry starts again from the sample; the pose
          stays, unless reset_on_time_jump returns it to its start.
        - One sample with an earlier stamp than its predecessor is late and is skipped, as its
          motion is part of the predecessor's already. A second one in a row shows that time was
          reset.
        - A sample with the same stamp again is skipped.
        - A gap is bridged by one arc, except where both angles start at 0 again after it: then the
          driver was restarted, odometry starts again from the sample, and the pose stays.

        Raises:
            ValueError: Angles or stamp are not finite; nothing has changed then.
        """
        last = self.odometry.time
        if last is None:
            self._feed(sample)
            return None
        if sample.stamp == last:
            return self._same_stamp(sample)
        if sample.stamp < last:
            return self._earlier(sample, last)
        self._late = False
        if sample.stamp - last > self._longest_gap and self._encoders_restarted(sample):
            before = tuple(round(angle, 3) for angle in self.odometry.angles)
            self._restart_at(sample)
            return Anomaly(
                AnomalyKind.RESTART,
                f"the wheels' angles begin at 0 again, after {before} rad and "
                f"{sample.stamp - last:.3f} s without a joint state: the robot's driver was "
                "restarted; the pose is kept, any motion in between is lost",
            )
        try:
            self._feed(sample)
        except EncoderJumpError as error:
            self._restart_at(sample)
            text = f"{error}; the pose is kept and continues from the new angles"
            return Anomaly(AnomalyKind.JUMP, text)
        if sample.stamp - last > self._longest_gap:
            return Anomaly(
                AnomalyKind.GAP,
                f"no joint state for {sample.stamp - last:.3f} s, limit {self._longest_gap:g} s: "
                "the motion in between is integrated as one arc; check the driver",
            )
        return None

    def _encoders_restarted(self, sample: JointSample) -> bool:
        """Return whether both angles are near 0 and one of the last ones was not; NaN is not."""
        near = all(abs(angle) <= NEAR_ZERO for angle in sample.position)
        return near and any(abs(angle) > 2.0 * NEAR_ZERO for angle in self.odometry.angles)

    def _feed(self, sample: JointSample) -> None:
        self.odometry.update(sample.stamp, sample.position)

    def _restart_at(self, sample: JointSample) -> None:
        self.odometry.restart()
        self._feed(sample)

    def _same_stamp(self, sample: JointSample) -> Anomaly | None:
        if sample.position == self.odometry.angles:
            return None  # a repeated sample, as simulators send while they wait
        return Anomaly(
            AnomalyKind.STAMP,
            f"joint state with other angles and the same stamp {sample.stamp:.3f} s ignored: "
            "every joint state must have its own stamp; check the driver",
        )

    def _earlier(self, sample: JointSample, last: float) -> Anomaly | None:
        went = f"stamp {sample.stamp:.3f} s after {last:.3f} s"
        if not self._late:
            self._late = True
            return Anomaly(AnomalyKind.LATE, f"{went}: late joint state ignored")
        self._late = False
        self._restart_at(sample)
        if self._home is None:
            done = "the pose is kept and continues from the new angles"
        else:
            self.odometry.set_pose(self._home)
            done = f"the pose is back at {tuple(self._home)} (m, m, rad)"
        return Anomaly(AnomalyKind.RESET, f"{went}: time was reset; {done}")
