"""Limits of speed and acceleration."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from pose2d_trajectories.checks import positive

UNITS = {
    "linear_velocity": "m/s",
    "angular_velocity": "rad/s",
    "linear_acceleration": "m/s^2",
    "angular_acceleration": "rad/s^2",
}


@dataclass(frozen=True)
class Limits:
    """What a trajectory must not exceed; math.inf: no limit.

    Attributes:
        linear_velocity: largest |v|, m/s, > 0.
        angular_velocity: largest |omega|, rad/s, > 0.
        linear_acceleration: largest |dv/dt|, m/s^2, > 0.
        angular_acceleration: largest |domega/dt|, rad/s^2, > 0.

    Raises:
        ValueError: a limit is not > 0, or too small.
    """

    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value != math.inf:
                positive(f"limit of {field.name}", value, UNITS[field.name])
