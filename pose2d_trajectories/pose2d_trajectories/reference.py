"""What a trajectory says at one time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Reference:
    """Pose, velocity and acceleration that a robot should have at one time.

    They belong together as on a robot that rolls without slip: x' = v cos theta,
    y' = v sin theta, theta' = omega, v' = dv, omega' = domega.

    Attributes:
        x: position of the middle of the axle, m, in the frame of the trajectory (odom).
        y: as x, m.
        theta: heading, rad, counter-clockwise from the x axis; continuous, it counts whole turns.
        v: velocity along the robot's own x axis, m/s, negative backwards.
        omega: yaw rate, rad/s.
        dv: rate of change of v, m/s^2.
        domega: rate of change of omega, rad/s^2.
    """

    x: float
    y: float
    theta: float
    v: float
    omega: float
    dv: float
    domega: float


class Trajectory(Protocol):
    """A reference over time; it starts at t = 0."""

    @property
    def duration(self) -> float:
        """Time at which the robot has come to rest for good, s; math.inf for endless ones."""

    def at(self, t: float) -> Reference:
        """The reference at time t, s.

        Before 0 it rests at the start. From `duration` on it rests at the end.
        """


# ---
# Checks of numbers that people give; each message names the number, its limit and its unit.

# What a robot has to do with, in SI units; beyond these the arithmetic would run out of numbers.
SMALLEST, LARGEST = 1e-6, 1e6


def _number(name: str, value: object, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} = {value!r}: must be a number in {unit}")
    return float(value)


def zero_or_positive(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is neither 0 nor between SMALLEST and LARGEST.
    """
    number = _number(name, value, unit)
    if math.isfinite(number) and number < 0.0:
        raise ValueError(f"{name} = {number} {unit}: must be finite and >= 0")
    return positive(name, value, unit) if number else 0.0


def finite(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is no number or not finite.
    """
    number = _number(name, value, unit)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} {unit}: must be finite")
    return number


def positive(name: str, value: object, unit: str) -> float:
    """The value as a float.

    Raises:
        ValueError: it is not between SMALLEST and LARGEST.
    """
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} = {number} {unit}: must be finite and > 0")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(
            f"{name} = {number} {unit}: must be between {SMALLEST:g} and {LARGEST:g} {unit}"
        )
    return number
