# SPDX-License-Identifier: Apache-2.0
"""The model of a robot that takes velocity commands: (3) of Siwek et al. (2023).

    sigma1 dv/dt     + sigma3 v     = command of v
    sigma2 domega/dt + sigma4 omega = command of omega

sigma1 / sigma3 and sigma2 / sigma4 are time constants, 1 / sigma3 and 1 / sigma4 static gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import Velocity
from arc_odometry.number_range import Array

AXES = ("v", "omega")


@dataclass(frozen=True)
class Sigma:
    """Parameters of (3), ordered as in the paper.

    Attributes:
        s1, s2: Inertia of the forward and of the yaw axis, s, > 0.
        s3, s4: Drag of the forward and of the yaw axis, 1, >= 0.

    Raises:
        ValueError: A value is not finite or has the wrong sign.

    Example:
        >>> Sigma(0.2, 0.1, 1.0, 1.0).s1
        0.2
    """

    s1: float
    s2: float
    s3: float
    s4: float

    def __post_init__(self) -> None:
        for name in ("s1", "s2"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"sigma: {name} = {value} s: must be finite and > 0")
        for name in ("s3", "s4"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"sigma: {name} = {value}: must be finite and >= 0")

    def __str__(self) -> str:
        return f"σ1 {self.s1:.4g} s, σ2 {self.s2:.4g} s, σ3 {self.s3:.4g}, σ4 {self.s4:.4g}"

    @classmethod
    def of_axes(cls, linear: tuple[float, float], angular: tuple[float, float]) -> Sigma:
        """Return the parameters from (inertia in s, drag) of the forward and of the yaw axis."""
        return cls(linear[0], angular[0], linear[1], angular[1])

    def axis(self, index: int) -> tuple[float, float]:
        """Return (inertia in s, drag) of axis 0, forward, or 1, yaw."""
        return ((self.s1, self.s3), (self.s2, self.s4))[index]

    def as_array(self) -> Array:
        """Return [sigma1, sigma2, sigma3, sigma4], shape (4,)."""
        return np.array([self.s1, self.s2, self.s3, self.s4])

    def acceleration(
        self, velocity: Sequence[float] | Array, command: Sequence[float] | Array
    ) -> Array:
        """Return d[v, omega]/dt of (3), m/s^2 and rad/s^2, (2,)."""
        v, omega = velocity
        command_v, command_omega = command
        return np.array(
            [(command_v - self.s3 * v) / self.s1, (command_omega - self.s4 * omega) / self.s2]
        )

    def command(self, velocity: tuple[float, float], acceleration: tuple[float, float]) -> Velocity:
        """Return the command that gives an acceleration at a velocity: (3) solved, as in (12)."""
        v, omega = velocity
        a_v, a_omega = acceleration
        return Velocity(self.s1 * a_v + self.s3 * v, self.s2 * a_omega + self.s4 * omega)

    def after(
        self, velocity: tuple[float, float], command: tuple[float, float], duration: float
    ) -> Velocity:
        """Return [v, omega] after a constant command over a duration, s; exact for (3)."""
        end = []
        for index, (speed, asked) in enumerate(zip(velocity, command, strict=True)):
            inertia, drag = self.axis(index)
            fraction = duration * drag / inertia
            # (1 - e^-x) / x without loss of digits; its limit without drag is 1.
            gain = -math.expm1(-fraction) / fraction if fraction > 0.0 else 1.0
            end.append(speed * math.exp(-fraction) + asked * gain * duration / inertia)
        return Velocity(*end)
