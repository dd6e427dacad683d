# SPDX-License-Identifier: Apache-2.0
"""A rigid body on six springs and dampers, shaken by its own arm: (1), (4) and sensors.

Equations, axes and readings of the paper: docs/theory/compliant_base.md#model.

    m      mass, kg
    I      inertia about the centre of gravity, kg m^2: the tensor's elements xx yy zz yz zx xy
    c      from the centre of gravity to the base of the arm, m
    b, k   damping, stiffness, [x y z] in N s/m and N/m, [pitch roll yaw] in N m s/rad and N m/rad
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry.number_range import Array as Array

NAMES = (
    "mass",
    "inertia xx", "inertia yy", "inertia zz", "inertia yz", "inertia zx", "inertia xy",
    "c.g. x", "c.g. y", "c.g. z",
    "damping x", "damping y", "damping z", "damping pitch", "damping roll", "damping yaw",
    "stiffness x", "stiffness y", "stiffness z",
    "stiffness pitch", "stiffness roll", "stiffness yaw",
)  # fmt: skip
UNITS = (
    "kg",
    *("kg m²",) * 6,
    *("m",) * 3,
    *("N s/m",) * 3,
    *("N m s/rad",) * 3,
    *("N/m",) * 3,
    *("N m/rad",) * 3,
)
SIZE = len(NAMES)
# Positions of the groups in the vector.
MASS = 0
INERTIA, PRODUCTS = slice(1, 7), slice(4, 7)
ARM_BASE = slice(7, 10)
DAMPING, STIFFNESS = slice(10, 16), slice(16, 22)


@dataclass(frozen=True)
class BaseParameters:
    """Parameters by group.

    Attributes:
        mass: kg, > 0.
        inertia: About the centre of gravity, kg m^2, shape (3, 3), positive definite.
        arm_base: From the centre of gravity to the arm's base, m, shape (3,).
        damping: Of [x y z pitch roll yaw], N s/m and N m s/rad, shape (6,).
        stiffness: Of the same, N/m and N m/rad, shape (6,).
    """

    mass: float
    inertia: Array
    arm_base: Array
    damping: Array
    stiffness: Array

    def as_array(self) -> Array:
        """Return the vector, shape (22,), in the order of NAMES."""
        i = self.inertia
        own = [self.mass, i[0, 0], i[1, 1], i[2, 2], i[1, 2], i[2, 0], i[0, 1]]
        return np.concatenate((own, self.arm_base, self.damping, self.stiffness))

    @classmethod
    def from_array(cls, values: ArrayLike) -> BaseParameters:
        """Convert from the vector (22,) of finite values, else ValueError."""
        x = np.asarray(values, dtype=float)
        if x.shape != (SIZE,):
            raise ValueError(f"values have shape {x.shape}: must be ({SIZE},), see NAMES")
        if not np.isfinite(x).all():
            name = NAMES[int(np.flatnonzero(~np.isfinite(x))[0])]
            raise ValueError(f"{name} is not finite: give a number")
        xx, yy, zz, yz, zx, xy = x[INERTIA]
        inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        return cls(float(x[MASS]), inertia, x[ARM_BASE], x[DAMPING], x[STIFFNESS])

    def check_physical(self) -> None:
        """Raise ValueError unless mass, inertia, damping and stiffness are positive (definite)."""
        if not self.mass > 0.0:
            raise ValueError(f"mass = {self.mass} kg: must be > 0")
        least = float(np.linalg.eigvalsh(self.inertia)[0])
        if not least > 0.0:
            raise ValueError(f"least principal inertia = {least} kg m^2: must be > 0")
        for name, group in (("damping", self.damping), ("stiffness", self.stiffness)):
            if not (group > 0.0).all():
                raise ValueError(f"{name} = {group.tolist()}: all six must be > 0")


# True values of the paper's Table 1.
TABLE_1 = np.array(
    [3.0, 0.15, 0.10, 0.20, 0.0, 0.03, 0.0, 0.01, 0.3, 0.1]
    + [100.0, 100.0, 300.0, 200.0, 300.0, 400.0]
    + [1000.0, 1000.0, 500.0, 2000.0, 2500.0, 3000.0]
)


def mean_error(estimate: Array, truth: Array) -> Array:
    """Return the mean relative error of estimates (..., 22), %, where the truth is not 0, (...)."""
    counts = truth != 0.0
    errors = np.abs(estimate[..., counts] - truth[counts]) / np.abs(truth[counts])
    return np.asarray(100.0 * errors.mean(axis=-1))


# Arm.

MODES = 3
GRAVITY = np.array([0.0, 0.0, -9.81])
# Per mode: axis of rotation, direction of the arm at f = 0, and at f = 90 degrees.
AXIS = np.eye(3)
FIRST, SECOND = np.roll(AXIS, -1, axis=0), np.roll(AXIS, -2, axis=0)
_NEXT, _AFTER_NEXT = np.array([1, 2, 0]), np.array([2, 0, 1])


@dataclass(frozen=True)
class Arm:
    """The arm, a rod: mass, kg, > 0, inertia across, > 0, and along it, >= 0, kg m^2."""

    mass: float = 1.0
    across: float = 0.02
    along: float = 0.001

    def __post_init__(self) -> None:
        for name in ("mass", "across"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} = {getattr(self, name)}: must be > 0")
        if not 0.0 <= self.along <= 2.0 * self.across:
            raise ValueError(f"along = {self.along}: must be 0 to 2 across = {2.0 * self.across}")

    @property
    def reach(self) -> float:
        """Distance from its base to its centre of mass, m."""
        return 0.5 * math.sqrt(12.0 * self.across / self.mass)

    def centre(self, angle: Array) -> Array:
        """Return the centre of mass from the arm's base, m: (...) -> (3 modes, ..., 3)."""
        return self.reach * _combine(np.cos(angle), np.sin(angle))

    def tangent(self, angle: Array) -> Array:
        """Return the derivative of `centre` by the angle, m/rad: (...) -> (3 modes, ..., 3)."""
        return self.reach * _combine(-np.sin(angle), np.cos(angle))

    def inertia(self, angle: Array) -> Array:
        """Return the tensor about the centre, base axes: (...) -> (3 modes, ..., 3, 3), kg m^2."""
        u = _combine(np.cos(angle), np.sin(angle))
        return self.across * np.eye(3) - (self.across - self.along) * u[..., None] * u[..., None, :]


def _combine(first: Array, second: Array) -> Array:
    one, two = np.asarray(first), np.asarray(second)
    shape = (MODES, *(1,) * one.ndim, 3)
    return FIRST.reshape(shape) * one[..., None] + SECOND.reshape(shape) * two[..., None]


def cross_matrix(vector: Array) -> Array:
    """Return [v]x with [v]x w = v x w: (..., 3) -> (..., 3, 3)."""
    matrix = np.zeros((*vector.shape, 3))
    for row, column, part in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        matrix[..., row, column] = vector[..., part]
        matrix[..., column, row] = -vector[..., part]
    return matrix


def cross(left: Array, right: Array) -> Array:
    """Return the cross product of (..., 3); faster than NumPy's for few vectors."""
    first = left.take(_NEXT, -1) * right.take(_AFTER_NEXT, -1)
    return first - left.take(_AFTER_NEXT, -1) * right.take(_NEXT, -1)


# Sensors.

QUANTITIES = (
    "force", "moment", "position", "velocity", "acceleration",
    "angle", "rate", "angular acceleration",
)  # fmt: skip
(FORCE, MOMENT, POSITION, VELOCITY, ACCELERATION, ANGLE, RATE, ANGULAR_ACCELERATION) = range(8)


@dataclass(frozen=True)
class SensorNoise:
    """White, uniform noise of every channel.

    `fraction`: bound over the scale, >= 0, one or (8, 3); None scale: the largest sensed so far.
    """

    fraction: float | Array = 0.1
    full_scale: Array | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.fraction).all() and np.min(self.fraction) >= 0.0):
            raise ValueError(f"share = {self.fraction}: must be finite and >= 0")

    def deviation(self, largest: Array) -> Array:
        """Return the standard deviation for these maxima so far, shape (..., 8, 3)."""
        scale = largest if self.full_scale is None else self.full_scale
        return np.asarray(
            self.fraction / math.sqrt(3.0) * np.broadcast_to(scale, np.shape(largest))
        )

    def disturb(self, values: Array, largest: Array, random: np.random.Generator) -> Array:
        """Add noise to values, shape (..., 8, 3); `largest`: see `deviation`, shape (8, 3)."""
        bound = math.sqrt(3.0) * self.deviation(largest)
        return values + bound * random.uniform(-1.0, 1.0, values.shape)


# Regression.

_DIAGONAL = np.arange(3)


def rows(measured: Array) -> tuple[Array, Array]:
    """Return A, (..., 6, 22), and F, (..., 6), N and N m, of channels QUANTITIES, (..., 8, 3)."""
    a = small_motion_rows(measured)
    angle, rate = measured[..., ANGLE, :], measured[..., RATE, :]
    a[..., :3, MASS] += gravity_change(angle) - cross(GRAVITY, angle)
    a[..., 3:, INERTIA] -= cross_matrix(rate) @ inertia_matrix(rate)
    f = np.concatenate((measured[..., FORCE, :], measured[..., MOMENT, :]), axis=-1)
    return a, f


def small_motion_rows(measured: Array) -> Array:
    """Return A without terms of second order in angles and rates, shape (..., 6, 22)."""
    a = np.zeros((*measured.shape[:-2], 6, SIZE))
    tilt = cross(GRAVITY, measured[..., ANGLE, :])
    a[..., :3, MASS] = tilt - measured[..., ACCELERATION, :]
    a[..., 3:, INERTIA] = -inertia_matrix(measured[..., ANGULAR_ACCELERATION, :])
    a[..., 3:, ARM_BASE] = cross_matrix(measured[..., FORCE, :])
    _set_diagonals(a, -measured[..., VELOCITY, :], -measured[..., POSITION, :], 0)
    _set_diagonals(a, -measured[..., RATE, :], -measured[..., ANGLE, :], 3)
    return a


@cache
def channel_rows() -> Array:
    """Return the response of [A, -F] to each channel, for small motions, shape (6, 24, 23)."""
    channels = np.eye(3 * len(QUANTITIES)).reshape(-1, len(QUANTITIES), 3)
    a = small_motion_rows(channels)
    f = np.concatenate((channels[:, FORCE], channels[:, MOMENT]), axis=-1)
    return np.moveaxis(np.concatenate((a, -f[..., None]), axis=-1), 0, 1)


def row_covariance(deviation: Array, estimate: Array) -> Array:
    """Return the covariance of A x - F by noise of all channels, to first order, (..., 6, 6)."""
    gain = channel_rows() @ np.append(estimate, 1.0)
    variance = deviation.reshape(*deviation.shape[:-2], 1, -1) ** 2
    return np.asarray((gain * variance) @ gain.T)


# v @ _TURN_GRAVITY = v x g.
_TURN_GRAVITY = cross_matrix(GRAVITY)


def gravity_change(angle: Array) -> Array:
    """Return R'g - g in the base's axes, m/s^2, for rotation vectors: (..., 3) -> (..., 3).

    Rodrigues: -sin(t)/t theta x g + (1 - cos t)/t^2 theta x (theta x g), t = |theta|.
    """
    square = (angle * angle).sum(axis=-1, keepdims=True)
    size = np.sqrt(square)
    half = np.sinc(size / (2.0 * np.pi))
    once = angle @ _TURN_GRAVITY
    twice = angle * (angle @ GRAVITY)[..., None] - square * GRAVITY
    # sin(t) / t = sinc(t / 2) cos(t / 2).
    return np.asarray(0.5 * half * half * twice - half * np.cos(0.5 * size) * once)


def inertia_matrix(vector: Array) -> Array:
    """Return W with W [xx yy zz yz zx xy] = I vector: (..., 3) -> (..., 3, 6)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    w = np.zeros((*vector.shape, 6))
    w[..., _DIAGONAL, _DIAGONAL] = vector
    w[..., 0, 4], w[..., 0, 5] = z, y
    w[..., 1, 3], w[..., 1, 5] = z, x
    w[..., 2, 3], w[..., 2, 4] = y, x
    return w


def _set_diagonals(a: Array, damping: Array, stiffness: Array, first: int) -> None:
    which = first + _DIAGONAL
    a[..., which, DAMPING.start + which] = damping
    a[..., which, STIFFNESS.start + which] = stiffness
