# SPDX-License-Identifier: Apache-2.0
"""The robot's weighed mass or load, which fixes the torque of a unit of effort (effort_scale)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.verdict import Value

# Default half width of a mass's 95 % interval, as a share.
WEIGHED = 0.005
UNIT_NAMES = {"ampere": "N m/A", "percent": "N m/%", "unknown": "N m per unit"}
"""Unit of the torque constant, by the unit of effort."""
# The wheels' constants differ above these deviations and this share.
SIGNIFICANT_DEVIATIONS, NOTABLE = 3.0, 0.005


def parse_mass(text: str, name: str) -> Value:
    """Parse a mass and its 95 % half width, kg, as "25" or "25+-0.2". Raises ValueError."""
    number, _, half = text.replace("+/-", "±").replace("+-", "±").partition("±")
    try:
        mass = float(number)
        spread = float(half) if half.strip() else WEIGHED * mass
    except ValueError:
        mass = spread = math.nan
    if not (0.0 < mass < 1e6 and 0.0 <= spread < 0.5 * mass):
        raise ValueError(
            f"{text!r}: must be kg above 0, with or without a 95 % interval of less than half of "
            "it, such as 25 or 25+-0.2"
        )
    return Value(name, mass, spread / NORMAL_95, "kg")


@dataclass(frozen=True)
class Weighing:
    """Weighed mass and load of the robot.

    Attributes:
        mass: With wheels, as the robot drove (without the load); None: not weighed.
        wheel_inertia: J, kg m^2; needed with the mass.
        load: Load of the second recording; None: there is none.
        place: Distance of the load ahead of the axle, m; None: not known.
        ratio: Ratio of the wheels' constants to their mean, [left, right].
        ratio_std: Its standard deviation if estimated from the motion; 0: given.
        radius_std: Standard deviation of the radius, as a share of it.
    """

    unit: str
    mass: Value | None = None
    wheel_inertia: float = 0.0
    load: Value | None = None
    place: float | None = 0.0
    ratio: tuple[float, float] = (1.0, 1.0)
    ratio_std: float = 0.0
    radius_std: float = 0.0

    def with_motion(self, difference: tuple[float, float]) -> Weighing:
        """Return the weighing with the ratio by a torque_difference, if it surely differs."""
        fraction, std = difference
        if not abs(fraction) > max(SIGNIFICANT_DEVIATIONS * std, NOTABLE):
            return self
        left, right = self.ratio[0] * (1.0 - fraction), self.ratio[1] * (1.0 + fraction)
        mean = 0.5 * (left + right)
        return replace(self, ratio=(left / mean, right / mean), ratio_std=std)
