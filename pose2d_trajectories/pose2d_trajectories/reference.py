# SPDX-License-Identifier: Apache-2.0
"""What a robot should do at one time, and a trajectory, which says so for all times."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Protocol

from arc_odometry import Arc, Pose, Velocity
from arc_odometry.geometry import check_finite


@dataclass(frozen=True)
class Reference:
    """Pose, velocity and acceleration that a robot should have; the fields of PoseReference.msg.

    They belong together as on a robot that rolls without slip: x' = v cos theta,
    y' = v sin theta, theta' = omega, v' = dv, omega' = domega. A set point has no velocity.

    Attributes:
        x: position of the middle of the axle in the odom frame, m.
        y: as x, m.
        theta: heading, rad, counter-clockwise from the x axis. That of a trajectory is continuous
            and counts whole turns; to a law they do not matter.
        v: velocity along the robot's own x axis, m/s, negative backwards.
        omega: yaw rate, rad/s.
        dv: rate of change of v, m/s^2.
        domega: rate of change of omega, rad/s^2.

    Raises:
        ValueError: a number is not finite.
    """

    x: float = 0.0
    y: float = 0.0
    theta: float = 0.0
    v: float = 0.0
    omega: float = 0.0
    dv: float = 0.0
    domega: float = 0.0

    def __post_init__(self) -> None:
        check_reference(self)

    @property
    def pose(self) -> Pose:
        """Where the robot should be."""
        return Pose(self.x, self.y, self.theta)

    @property
    def velocity(self) -> Velocity:
        """How fast it should be."""
        return Velocity(self.v, self.omega)

    @property
    def acceleration(self) -> Velocity:
        """Rate of change of the velocity, m/s^2 and rad/s^2."""
        return Velocity(self.dv, self.domega)

    def after(self, duration: float) -> Reference:
        """The reference a duration (s) later, if its accelerations stay; off by duration^3."""
        v, omega = self.v + self.dv * duration, self.omega + self.domega * duration
        path, turn = 0.5 * (self.v + v) * duration, 0.5 * (self.omega + omega) * duration
        return Reference(*Arc(path, turn).end(self.pose), v, omega, self.dv, self.domega)


FIELDS = tuple(field.name for field in fields(Reference))


def check_reference(reference: Reference) -> None:
    """Refuse a reference, or what has its attributes, with a number that is not finite.

    Raises:
        ValueError: names it.
    """
    r = reference
    # A sum is finite only where all of it is; which one is not takes longer to say.
    if not math.isfinite(r.x + r.y + r.theta + r.v + r.omega + r.dv + r.domega):
        check_finite("reference", **{name: getattr(reference, name) for name in FIELDS})


class Trajectory(Protocol):
    """A reference over time; it starts at t = 0."""

    @property
    def duration(self) -> float:
        """Time at which the robot has come to rest for good, s; math.inf for endless ones."""

    def at(self, t: float) -> Reference:
        """The reference at time t, s.

        Before 0 it rests at the start. From `duration` on it rests at the end.
        """


# What a robot has to do with, in SI units; beyond these the arithmetic would run out of numbers.
SMALLEST, LARGEST = 1e-6, 1e6


def _number(name: str, value: object, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
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
