# SPDX-License-Identifier: Apache-2.0
"""What a user knows of the robot's mass, to fix the torque of a unit of effort (effort_scale)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from diffbot_ident.recording.verdict import Value
from diffbot_ident.torque.estimate import NORMAL_95

# Half width of the 95 % interval of a weighed mass of which nothing else is said, as a share.
WEIGHED = 0.005
UNIT_NAMES = {"ampere": "N m/A", "percent": "N m/%", "unknown": "N m per unit"}
"""Of the constant, by the unit of effort."""
# Deviations, and the share, beyond which the motion says that the wheels' constants differ.
SURE_DEVIATIONS, NOTABLE = 3.0, 0.005


def parse_mass(text: str, name: str) -> Value:
    """A mass with its uncertainty, such as "25", "25±0.2" or "25+-0.2" (95 %), kg.

    Raises:
        ValueError: it is none.
    """
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
    """What is known of the robot's mass.

    Attributes:
        unit: of the efforts, one of UNIT_NAMES.
        mass: weighed, wheels and all, as it drove (without the load); None: not weighed.
        wheel_inertia: J, kg m^2; needed with the mass.
        load: of the second recording; None: there is none.
        place: of the load ahead of the axle, m; None: not known.
        ratio: of the wheels' constants to their mean, [left, right].
        ratio_std: standard deviation of both ratios where the motion told them; 0: they are given.
        radius_std: standard deviation of the radius, as a share.
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
        """With the wheels' ratio as the motion tells it, where it surely differs from the given.

        Args:
            difference: an estimate's torque_difference, of efforts in the ratio that is given.
        """
        share, std = difference
        if not abs(share) > max(SURE_DEVIATIONS * std, NOTABLE):
            return self
        left, right = self.ratio[0] * (1.0 - share), self.ratio[1] * (1.0 + share)
        mean = 0.5 * (left + right)
        return replace(self, ratio=(left / mean, right / mean), ratio_std=std)
