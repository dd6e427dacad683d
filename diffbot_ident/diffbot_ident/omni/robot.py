"""What a four-wheel omnidirectional robot is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.motor import Motor
from diffbot_ident.omni.published import MASS, TABLE_5_MEAN, TABLE_6_MEAN

AXES = ("V", "Vn", "W")


@dataclass(frozen=True)
class OmniRobot:
    """Masses and friction of (1)-(3), geometry of (12) and motors of (7)-(10).

    As it stands it is the model robot of the paper's section 4, with the means of Tables 5 and 6.

    Attributes:
        mass: M, kg, > 0.
        inertia: J, about the vertical axis, kg m^2, > 0.
        viscous: [B_v, B_vn in N/(m/s), B_w in N m/(rad/s)], each >= 0.
        coulomb: [C_v, C_vn in N, C_w in N m], each >= 0.
        wheel_distance: b, from the centre to each wheel, m, > 0. Not in the paper.
        motor: each of the four. Not in the paper.

    Raises:
        ValueError: a value is not finite or out of its range.
    """

    mass: float = MASS
    inertia: float = TABLE_6_MEAN
    viscous: tuple[float, float, float] = TABLE_5_MEAN.viscous
    coulomb: tuple[float, float, float] = TABLE_5_MEAN.coulomb
    wheel_distance: float = 0.2
    motor: Motor = field(default_factory=Motor)

    def __post_init__(self) -> None:
        for name in ("mass", "inertia", "wheel_distance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value}: must be finite and > 0")
        for name in ("viscous", "coulomb"):
            values = getattr(self, name)
            if len(values) != 3 or not all(math.isfinite(v) and v >= 0.0 for v in values):
                raise ValueError(
                    f"{name} = {values}: must be three finite numbers >= 0, for {', '.join(AXES)}"
                )

    @property
    def masses(self) -> Array:
        """[M, M, J]: what each of [V, Vn, W] accelerates, (3,) kg, kg, kg m^2."""
        return np.array([self.mass, self.mass, self.inertia])
