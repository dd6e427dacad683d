"""Method 3: the inertia of the robot, hung from the ceiling, turned by a falling mass.

    (19)  Gamma = J dW/dt     (20)  Gamma = f_m r_m     (21)  f_m = m_o g     as printed

The falling mass accelerates, too: with a = r_m dW/dt the wire pulls only with f_m = m_o (g - a), so

    Gamma = m_o (g - a) r_m     J = m_o r_m (g - r_m dW/dt) / (dW/dt)

As printed, J holds m_o r_m^2 too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.estimate import Estimate, combined
from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.published import DISC_RADIUS, GRAVITY


@dataclass(frozen=True)
class HangingRig:
    """A mass on a wire that unwinds from a disc on the hanging robot.

    Attributes:
        load: m_o, kg, > 0.
        radius: r_m, of the disc, m, > 0.
        gravity: g, m/s^2, > 0; the paper's by default.
        load_std: standard deviation of m_o, kg, >= 0.
        radius_std: standard deviation of r_m, m, >= 0.

    Raises:
        ValueError: a value is not finite or out of its range.
    """

    load: float
    radius: float = DISC_RADIUS
    gravity: float = GRAVITY
    load_std: float = 0.0
    radius_std: float = 0.0

    def __post_init__(self) -> None:
        for name in ("load", "radius", "gravity"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value}: must be finite and > 0")
        for name in ("load_std", "radius_std"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} = {value}: must be finite and >= 0")

    def acceleration(self, inertia: float) -> float:
        """dW/dt, rad/s^2, of a body with this J, kg m^2: the mass and the body move together."""
        m, r = self.load, self.radius
        return m * self.gravity * r / (inertia + m * r**2)

    def inertia_published(self, acceleration: Estimate | float) -> Estimate:
        """(19)-(21): J = m_o g r_m / (dW/dt), kg m^2, too large by m_o r_m^2."""
        found = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        value = m * g * r / found.value
        slopes = (-value / found.value, value / m, value / r)
        return self._propagated(value, slopes, found)

    def inertia(self, acceleration: Estimate | float) -> Estimate:
        """J = m_o r_m (g - r_m dW/dt) / (dW/dt), kg m^2, from dW/dt, rad/s^2.

        Raises:
            ValueError: the acceleration is not between 0 and that of the falling mass alone.
        """
        found = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        if not found.value < g / r:
            raise ValueError(
                f"acceleration = {found.value} rad/s^2: the mass cannot fall faster than g, so it "
                f"must be below g / r_m = {g / r:g}; check the radius and the unit of the angle"
            )
        value = m * r * (g - r * found.value) / found.value
        slopes = (
            -m * r * g / found.value**2,
            value / m,
            m * (g - 2.0 * r * found.value) / found.value,
        )
        return self._propagated(value, slopes, found)

    def _propagated(
        self, value: float, slopes: tuple[float, float, float], acceleration: Estimate
    ) -> Estimate:
        """J with what acceleration, load and radius leave unknown of it."""
        stds = (acceleration.std, self.load_std, self.radius_std)
        parts = [slope * std for slope, std in zip(slopes, stds, strict=True)]
        std, freedom = combined(parts, (acceleration.freedom, math.inf, math.inf))
        return Estimate(value, std, freedom)


def _estimate(acceleration: Estimate | float) -> Estimate:
    if not isinstance(acceleration, Estimate):
        acceleration = Estimate(float(acceleration), 0.0)
    if not acceleration.value > 0.0:
        raise ValueError(
            f"acceleration = {acceleration.value} rad/s^2: must be > 0, in the sense in which the "
            "mass falls"
        )
    return acceleration


def fit_acceleration(period: float, angle: ArrayLike) -> Estimate:
    """dW/dt, rad/s^2, by least squares of theta0 + W0 t + (dW/dt) t^2 / 2 to the angles.

    Args:
        period: between two readings, s.
        angle: theta, (n,) rad, n >= 4, not wrapped.

    Raises:
        ValueError: there are too few readings or one is not finite.
    """
    angle = _angles(angle)
    time = period * np.arange(len(angle))
    rows = np.column_stack((np.ones_like(time), time, 0.5 * time**2))
    return _last_of(rows, angle)


def fit_acceleration_published(period: float, angle: ArrayLike) -> Estimate:
    """dW/dt, rad/s^2, as printed: W by differences of the angle, then a straight line, Fig. 9(b).

    Neighbouring differences share a reading with opposite signs. The value stays unbiased, but the
    line's own interval, given here, takes them for independent and comes out far too wide.
    """
    angle = _angles(angle)
    time = period * np.arange(len(angle) - 1)
    return _last_of(np.column_stack((np.ones_like(time), time)), np.diff(angle) / period)


def _angles(angle: ArrayLike) -> Array:
    angle = np.asarray(angle, dtype=float)
    if angle.ndim != 1 or len(angle) < 4 or not np.isfinite(angle).all():
        raise ValueError(f"angle {angle.shape}: must be one row of at least 4 finite readings")
    return angle


def _last_of(rows: Array, outputs: Array) -> Estimate:
    """The last parameter of ordinary least squares."""
    inverse = np.linalg.inv(rows.T @ rows)
    values = inverse @ rows.T @ outputs
    freedom = len(outputs) - rows.shape[1]
    variance = float(np.sum((outputs - rows @ values) ** 2)) / freedom
    return Estimate(float(values[-1]), float(np.sqrt(variance * inverse[-1, -1])), freedom)
