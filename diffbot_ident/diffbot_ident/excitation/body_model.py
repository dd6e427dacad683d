"""Prediction of a robot's motion under wheel torques, for many robots and torques at once.

Lages (2017), (41), less friction of the wheels:

    dv/dt     = K5 omega^2 + K7 (T_left + T_right)
    domega/dt = K6 v omega + K8 (T_left - T_right)
    T = tau - viscous w - coulomb sign(w)

Made to choose torques by, not to simulate: explicit Euler steps for the velocities, trapezoids for
the pose, and the sign softened near standstill so that a wheel may come to rest between two steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Integration steps under constant torque and while braking, s. Braking is followed for longer.
STEP = 0.025
BRAKE_STEP = 0.04
# Share of a wheel's speed that braking takes away in one step near standstill; above 1 it swings.
DECAY = 0.5
# Steps between two looks whether everything stands still.
LOOK = 4
# Longest braking that is followed, s. What is not at rest by then has rolled to a crawl.
LONGEST_BRAKING = 3.0


@dataclass(frozen=True)
class BodyPrior:
    """What is believed of a robot before, or while, it is identified.

    Attributes:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        spread: how far each may be off, as a share of its value, 0 to 0.9.
        viscous: friction of the wheels [left, right], N m s/rad.
        coulomb: friction of the wheels [left, right], N m.

    Raises:
        ValueError: a value is not finite, has the wrong sign or is outside its range.
    """

    values: tuple[float, float, float, float]
    spread: tuple[float, float, float, float] = (0.3, 0.3, 0.3, 0.3)
    viscous: tuple[float, float] = (0.0, 0.0)
    coulomb: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.values)):
            raise ValueError(f"prior K5..K8 = {self.values}: must be finite; give an estimate")
        if not (self.values[2] > 0.0 > self.values[3]):
            raise ValueError(
                f"prior K7, K8 = {self.values[2:]}: must have K7 > 0 and K8 < 0; check the masses "
                "and inertias of the robot's YAML"
            )
        if not all(0.0 <= spread <= 0.9 for spread in self.spread):
            raise ValueError(f"prior spread = {self.spread}: each must be from 0 to 0.9; try 0.3")
        for name in ("viscous", "coulomb"):
            pair = getattr(self, name)
            if not all(math.isfinite(value) and value >= 0.0 for value in pair):
                raise ValueError(f"prior {name} friction = {pair}: must be finite and >= 0")


@dataclass(frozen=True)
class Paths:
    """Predicted motions of n robots at m instants, the first being the beginning.

    Attributes:
        pose: x, y in m and theta in rad, shape (3, m, n).
        velocity: v in m/s and omega in rad/s, shape (2, m, n).
    """

    pose: Array
    velocity: Array


class BodyModel:
    """Predicts motions of n robots that may differ in K5..K8.

    Args:
        radius: of the wheels, m.
        half_track: b, m.
        values: K5..K8 of each robot, shape (4, n) or (4, 1) for all.
        viscous: friction [left, right] of all, N m s/rad.
        coulomb: friction [left, right] of all, N m.
    """

    def __init__(
        self,
        radius: float,
        half_track: float,
        values: Array,
        viscous: Sequence[float] = (0.0, 0.0),
        coulomb: Sequence[float] = (0.0, 0.0),
    ) -> None:
        k5, k6, k7, k8 = np.asarray(values, dtype=float)
        self._to_wheels = np.array([[1.0, -half_track], [1.0, half_track]]) / radius
        self._curving = np.array([k5, k6])
        self._pushing = np.array([k7, k8])
        self._viscous = np.asarray(viscous, dtype=float)[:, None]
        self._coulomb = np.asarray(coulomb, dtype=float)[:, None]
        self._rubs = bool(self._viscous.any() or self._coulomb.any())
        # Fastest reaction of wheel speeds to wheel torques, rad/s^2 per N m, over all robots.
        self._mobility = float(max(2.0 * np.max(k7), -2.0 * half_track * np.min(k8)) / radius)

    def wheel_speeds(self, velocity: Array) -> Array:
        """Wheel speeds [left, right], rad/s, from [v, omega]; both of shape (2, ...)."""
        return np.tensordot(self._to_wheels, velocity, axes=1)

    def held(self, pose: Array, velocity: Array, torque: Array, duration: float) -> Paths:
        """Motions under constant wheel torques.

        Args:
            pose: at the beginning, shape (3, n).
            velocity: at the beginning, shape (2, n).
            torque: [left, right], N m, shape (2, n).
            duration: s, > 0.
        """
        count = max(1, math.ceil(duration / STEP - 1e-9))
        step = duration / count
        velocities = np.empty((2, count + 1, velocity.shape[1]))
        velocities[:, 0] = velocity
        for i in range(count):
            velocity = velocity + step * self._acceleration(velocity, torque)
            velocities[:, i + 1] = velocity
        return _paths(pose, velocities, step)

    def braked(self, pose: Array, velocity: Array, effort: float) -> Paths:
        """Motions to standstill, each wheel braked with up to `effort`, N m; see brake_torque."""
        count = round(LONGEST_BRAKING / BRAKE_STEP)
        velocities = np.empty((2, count + 1, velocity.shape[1]))
        velocities[:, 0] = velocity
        gain = effort / self.brake_speed(effort)
        slow = 0.1 * self.brake_speed(effort)
        for i in range(count):
            torque = self._to_wheels @ velocity
            torque *= -gain
            np.minimum(np.maximum(torque, -effort, out=torque), effort, out=torque)
            velocity = velocity + BRAKE_STEP * self._acceleration(velocity, torque)
            velocities[:, i + 1] = velocity
            if i % LOOK == LOOK - 1 and np.abs(self._to_wheels @ velocity).max() < slow:
                count = i + 1
                break
        return _paths(pose, velocities[:, : count + 1], BRAKE_STEP)

    def brake_speed(self, effort: float) -> float:
        """Wheel speed, rad/s, below which braking with `effort`, N m, eases off in proportion."""
        return effort * self._mobility * BRAKE_STEP / DECAY

    def _acceleration(self, velocity: Array, torque: Array) -> Array:
        """[dv/dt, domega/dt], shape (2, n)."""
        if self._rubs:
            torque = torque - self._friction(velocity)
        net = np.empty_like(velocity)
        np.add(torque[0], torque[1], out=net[0])
        np.subtract(torque[0], torque[1], out=net[1])
        net *= self._pushing
        net += self._curving * (velocity[::-1] * velocity[1])
        return net

    def _friction(self, velocity: Array) -> Array:
        speeds = self._to_wheels @ velocity
        slow = np.maximum(self._coulomb * (self._mobility * BRAKE_STEP / DECAY), 1e-9)
        signs = np.minimum(np.maximum(speeds / slow, -1.0), 1.0)
        return self._viscous * speeds + self._coulomb * signs


def brake_torque(speeds: tuple[float, float], effort: float, ease: float) -> tuple[float, float]:
    """Torques [left, right], N m, that slow both wheels down.

    They oppose each wheel's speed, so they take energy from the robot whatever its parameters.

    Args:
        speeds: of the wheels [left, right], rad/s.
        effort: largest torque, N m.
        ease: speed below which the torque eases off in proportion, rad/s; BodyModel.brake_speed.
    """
    left, right = (-effort * max(-1.0, min(1.0, speed / ease)) for speed in speeds)
    return left, right


def _paths(pose: Array, velocities: Array, step: float) -> Paths:
    """Poses along velocities of shape (2, m, n), by the mean velocity of each step."""
    mean = 0.5 * step * (velocities[:, 1:] + velocities[:, :-1])
    poses = np.empty((3, *velocities.shape[1:]))
    poses[:, 0] = pose
    np.cumsum(mean[1], axis=0, out=poses[2, 1:])
    poses[2, 1:] += pose[2]
    heading = 0.5 * (poses[2, 1:] + poses[2, :-1])
    for row, direction in ((0, np.cos), (1, np.sin)):
        np.cumsum(mean[0] * direction(heading), axis=0, out=poses[row, 1:])
        poses[row, 1:] += pose[row]
    return Paths(poses, velocities)


# ---
# How much is known about parameters, and how much an experiment adds, in bits.
#
# Information is the inverse of a covariance. With the information matrices before and after an
# experiment, J0 and J1, a Gaussian estimate of n parameters gains
#
#     joint bits        (1/2) log2(det J1 / det J0)               (D-optimality)
#     sum of bits       sum_i (1/2) log2(var0_i / var1_i)
#
# One bit halves the standard deviation of one parameter. Both grow with every measurement. The sum
# counts each parameter by its own variance; the joint bits also count that errors of two parameters
# that go together cancel. Sujan and Dubowsky (2002) choose motions by the mutual information
# between measurement and parameter, but their (16) takes r^2 = 1 - rho + rho^2 for its correlation,
# which is smallest at rho = 1/2 and so prefers measurements that say little. Both measures here
# replace it.
#
# Every function takes matrices of shape (..., n, n) and works on all leading axes at once. Scale
# the parameters to similar sizes, for example by their prior deviations, where units differ much.

Matrices = NDArray[np.float64]


def marginal_information(information: Matrices, of: Sequence[int]) -> Matrices:
    """Information about some parameters while all others are unknown, too (Schur complement).

    Args:
        information: of all n parameters, shape (..., n, n).
        of: indices of the m parameters of interest; the rest are a nuisance.

    Returns:
        Shape (..., m, m), the inverse of these parameters' block of the covariance.

    Raises:
        ValueError: an index is not 0 to n - 1, or given twice.
    """
    size = information.shape[-1]
    wanted = list(of)
    if len(set(wanted)) != len(wanted) or not all(0 <= i < size for i in wanted):
        raise ValueError(f"of = {wanted}: must be different indices from 0 to {size - 1}")
    rest = [i for i in range(size) if i not in wanted]
    own = information[..., wanted, :][..., wanted]
    if not rest:
        return own
    mixed = information[..., rest, :][..., wanted]
    others = information[..., rest, :][..., rest]
    return own - np.swapaxes(mixed, -1, -2) @ np.linalg.solve(others, mixed)


def log2_determinant(information: Matrices) -> NDArray[np.float64]:
    """log2 det of symmetric positive definite matrices, shape (...)."""
    _, natural = np.linalg.slogdet(information)
    return natural / np.log(2.0)


def joint_bits(
    before: Matrices, after: Matrices, of: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Bits gained about parameters together, shape (...); D-optimality.

    Args:
        before: information before, shape (..., n, n), positive definite.
        after: information afterwards, the same shape.
        of: indices of the parameters that count, the others being a nuisance; None for all.
    """
    if of is None:
        return 0.5 * (log2_determinant(after) - log2_determinant(before))
    # det of a Schur complement = det of the whole / det of the rest.
    rest = [i for i in range(before.shape[-1]) if i not in set(of)]
    gained = joint_bits(before, after)
    if rest:
        gained = gained - joint_bits(
            before[..., rest, :][..., rest], after[..., rest, :][..., rest]
        )
    return gained


def bits_each(before: Matrices, after: Matrices) -> NDArray[np.float64]:
    """Bits gained about every single parameter, all others unknown, shape (..., n)."""
    variances = [
        np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
        for information in (before, after)
    ]
    return 0.5 * np.log2(variances[0] / variances[1])


def sum_of_bits(
    before: Matrices, after: Matrices, of: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Sum of `bits_each` over the parameters `of` (None: all), shape (...)."""
    each = bits_each(before, after)
    return each.sum(axis=-1) if of is None else each[..., list(of)].sum(axis=-1)


# ---
# What an excitation sees of the robot.


@dataclass(frozen=True)
class Motion:
    """The robot's motion as measured at one control instant.

    Attributes:
        pose: of the axle's midpoint by odometry, (x in m, y in m, theta in rad), in the arena's
            frame: its origin is the arena's centre, and the robot starts at (0, 0, 0).
        velocity: of the body over the last control period, (v in m/s, omega in rad/s).
        wheel_speeds: over the last control period, (left, right), rad/s.
    """

    pose: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float] = (0.0, 0.0)
    wheel_speeds: tuple[float, float] = (0.0, 0.0)


# ---
# Information about K5..K8 in a robot's motion, friction of the wheels being unknown as well.
#
# Over windows of time the model (41) of Lages (2017) with friction is linear in its parameters:
#
#     v_1 - v_0         = [int omega^2,  int(tau_l + tau_r)] [K5, K7]  + int[v, omega, s_l, s_r] f
#     omega_1 - omega_0 = [int v omega,  int(tau_l - tau_r)] [K6, K8]  + int[v, omega, s_l, s_r] g
#
# s are the signs of the wheels' speeds. The noise is that of the two velocities, which come from
# differences of encoder angles, and that of the torques, which act a little differently than they
# are reported. Parameters are counted in units of what is known of them beforehand,
# so the information beforehand is the unit matrix.


# The first two parameters of either equation are K's, the other four friction.
OF_INTEREST = (0, 1)
SIZE = 6
# Deviation of the wheels' friction beforehand, as a share of the excitation's torque.
FRICTION_SHARE = 0.1
# Deviation of a period's torque from what is reported, as a share of it.
TORQUE_ERROR = 0.03
# Encoder counts a revolution that perfect encoders are taken for: other errors remain.
PERFECT_COUNTS = 50_000


class BodyInformation:
    """Information about [K5, K7] and about [K6, K8], and bits gained since the beginning.

    Args:
        prior: K5..K8 and how far they may be off; half of that is taken for a deviation.
        radius: of the wheels, m.
        half_track: b, m.
        amplitude: of the excitation, N m.
        speed: typical wheel speed, rad/s.
        counts: of the encoders, per revolution; 0 for perfect ones.
        period: control period, over which velocities are measured, s.
        window: length of a window, s.
    """

    def __init__(
        self,
        prior: BodyPrior,
        radius: float,
        half_track: float,
        amplitude: float,
        speed: float,
        counts: int,
        period: float,
        window: float,
    ) -> None:
        k5, k6, k7, k8 = (
            max(0.5 * spread, 0.005) * abs(value)
            for value, spread in zip(prior.values, prior.spread, strict=True)
        )
        coulomb = FRICTION_SHARE * amplitude
        rub = coulomb / (radius * speed)
        rows = []
        for own, torque, size in ((k5, k7, prior.values[2]), (k6, k8, -prior.values[3])):
            friction = [rub, rub * half_track, coulomb, coulomb]
            rows.append([own, torque, *(size * entry for entry in friction)])
        # An angle read in whole counts has a deviation of 1 / sqrt(12) counts; a velocity is the
        # difference of two, and a window has the difference of two velocities.
        wheel = 2.0 * (math.tau / (counts or PERFECT_COUNTS)) / math.sqrt(12.0) / period
        noise = np.array([radius / math.sqrt(2.0), radius / (math.sqrt(2.0) * half_track)]) * wheel
        self._scale = np.array(rows) / noise[:, None]
        # Variance that (N m s)^2 of summed torque add to a window's, relative to that of the noise.
        gains = np.array([prior.values[2], -prior.values[3]])
        self._torque_error = (TORQUE_ERROR * gains / noise) ** 2 * period / window
        self._start = np.stack([np.eye(SIZE)] * 2)
        self.information = self._start.copy()

    @property
    def bits(self) -> float:
        """Joint bits gained about K5..K8 since the beginning."""
        return float(joint_bits(self._start, self.information, OF_INTEREST).sum())

    def add(self, windows: Array) -> None:
        """Take in the regressors of k windows, shape (k, 2, 6); see `regressors`."""
        self.information = self.information + self._of(windows)

    def gain(self, windows: Array) -> Array:
        """Joint bits about K5..K8 that k windows would add, shape (k, n, 2, 6) -> (n,)."""
        after = self.information + self._of(windows)
        return joint_bits(self.information, after, OF_INTEREST).sum(axis=-1)

    def _of(self, windows: Array) -> Array:
        """Information in windows, summed over the first axis: (k, ..., 2, 6) -> (..., 2, 6, 6)."""
        rows = windows * self._scale
        # Left and right squared, from their sum and difference.
        squares = 0.5 * (windows[..., 0, 1] ** 2 + windows[..., 1, 1] ** 2)
        rows = rows / np.sqrt(1.0 + squares[..., None] * self._torque_error)[..., None]
        return np.einsum("k...i,k...j->...ij", rows, rows)


def regressors(velocity: Array, wheel_speeds: Array, torque: Array) -> Array:
    """Rows of both equations: [omega^2 or v omega, torque, v, omega, sign w_l, sign w_r].

    Args:
        velocity: [v, omega], shape (2, ...), m/s and rad/s.
        wheel_speeds: [left, right], shape (2, ...), rad/s.
        torque: [left, right], shape (2, ...), N m.

    Returns:
        Shape (..., 2, 6), for dv/dt and domega/dt.
    """
    v, omega = velocity
    left, right = torque
    friction = [v, omega, *np.sign(wheel_speeds)]
    return np.stack(
        [
            np.stack([omega * omega, left + right, *friction], axis=-1),
            np.stack([v * omega, left - right, *friction], axis=-1),
        ],
        axis=-2,
    )


def predicted_window(model: BodyModel, paths: Paths, torque: Array, duration: float) -> Array:
    """Regressors of predicted motions, integrated over their time, shape (n, 2, 6).

    Args:
        model: that predicted them.
        paths: n motions under constant torques.
        torque: shape (2, n), N m.
        duration: of the paths, s.
    """
    middle = 0.5 * (paths.velocity[:, 1:] + paths.velocity[:, :-1])
    torques = np.broadcast_to(torque[:, None, :], middle.shape)
    return duration * regressors(middle, model.wheel_speeds(middle), torques).mean(axis=0)


class InformationRecorder:
    """Adds up the information in the motion that was measured.

    Args:
        information: what it is added to.
        window: control periods of one window.
        period: control period, s.
    """

    def __init__(self, information: BodyInformation, window: int, period: float) -> None:
        self._information = information
        self._window = window
        self._period = period
        self._sum = np.zeros((2, SIZE))
        self._count = 0

    def add(self, motion: Motion, torque: tuple[float, float]) -> None:
        """Take in the motion over the control period that has ended and its torques, N m."""
        row = regressors(np.array(motion.velocity), np.array(motion.wheel_speeds), np.array(torque))
        self._sum += self._period * row
        self._count += 1
        if self._count == self._window:
            self._information.add(self._sum[None])
            self._sum = np.zeros((2, SIZE))
            self._count = 0
