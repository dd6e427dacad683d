# SPDX-License-Identifier: Apache-2.0
"""Methods 1 and 3: friction from steady speeds, inertia from a falling mass.

    (13)-(15)  F = B V + C sgn V       (19)-(21)  J = m_o r_m (g - r_m dW/dt) / (dW/dt)

As printed, J is too large by m_o r_m^2: docs/theory/omni.md#method-3-a-falling-mass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from diffbot_papers.omni.model import (
    DISC_RADIUS,
    GRAVITY,
    Array,
    OmniRobot,
    body_forces,
    check_positive,
)

# Values with their standard deviations.


@dataclass(frozen=True)
class UncertainValue:
    """An estimated value, its standard deviation >= 0, and the freedom of that; infinite: known."""

    value: float
    std: float
    freedom: float = math.inf

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval, by Student's t."""
        return float(stdtrit(self.freedom, 0.975)) * self.std

    @property
    def interval(self) -> tuple[float, float]:
        return self.value - self.half_width, self.value + self.half_width

    def covers(self, truth: float) -> bool:
        """Whether the 95 % interval contains a value."""
        low, high = self.interval
        return low <= truth <= high

    def scaled(self, factor: UncertainValue | float) -> UncertainValue:
        """Return the product with an independent factor; first-order propagation of both errors."""
        if not isinstance(factor, UncertainValue):
            factor = UncertainValue(factor, 0.0)
        parts = (factor.value * self.std, self.value * factor.std)
        std, freedom = combined(parts, (self.freedom, factor.freedom))
        return UncertainValue(self.value * factor.value, std, freedom)


def combined(stds: Sequence[float], freedoms: Sequence[float]) -> tuple[float, float]:
    """Return the deviation of a sum of independent errors, and its freedom (Satterthwaite)."""
    squares = np.square(stds)
    total = float(squares.sum())
    fraction = float(np.sum(squares**2 / np.asarray(freedoms)))
    return math.sqrt(total), total**2 / fraction if fraction > 0.0 else math.inf


def mean(values: Sequence[float]) -> UncertainValue:
    """Return the mean of two or more experiments, with an interval from their spread."""
    if len(values) < 2:
        raise ValueError(f"{len(values)} values: a mean with an interval needs at least 2")
    std = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return UncertainValue(float(np.mean(values)), std, len(values) - 1)


@dataclass(frozen=True)
class LinearFit:
    """Ordinary least squares: k values, (k,), and their covariance, (k, k), from the scatter."""

    values: Array
    covariance: Array
    freedom: int

    def estimate(self, index: int) -> UncertainValue:
        std = float(np.sqrt(self.covariance[index, index]))
        return UncertainValue(float(self.values[index]), std, self.freedom)


def ordinary_least_squares(rows: Array, outputs: Array) -> LinearFit:
    """Fit outputs (n,) by rows (n, k) of regressors, n > k."""
    inverse = np.linalg.inv(rows.T @ rows)
    values = inverse @ rows.T @ outputs
    freedom = len(outputs) - rows.shape[1]
    variance = float(np.sum((outputs - rows @ values) ** 2)) / freedom
    return LinearFit(values, variance * inverse, freedom)


# Method 1.


@dataclass(frozen=True)
class SteadyFit:
    """Friction of one axis: B, N/(m/s) or N m/(rad/s), C, N or N m, and covariance (2, 2)."""

    viscous: UncertainValue
    coulomb: UncertainValue
    covariance: Array


def steady_forces(current: ArrayLike, robot: OmniRobot) -> Array:
    """(4)-(8): return [F_v, F_vn, Gamma], (..., 3) N, N, N m, from currents, (..., 4) A."""
    return body_forces(robot.motor.wheel_force(current), robot.wheel_distance)


def fit_steady(speeds: ArrayLike, forces: ArrayLike) -> SteadyFit:
    """Fit (13)-(15) for one axis, from one point per steady speed.

    Args:
        speeds: V, Vn or W, (n,) m/s or rad/s, n >= 3, of either sign, not 0.
        forces: F_v, F_vn or Gamma, (n,) N or N m.

    Raises:
        ValueError: The points do not suffice.
    """
    speeds, forces = np.asarray(speeds, dtype=float), np.asarray(forces, dtype=float)
    if speeds.ndim != 1 or speeds.shape != forces.shape:
        raise ValueError(
            f"speeds {speeds.shape} and forces {forces.shape}: give one force for each speed"
        )
    if len(speeds) < 3:
        raise ValueError(f"{len(speeds)} steady speeds: B, C and their intervals need at least 3")
    if not (np.isfinite(speeds).all() and np.isfinite(forces).all()):
        raise ValueError("speeds and forces must be finite; remove failed readings")
    if not speeds.all():
        raise ValueError("a steady speed is 0: Coulomb friction has no known sign there")
    if np.ptp(np.abs(speeds)) < 1e-6 * np.abs(speeds).max():
        raise ValueError(f"all speeds are {abs(speeds[0]):g}: B and C need different ones")
    rows = np.column_stack((speeds, np.sign(speeds)))
    fit = ordinary_least_squares(rows, forces)
    return SteadyFit(fit.estimate(0), fit.estimate(1), fit.covariance)


# Method 3.


@dataclass(frozen=True)
class HangingRig:
    """A mass, kg, > 0, on a wire that unwinds from a disc of this radius, m, > 0, on the robot."""

    load: float
    radius: float = DISC_RADIUS
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        check_positive(load=self.load, radius=self.radius, gravity=self.gravity)

    def acceleration(self, inertia: float) -> float:
        """Return dW/dt, rad/s^2, of a body with this J, kg m^2, and the mass."""
        m, r = self.load, self.radius
        return m * self.gravity * r / (inertia + m * r**2)

    def inertia_published(self, acceleration: UncertainValue | float) -> UncertainValue:
        """(19)-(21): return J = m_o g r_m / (dW/dt), kg m^2, too large by m_o r_m^2."""
        result = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        value = m * g * r / result.value
        return UncertainValue(value, value / result.value * result.std, result.freedom)

    def inertia(self, acceleration: UncertainValue | float) -> UncertainValue:
        """Return J = m_o r_m (g - r_m dW/dt) / (dW/dt), kg m^2, from dW/dt, rad/s^2.

        Raises:
            ValueError: The acceleration is not between 0 and that of the falling mass alone.
        """
        result = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        if not result.value < g / r:
            raise ValueError(
                f"acceleration = {result.value} rad/s^2: the mass cannot fall faster than g, so it "
                f"must be below g / r_m = {g / r:g}; check the radius and the unit of the angle"
            )
        value = m * r * (g - r * result.value) / result.value
        return UncertainValue(value, m * r * g / result.value**2 * result.std, result.freedom)


def _estimate(acceleration: UncertainValue | float) -> UncertainValue:
    if not isinstance(acceleration, UncertainValue):
        acceleration = UncertainValue(float(acceleration), 0.0)
    if not acceleration.value > 0.0:
        raise ValueError(
            f"acceleration = {acceleration.value} rad/s^2: must be > 0, in the sense in which the "
            "mass falls"
        )
    return acceleration


def fit_acceleration(period: float, angle: ArrayLike) -> UncertainValue:
    """Return dW/dt, rad/s^2, of angles (n,), rad, n >= 4, not wrapped, by a parabola over time.

    Raises:
        ValueError: There are too few readings or one is not finite.
    """
    angle = _angles(angle)
    time = period * np.arange(len(angle))
    rows = np.column_stack((np.ones_like(time), time, 0.5 * time**2))
    return ordinary_least_squares(rows, angle).estimate(-1)


def fit_acceleration_published(period: float, angle: ArrayLike) -> UncertainValue:
    """Return dW/dt, rad/s^2, as printed: W by differences of the angle, then a line, Fig. 9(b)."""
    angle = _angles(angle)
    time = period * np.arange(len(angle) - 1)
    rows = np.column_stack((np.ones_like(time), time))
    return ordinary_least_squares(rows, np.diff(angle) / period).estimate(-1)


def _angles(angle: ArrayLike) -> Array:
    angle = np.asarray(angle, dtype=float)
    if angle.ndim != 1 or len(angle) < 4 or not np.isfinite(angle).all():
        raise ValueError(f"angle {angle.shape}: must be one row of at least 4 finite readings")
    return angle
