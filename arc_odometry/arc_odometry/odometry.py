# SPDX-License-Identifier: Apache-2.0
"""Odometry of a differential-drive robot: wheels and body, arcs in the plane, pose and covariance.

With wheel radius r (m), half track b (m) and wheel speeds w (rad/s), rolling without slip gives

    v     = (r_l w_l + r_r w_r) / 2            m/s,   forward
    omega = (r_r w_r - r_l w_l) / (2 b)        rad/s, counter-clockwise

and, by virtual work (tau . w = F v + M omega), the wheel torques act on the body as

    F = tau_l / r_l + tau_r / r_r              N
    M = b (tau_r / r_r - tau_l / r_l)          N m

Lages (2017), (36)-(41), uses the body velocity u = [v, omega] and torques ordered [left, right].

Arcs are those of (35)-(38), Lages (2018). Over a piece ds of each wheel's path the variance of its
length grows by k |ds|, k in m^2/m, independently of the other wheel's; systematic errors are not
part of this. Derivations: docs/theory/odometry.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
N = TypeVar("N", float, Array)

# Below this x, the first term that the series of sinc omits, x^6 / 7!, is under 4e-18.
SINC_SWITCH = 5e-3
# Below this x, the first term that the series of the derivative omits is 1e-17 of its value.
DERIVATIVE_SWITCH = 0.5
# sinc'(x) = x * sum_n c_n x^(2 n), c_n = (-1)^(n+1) (2 n + 2) / (2 n + 3)!, highest power first.
_DERIVATIVE = tuple((-1) ** (n + 1) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(7))[
    ::-1
]


def sinc(x: float) -> float:
    """Return sin(x) / x, which is 1 at x = 0; x in rad. Relative error <= 3e-16.

    Example:
        >>> sinc(0.0), round(sinc(math.pi / 2.0), 4)
        (1.0, 0.6366)
    """
    return _sinc_series(x) if abs(x) < SINC_SWITCH else math.sin(x) / x


def sinc_derivative(x: float) -> float:
    """Return the derivative of sin(x) / x, which is 0 at x = 0, in 1/rad; x in rad.

    The error is <= 2e-15 of min(|x|, 1), the size of the function's terms.

    Example:
        >>> sinc_derivative(math.pi) == -1.0 / math.pi
        True
    """
    if abs(x) < DERIVATIVE_SWITCH:
        return _derivative_series(x)
    return (math.cos(x) - math.sin(x) / x) / x


def _sinc_series(x: N) -> N:
    square = x * x
    return 1.0 - square / 6.0 * (1.0 - square / 20.0)


def _derivative_series(x: N) -> N:
    square = x * x
    total = 0.0 * square
    for coefficient in _DERIVATIVE:
        total = total * square + coefficient
    return x * total


def sincs(x: Array) -> Array:
    """Return sinc of each of many angles."""
    near = np.abs(x) < SINC_SWITCH
    return np.where(near, _sinc_series(x), np.sin(x) / np.where(near, 1.0, x))


def sinc_derivatives(x: Array) -> Array:
    """Return sinc_derivative of each of many angles."""
    near = np.abs(x) < DERIVATIVE_SWITCH
    series = _derivative_series(x)
    if near.all():
        return series
    divisor = np.where(near, 1.0, x)
    return np.where(near, series, (np.cos(x) - np.sin(x) / divisor) / divisor)


class Pose(NamedTuple):
    """Pose of the midpoint of the axle in the odom frame.

    Attributes:
        x: Position, m.
        y: Position, m.
        theta: Heading, rad, counter-clockwise from the x axis; not wrapped, it counts whole turns.
    """

    x: float
    y: float
    theta: float


class Velocity(NamedTuple):
    """Body velocity u = [v, omega]; also used for its rate of change and similar pairs.

    Attributes:
        v: Forward velocity along the robot's own x axis, m/s; for an acceleration m/s^2.
        omega: Yaw rate, rad/s, counter-clockwise; for an acceleration rad/s^2.
    """

    v: float
    omega: float


REST = Velocity(0.0, 0.0)


class Arc(NamedTuple):
    """A circular arc, which may be a straight line (turn = 0) or a turn on the spot (length = 0).

    A wheeled robot drives along an arc while the ratio of its wheel speeds is constant.

    Attributes:
        length: Path of the midpoint of the axle, m, positive forwards; Delta D in (38).
        turn: Change of the heading, rad, counter-clockwise; Delta theta in (38).

    Example:
        >>> end = Arc(math.pi, math.pi).end(Pose(0.0, 0.0, 0.0))  # half a circle of radius 1 m
        >>> round(end.x, 9), round(end.y, 9)
        (0.0, 2.0)
    """

    length: float
    turn: float

    def end(self, start: Pose) -> Pose:
        """Return the exact pose at the end of the arc.

        Lages (2018), (35)-(37): the chord has the length D sin(a / 2) / (a / 2) and the direction
        theta + a / 2, with a the turn and theta the heading at the **start** of the interval
        (the paper's index k leaves this open). sinc is defined at a = 0, where (37) is 0 / 0.
        """
        chord = self.length * sinc(0.5 * self.turn)
        direction = start.theta + 0.5 * self.turn
        return Pose(
            start.x + chord * math.cos(direction),
            start.y + chord * math.sin(direction),
            start.theta + self.turn,
        )

    def fraction(self, fraction: float) -> Arc:
        """Return the first part of the arc, `fraction` (0 to 1) of its length."""
        return Arc(fraction * self.length, fraction * self.turn)


def arc_ends(poses: Array, length: Array, turn: Array) -> Array:
    """Return the end poses of the arcs of n robots, as Arc.end does for one; shape (3, n).

    Args:
        poses: Start poses; rows x, y, theta, m and rad, shape (3, n).
        length: Arc lengths, m, shape (n,).
        turn: Turns, rad, shape (n,).
    """
    x, y, theta = poses
    half = 0.5 * turn
    chord, direction = length * sincs(half), theta + half
    return np.stack((x + chord * np.cos(direction), y + chord * np.sin(direction), theta + turn))


@dataclass(frozen=True)
class WheelGeometry:
    """Wheel radii and track of a differential-drive robot.

    Pairs are ordered [left, right] for wheels and [linear, angular] for the body. The velocity maps
    also apply to increments: wheel angle increments (rad) give path length (m) and turn (rad).

    Attributes:
        left_radius: Radius of the left wheel, m, > 0.
        right_radius: Radius of the right wheel, m, > 0.
        separation: Track, the distance between the wheels' contact points, 2 b, m, > 0.

    Raises:
        ValueError: A length is not finite or not positive.

    Example:
        >>> geometry = WheelGeometry(0.125, 0.125, 0.5)
        >>> geometry.body_velocity(2.0, 6.0)
        (0.5, 1.0)
        >>> geometry.wheel_torque(force=16.0, moment=0.0)
        (1.0, 1.0)
    """

    left_radius: float
    right_radius: float
    separation: float

    def __post_init__(self) -> None:
        for name in ("left_radius", "right_radius", "separation"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value} m: must be finite and > 0; measure it in m")

    @property
    def half_track(self) -> float:
        """Half of the track, b, m."""
        return 0.5 * self.separation

    def body_velocity(self, left: float, right: float) -> tuple[float, float]:
        """Return the body velocity (v in m/s, omega in rad/s) for wheel speeds in rad/s."""
        left_rim = self.left_radius * left
        right_rim = self.right_radius * right
        return 0.5 * (left_rim + right_rim), (right_rim - left_rim) / self.separation

    def wheel_velocity(self, linear: float, angular: float) -> tuple[float, float]:
        """Return the wheel speeds (left, right) in rad/s; the inverse of body_velocity."""
        turn = self.half_track * angular
        return (linear - turn) / self.left_radius, (linear + turn) / self.right_radius

    def body_wrench(self, left: float, right: float) -> tuple[float, float]:
        """Return force (N, forward) and yaw moment (N m) on the body for wheel torques in N m."""
        left_force = left / self.left_radius
        right_force = right / self.right_radius
        return left_force + right_force, self.half_track * (right_force - left_force)

    def wheel_torque(self, force: float, moment: float) -> tuple[float, float]:
        """Return the wheel torques (left, right) in N m; the inverse of body_wrench."""
        half_difference = 0.5 * moment / self.half_track
        return (
            self.left_radius * (0.5 * force - half_difference),
            self.right_radius * (0.5 * force + half_difference),
        )


# Largest plausible wheel speed, rad/s; a faster change of the angle is an encoder jump.
MAX_WHEEL_SPEED = 100.0


class EncoderJumpError(ValueError):
    """A wheel's angle changed faster than the wheel can turn."""


def wheel_turn(name: str, before: float, after: float, limit: float) -> float:
    """Return the angle by which a wheel has turned between two readings, rad.

    A reading beyond one turn shows that the encoder counts turns: the difference is used as it is,
    over any gap, as long as it is within the limit. Every other difference of more than half a
    turn is taken for a wrap: whole turns are added or removed until at most half a turn is left.
    So encoders may wrap at any whole number of turns, given a reading every half turn. For those
    that wrap after several turns the limit must be below 3 pi rad, that is a reading every 90 ms at
    100 rad/s. An encoder that is set to 0 while it runs can look like one that wraps; the error is
    then half a turn at most.

    Args:
        name: Name of the wheel, for the message.
        before: Earlier reading, rad.
        after: Later reading, rad.
        limit: Largest angle by which the wheel can have turned, rad.

    Raises:
        EncoderJumpError: The wheel would have turned by more than the limit.
        ValueError: A reading is not finite.
    """
    change = after - before
    # The usual case. Written so that NaN does not pass.
    if -math.pi <= change <= math.pi and -limit <= change <= limit:
        return change
    if not math.isfinite(change):
        raise ValueError(
            f"angle of the {name} wheel = {after} rad after {before} rad: must be finite; check "
            "the encoder's driver"
        )
    counts_turns = max(abs(before), abs(after)) > math.tau
    if abs(change) > (limit if counts_turns else math.pi):
        change = math.remainder(change, math.tau)
    if abs(change) > limit:
        raise EncoderJumpError(
            f"angle of the {name} wheel jumped from {before:g} to {after:g} rad: must change by "
            f"<= {limit:.3g} rad in this time; check the encoder or raise max_wheel_speed"
        )
    return change


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
            rest = arc.fraction(1.0 - done).end(Pose(0.0, 0.0, theta))
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

    Example:
        >>> odometry = DiffOdometry(WheelGeometry(0.1, 0.1, 0.5), path_noise=1e-4)
        >>> odometry.update(0.0, (0.0, 0.0))
        >>> odometry.update(0.1, (2.0, 2.0))
        >>> odometry.pose
        Pose(x=0.2, y=0.0, theta=0.0)
        >>> odometry.velocity
        Velocity(v=2.0, omega=0.0)
        >>> float(odometry.covariance[0, 0])  # m^2
        1e-05
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
