"""Numbers that know how fast they change: exact derivatives without a second set of formulas.

A Rate is a value with its derivative in time (forward-mode differentiation). A law that is written
once, on Rates, gives its velocity and that velocity's rate of change, eta and eta' of
Lages (2018), (33)-(34), and the two cannot disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import sinc as sinc_value
from arc_odometry import sinc_derivative


@dataclass(slots=True)
class Rate:
    """A value of any unit and its rate of change, that unit per s."""

    value: float
    rate: float = 0.0

    def __neg__(self) -> Rate:
        return Rate(-self.value, -self.rate)

    def __add__(self, other: Rate | float) -> Rate:
        if isinstance(other, Rate):
            return Rate(self.value + other.value, self.rate + other.rate)
        return Rate(self.value + other, self.rate)

    __radd__ = __add__

    def __sub__(self, other: Rate | float) -> Rate:
        return self + -other

    def __rsub__(self, other: float) -> Rate:
        return -self + other

    def __mul__(self, other: Rate | float) -> Rate:
        if isinstance(other, Rate):
            return Rate(self.value * other.value, self.rate * other.value + self.value * other.rate)
        return Rate(self.value * other, self.rate * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Rate | float) -> Rate:
        if isinstance(other, Rate):
            quotient = self.value / other.value
            return Rate(quotient, (self.rate - quotient * other.rate) / other.value)
        return Rate(self.value / other, self.rate / other)

    def __rtruediv__(self, other: float) -> Rate:
        return Rate(other) / self


def sin(x: Rate) -> Rate:
    """Sine; x in rad."""
    return Rate(math.sin(x.value), math.cos(x.value) * x.rate)


def cos(x: Rate) -> Rate:
    """Cosine; x in rad."""
    return Rate(math.cos(x.value), -math.sin(x.value) * x.rate)


def sinc(x: Rate) -> Rate:
    """sin(x) / x, by its series near 0; x in rad."""
    return Rate(sinc_value(x.value), sinc_derivative(x.value) * x.rate)


def sqrt(x: Rate) -> Rate:
    """Square root; x > 0."""
    root = math.sqrt(x.value)
    return Rate(root, 0.5 * x.rate / root)


def hypot(x: Rate, y: Rate) -> Rate:
    """Length of (x, y); its rate at length 0, where it has none, is the speed of (x, y)."""
    length = math.hypot(x.value, y.value)
    if length == 0.0:
        return Rate(0.0, math.hypot(x.rate, y.rate))
    return Rate(length, (x.value * x.rate + y.value * y.rate) / length)


def atan2(y: Rate, x: Rate) -> Rate:
    """Angle of (x, y), rad; (x, y) not (0, 0)."""
    length = math.hypot(x.value, y.value)
    # Divided twice: the square of a length below 1e-154 would be 0.
    turn = (x.value / length) * (y.rate / length) - (y.value / length) * (x.rate / length)
    return Rate(math.atan2(y.value, x.value), turn)


def wrap(x: Rate) -> Rate:
    """The angle x less whole turns, from -pi to pi, rad."""
    return Rate(math.remainder(x.value, math.tau), x.rate)


def absolute(x: Rate) -> Rate:
    """|x|."""
    return -x if x.value < 0.0 else x


def clamp(x: Rate, limit: float) -> Rate:
    """X within +-limit, where it stays for the time being."""
    if abs(x.value) <= limit:
        return x
    return Rate(math.copysign(limit, x.value))
