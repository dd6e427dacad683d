# SPDX-License-Identifier: Apache-2.0
"""The lumped model of a differential-drive robot: one body and two equal wheels."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class RobotModel:
    """Parameters of the planar motion of a robot. Casters have no mass and no friction.

    Attributes:
        wheel_radius: r, m.
        half_track: b, half the distance of the contact points, m.
        mass_body, inertia_body: m_b, kg, and I_b, about its own centre of mass, kg m^2.
        com_offset: d, how far the body's centre of mass is ahead of the axle, m.
        wheel_mass, wheel_inertia_spin, wheel_inertia_yaw: m_w, kg, J and I_wz, kg m^2, of one
            wheel; I_wz + m_w b^2 is the yaw inertia of one wheel about the axle's midpoint.

    Raises:
        ValueError: No robot can have such a value.

    Example:
        >>> from diffbot_description import load_robot
        >>> model = load_robot("twil").model
        >>> round(model.equivalent_mass, 3), round(model.equivalent_inertia, 4)  # kg, kg m^2
        (5.037, 0.1128)
    """

    wheel_radius: float
    half_track: float
    mass_body: float
    inertia_body: float
    com_offset: float
    wheel_mass: float
    wheel_inertia_spin: float
    wheel_inertia_yaw: float

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            positive = entry.name not in ("com_offset", "wheel_inertia_yaw")
            if not math.isfinite(value) or (positive and value <= 0):
                limit = "finite and above 0" if positive else "finite"
                raise ValueError(f"{entry.name} = {value} must be {limit}. Correct the robot.")

    @property
    def equivalent_mass(self) -> float:
        """M_e [kg]: of the forward motion, spinning wheels included."""
        spin = 2 * self.wheel_inertia_spin / self.wheel_radius**2
        return self.mass_body + 2 * self.wheel_mass + spin

    @property
    def equivalent_inertia(self) -> float:
        """I_e [kg m^2]: about the axle's midpoint, with spinning wheels."""
        b = self.half_track
        body = self.inertia_body + self.mass_body * self.com_offset**2
        wheels = 2 * (self.wheel_inertia_yaw + self.wheel_mass * b**2)
        return body + wheels + 2 * self.wheel_inertia_spin * (b / self.wheel_radius) ** 2

    def with_payload(self, mass: float, x: float, yaw_inertia: float) -> RobotModel:
        """Return the robot with a load on the centre line of its body, x m ahead of the axle.

        mass [kg] and yaw_inertia [kg m^2], about the load's own centre of mass, >= 0; else
        ValueError.
        """
        for name, value in (("mass", mass), ("yaw_inertia", yaw_inertia)):
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"payload {name} = {value} must be finite and at least 0.")
        if not math.isfinite(x):
            raise ValueError(f"payload x = {x} m must be finite.")
        total = self.mass_body + mass
        reduced = self.mass_body * mass / total
        return replace(
            self,
            mass_body=total,
            com_offset=(self.mass_body * self.com_offset + mass * x) / total,
            inertia_body=self.inertia_body + yaw_inertia + reduced * (x - self.com_offset) ** 2,
        )
