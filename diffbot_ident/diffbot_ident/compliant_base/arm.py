"""The rigid arm that excites the base, (1).

    F12 = m2 (a2 - g)          N12 = r3 x F12 + d(I2 omega2)/dt + omega2 x I2 omega2

The arm is a slender uniform rod. It turns by f about one axis of the base in each of three modes:
about axis j it points along u = cos f e_(j+1) + sin f e_(j+2), the axes counted cyclically. So
about x it goes from forwards to upwards. The paper gives the arm's mass and inertia but not where
its centre of mass is; the rod of its inertia, m2 l^2 / 12 = 0.02 kg m^2, is l = 0.49 m long, and
its centre is l / 2 from the base.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MODES = 3
GRAVITY = np.array([0.0, 0.0, -9.81])
_AXES = np.eye(3)
_NEXT, _AFTER_NEXT = np.array([1, 2, 0]), np.array([2, 0, 1])
# Of each mode: the axis of rotation, where the arm points at f = 0, and at f = 90 degrees.
AXIS, FIRST, SECOND = _AXES, np.roll(_AXES, -1, axis=0), np.roll(_AXES, -2, axis=0)


@dataclass(frozen=True)
class Arm:
    """The rod.

    Attributes:
        mass: m2, kg, > 0.
        across: inertia about its centre, across the rod, kg m^2, > 0.
        along: inertia about the rod itself, kg m^2, >= 0.
    """

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
        """From its base to its centre of mass, m."""
        return 0.5 * math.sqrt(12.0 * self.across / self.mass)

    def centre(self, angle: Array) -> Array:
        """Centre of mass from the arm's base, m: (...) -> (3 modes, ..., 3)."""
        return self.reach * _combine(np.cos(angle), np.sin(angle))

    def tangent(self, angle: Array) -> Array:
        """Derivative of `centre` by the angle, m/rad: (...) -> (3 modes, ..., 3)."""
        return self.reach * _combine(-np.sin(angle), np.cos(angle))

    def inertia(self, angle: Array) -> Array:
        """Tensor about its centre in the base's axes: (...) -> (3 modes, ..., 3, 3), kg m^2."""
        u = _combine(np.cos(angle), np.sin(angle))
        return self.across * np.eye(3) - (self.across - self.along) * u[..., None] * u[..., None, :]


def _combine(first: Array, second: Array) -> Array:
    """Components along FIRST and SECOND of each mode: (...) -> (3 modes, ..., 3)."""
    one, two = np.asarray(first), np.asarray(second)
    shape = (MODES, *(1,) * one.ndim, 3)
    return FIRST.reshape(shape) * one[..., None] + SECOND.reshape(shape) * two[..., None]


def cross_matrix(vector: Array) -> Array:
    """[v]x with [v]x w = v x w: (..., 3) -> (..., 3, 3)."""
    matrix = np.zeros((*vector.shape, 3))
    for row, column, part in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        matrix[..., row, column] = vector[..., part]
        matrix[..., column, row] = -vector[..., part]
    return matrix


def cross(left: Array, right: Array) -> Array:
    """Vector product of (..., 3); several times faster than NumPy's for a few vectors."""
    return left.take(_NEXT, -1) * right.take(_AFTER_NEXT, -1) - left.take(
        _AFTER_NEXT, -1
    ) * right.take(_NEXT, -1)
