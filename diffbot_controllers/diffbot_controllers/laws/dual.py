# SPDX-License-Identifier: Apache-2.0
"""Dual numbers: values with their exact time derivatives (forward-mode differentiation).

Laws written once with Duals give eta and eta' of Lages (2018), (33)-(34). Values are numbers, or
arrays for many robots at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from arc_odometry import sinc as sinc_value
from arc_odometry import sinc_derivative
from arc_odometry.arcs import sinc_derivatives, sincs


@dataclass(slots=True)
class Dual:
    """A value of any unit and its rate of change, that unit per s."""

    value: float
    rate: float = 0.0

    # NumPy must leave array * Dual to Dual.__rmul__.
    __array_ufunc__ = None

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __add__(self, other: Dual | float) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.rate + other.rate)
        return Dual(self.value + other, self.rate)

    __radd__ = __add__

    def __sub__(self, other: Dual | float) -> Dual:
        return self + -other

    def __rsub__(self, other: float) -> Dual:
        return -self + other

    def __mul__(self, other: Dual | float) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.rate * other.value + self.value * other.rate)
        return Dual(self.value * other, self.rate * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Dual | float) -> Dual:
        if isinstance(other, Dual):
            quotient = self.value / other.value
            return Dual(quotient, (self.rate - quotient * other.rate) / other.value)
        return Dual(self.value / other, self.rate / other)

    def __rtruediv__(self, other: float) -> Dual:
        return Dual(other) / self


def sin(x: Dual) -> Dual:
    """Return the sine; x in rad."""
    m = _functions(x)
    return Dual(m.sin(x.value), m.cos(x.value) * x.rate)


def cos(x: Dual) -> Dual:
    """Return the cosine; x in rad."""
    m = _functions(x)
    return Dual(m.cos(x.value), -m.sin(x.value) * x.rate)


def sinc(x: Dual) -> Dual:
    """Return sin(x) / x, by its series near 0; x in rad."""
    if isinstance(x.value, np.ndarray):
        return Dual(sincs(x.value), sinc_derivatives(x.value) * x.rate)
    return Dual(sinc_value(x.value), sinc_derivative(x.value) * x.rate)


def sqrt(x: Dual) -> Dual:
    """Return the square root; x > 0."""
    root = _functions(x).sqrt(x.value)
    return Dual(root, 0.5 * x.rate / root)


def hypot(x: Dual, y: Dual) -> Dual:
    """Return the length of (x, y); at length 0 its rate is the speed of (x, y)."""
    if isinstance(x.value, np.ndarray):
        lengths = np.hypot(x.value, y.value)
        zero = lengths == 0.0
        rate = (x.value * x.rate + y.value * y.rate) / np.where(zero, 1.0, lengths)
        return Dual(lengths, np.where(zero, np.hypot(x.rate, y.rate), rate))
    length = math.hypot(x.value, y.value)
    if length == 0.0:
        return Dual(0.0, math.hypot(x.rate, y.rate))
    return Dual(length, (x.value * x.rate + y.value * y.rate) / length)


def atan2(y: Dual, x: Dual) -> Dual:
    """Return the angle of (x, y), rad; not for (0, 0), except in an array, with rate 0 there."""
    length: Any = _functions(x).hypot(x.value, y.value)
    if isinstance(x.value, np.ndarray):
        length = np.where(length == 0.0, 1.0, length)
        angle = np.arctan2(y.value, x.value)
    else:
        angle = math.atan2(y.value, x.value)
    # Divide twice, as the square of a length below 1e-154 would underflow to 0.
    turn = (x.value / length) * (y.rate / length) - (y.value / length) * (x.rate / length)
    return Dual(angle, turn)


def wrap(x: Dual) -> Dual:
    """Wrap the angle x to -pi to pi, rad."""
    return Dual(wrapped(x.value), x.rate)


def wrapped(angle: Any) -> Any:
    """Wrap an angle, or an array of angles, to -pi to pi, rad."""
    if isinstance(angle, np.ndarray):
        return angle - math.tau * np.rint(angle / math.tau)
    return math.remainder(angle, math.tau)


def absolute(x: Dual) -> Dual:
    """Return |x|."""
    if isinstance(x.value, np.ndarray):
        return where(x.value < 0.0, -x, x)
    return -x if x.value < 0.0 else x


def clamp(x: Dual, limit: float) -> Dual:
    """Clamp x to +-limit; its rate is 0 while it is clamped."""
    if isinstance(x.value, np.ndarray):
        inside = np.abs(x.value) <= limit
        return where(inside, x, Dual(np.copysign(limit, x.value), 0.0))
    if abs(x.value) <= limit:
        return x
    return Dual(math.copysign(limit, x.value))


def where(condition: Any, x: Dual, y: Dual) -> Dual:
    """Return x where an array of conditions is true, otherwise y."""
    return Dual(
        cast(Any, np.where(condition, x.value, y.value)),
        cast(Any, np.where(condition, x.rate, y.rate)),
    )


def _functions(x: Dual) -> Any:
    """Return the module, math or numpy, whose functions accept the value of x."""
    return np if isinstance(x.value, np.ndarray) else math
