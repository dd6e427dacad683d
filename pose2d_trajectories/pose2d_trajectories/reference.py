# SPDX-License-Identifier: Apache-2.0
"""References: the desired motion of a robot at one time; checks of what they are made from."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Protocol

from arc_odometry import Arc, Pose, Velocity
from arc_odometry.number_range import check_finite

# Range of positive quantities of robots, SI units; outside it, computations could overflow.
SMALLEST, LARGEST = 1e-6, 1e6


def _number(name: str, value: object, unit: str) -> float:
    if type(value) is float:  # nearly always: the check of an abstract class takes longer
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} = {value!r}: must be a number in {unit}")
    return float(value)


def zero_or_positive(name: str, value: object, unit: str) -> float:
    """Return a value that is 0 or positive, as a float, or raise a ValueError."""
    number = _number(name, value, unit)
    if math.isfinite(number) and number < 0.0:
        raise ValueError(f"{name} = {number} {unit}: must be finite and >= 0")
    return positive(name, value, unit) if number else 0.0


def finite(name: str, value: object, unit: str) -> float:
    """Return the value as a float, or raise a ValueError if it is no number or not finite."""
    number = _number(name, value, unit)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} {unit}: must be finite")
    return number


def positive(name: str, value: object, unit: str) -> float:
    """Return a value between SMALLEST and LARGEST as a float, or raise a ValueError."""
    number = _number(name, value, unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} = {number} {unit}: must be finite and > 0")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(
            f"{name} = {number} {unit}: must be between {SMALLEST:g} and {LARGEST:g} {unit}"
        )
    return number


@dataclass(frozen=True)
class Reference:
    """Desired pose, velocity and acceleration of a robot; the fields of PoseReference.msg.

    They are consistent as on a robot that rolls without slip: x' = v cos theta, y' = v sin theta,
    theta' = omega, v' = dv, omega' = domega. A number that is not finite is a ValueError.

    Example:
        >>> Reference(v=1.0, dv=0.5).after(2.0)
        Reference(x=3.0, y=0.0, theta=0.0, v=2.0, omega=0.0, dv=0.5, domega=0.0)

    Attributes:
        x: Position of the midpoint of the axle in the odom frame, m, as y.
        theta: Heading, rad, counter-clockwise from the x axis. In a trajectory it counts whole
            turns; control laws ignore them.
        v: Velocity along the robot's own x axis, m/s, negative backwards.
        omega: Yaw rate, rad/s.
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
        return Pose(self.x, self.y, self.theta)

    @property
    def velocity(self) -> Velocity:
        return Velocity(self.v, self.omega)

    @property
    def acceleration(self) -> Velocity:
        """Desired acceleration, m/s^2 and rad/s^2."""
        return Velocity(self.dv, self.domega)

    def after(self, duration: float) -> Reference:
        """Return the reference a duration (s) later for constant accelerations."""
        v, omega = self.v + self.dv * duration, self.omega + self.domega * duration
        path, turn = 0.5 * (self.v + v) * duration, 0.5 * (self.omega + omega) * duration
        return Reference(*Arc(path, turn).end(self.pose), v, omega, self.dv, self.domega)


FIELDS = tuple(field.name for field in fields(Reference))


def check_reference(reference: Reference) -> None:
    """Reject a reference, or an object with its attributes, with a number that is not finite."""
    r = reference
    # The sum is finite only if all numbers are.
    if not math.isfinite(r.x + r.y + r.theta + r.v + r.omega + r.dv + r.domega):
        check_finite("reference", **{name: getattr(reference, name) for name in FIELDS})


class Trajectory(Protocol):
    """A reference over time; it starts at t = 0."""

    @property
    def duration(self) -> float:
        """Time at which the robot finally comes to rest, s; math.inf for endless trajectories."""

    def at(self, t: float) -> Reference:
        """Return the reference at time t, s.

        Before 0 it is at rest at the start, from `duration` on at the end.
        """
