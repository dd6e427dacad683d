# SPDX-License-Identifier: Apache-2.0
"""Dual numbers: values that know how fast they change, exactly and by one set of formulas.

A Dual is a value with its derivative in time (forward-mode differentiation). A law that is written
once, on Duals, gives its velocity and that velocity's rate of change, eta and eta' of
Lages (2018), (33)-(34), and the two cannot disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import sinc as sinc_value
from arc_odometry import sinc_derivative


@dataclass(slots=True)
class Dual:
    """A value of any unit and its rate of change, that unit per s."""

    value: float
    rate: float = 0.0

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
    """Sine; x in rad."""
    return Dual(math.sin(x.value), math.cos(x.value) * x.rate)


def cos(x: Dual) -> Dual:
    """Cosine; x in rad."""
    return Dual(math.cos(x.value), -math.sin(x.value) * x.rate)


def sinc(x: Dual) -> Dual:
    """sin(x) / x, by its series near 0; x in rad."""
    return Dual(sinc_value(x.value), sinc_derivative(x.value) * x.rate)


def sqrt(x: Dual) -> Dual:
    """Square root; x > 0."""
    root = math.sqrt(x.value)
    return Dual(root, 0.5 * x.rate / root)


def hypot(x: Dual, y: Dual) -> Dual:
    """Length of (x, y); its rate at length 0, where it has none, is the speed of (x, y)."""
    length = math.hypot(x.value, y.value)
    if length == 0.0:
        return Dual(0.0, math.hypot(x.rate, y.rate))
    return Dual(length, (x.value * x.rate + y.value * y.rate) / length)


def atan2(y: Dual, x: Dual) -> Dual:
    """Angle of (x, y), rad; (x, y) not (0, 0)."""
    length = math.hypot(x.value, y.value)
    # Divided twice: the square of a length below 1e-154 would be 0.
    turn = (x.value / length) * (y.rate / length) - (y.value / length) * (x.rate / length)
    return Dual(math.atan2(y.value, x.value), turn)


def wrap(x: Dual) -> Dual:
    """The angle x less whole turns, from -pi to pi, rad."""
    return Dual(math.remainder(x.value, math.tau), x.rate)


def absolute(x: Dual) -> Dual:
    """|x|."""
    return -x if x.value < 0.0 else x


def clamp(x: Dual, limit: float) -> Dual:
    """X within +-limit, where it stays for the time being."""
    if abs(x.value) <= limit:
        return x
    return Dual(math.copysign(limit, x.value))
