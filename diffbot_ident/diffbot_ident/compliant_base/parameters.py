"""The 22 parameters of a rigid vehicle body on its suspension.

    m      mass, kg
    I      inertia about the centre of gravity, kg m^2: the tensor's elements xx yy zz yz zx xy
    c      from the centre of gravity to the base of the arm (r2 of the paper), m
    b, k   damping and stiffness of the suspension, [x y z] in N s/m and N/m and, for turns about
           [x y z] = [pitch roll yaw], in N m s/rad and N m/rad

Axes: x to the side, y forwards, z up, as the paper's Table 2 implies (pitch goes with I_x). The
paper gives kg/s and kg/s^2 for all of b and k; for turns that must be kg m^2/s and kg m^2/s^2, and
its second "I_yz" can only be I_zx.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

NAMES = (
    "mass",
    "inertia xx", "inertia yy", "inertia zz", "inertia yz", "inertia zx", "inertia xy",
    "c.g. x", "c.g. y", "c.g. z",
    "damping x", "damping y", "damping z", "damping pitch", "damping roll", "damping yaw",
    "stiffness x", "stiffness y", "stiffness z",
    "stiffness pitch", "stiffness roll", "stiffness yaw",
)  # fmt: skip
UNITS = (
    "kg",
    *("kg m²",) * 6,
    *("m",) * 3,
    *("N s/m",) * 3,
    *("N m s/rad",) * 3,
    *("N/m",) * 3,
    *("N m/rad",) * 3,
)
SIZE = len(NAMES)
# Where each group is in the vector.
MASS = 0
INERTIA, PRODUCTS = slice(1, 7), slice(4, 7)
ARM_BASE = slice(7, 10)
LINEAR_DAMPING, ANGULAR_DAMPING = slice(10, 13), slice(13, 16)
LINEAR_STIFFNESS, ANGULAR_STIFFNESS = slice(16, 19), slice(19, 22)


@dataclass(frozen=True)
class BaseParameters:
    """Parameters by group.

    Attributes:
        mass: kg, > 0.
        inertia: about the centre of gravity, kg m^2, shape (3, 3), positive definite.
        arm_base: from the centre of gravity to the arm's base, m, shape (3,).
        damping: of [x y z pitch roll yaw], N s/m and N m s/rad, shape (6,).
        stiffness: of the same, N/m and N m/rad, shape (6,).
    """

    mass: float
    inertia: Array
    arm_base: Array
    damping: Array
    stiffness: Array

    def as_array(self) -> Array:
        """The vector, shape (22,), in the order of NAMES."""
        i = self.inertia
        own = [self.mass, i[0, 0], i[1, 1], i[2, 2], i[1, 2], i[2, 0], i[0, 1]]
        return np.concatenate((own, self.arm_base, self.damping, self.stiffness))

    @classmethod
    def from_array(cls, values: ArrayLike) -> BaseParameters:
        """From the vector.

        Raises:
            ValueError: the shape is not (22,), or a value is not finite.
        """
        x = np.asarray(values, dtype=float)
        if x.shape != (SIZE,):
            raise ValueError(f"values have shape {x.shape}: must be ({SIZE},), see NAMES")
        if not np.isfinite(x).all():
            name = NAMES[int(np.flatnonzero(~np.isfinite(x))[0])]
            raise ValueError(f"{name} is not finite: give a number")
        xx, yy, zz, yz, zx, xy = x[INERTIA]
        inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        return cls(float(x[MASS]), inertia, x[ARM_BASE], x[10:16], x[16:22])

    def check_physical(self) -> None:
        """Refuse what no body on a suspension can have.

        Raises:
            ValueError: mass, inertia, damping or stiffness is not positive (definite).
        """
        if not self.mass > 0.0:
            raise ValueError(f"mass = {self.mass} kg: must be > 0")
        least = float(np.linalg.eigvalsh(self.inertia)[0])
        if not least > 0.0:
            raise ValueError(f"least principal inertia = {least} kg m^2: must be > 0")
        for name, group in (("damping", self.damping), ("stiffness", self.stiffness)):
            if not (group > 0.0).all():
                raise ValueError(f"{name} = {group.tolist()}: all six must be > 0")


# True values of the paper's Table 1.
TABLE_1 = np.array(
    [3.0, 0.15, 0.10, 0.20, 0.0, 0.03, 0.0, 0.01, 0.3, 0.1]
    + [100.0, 100.0, 300.0, 200.0, 300.0, 400.0]
    + [1000.0, 1000.0, 500.0, 2000.0, 2500.0, 3000.0]
)


def mean_error(estimate: Array, truth: Array) -> Array:
    """Mean of |estimate - truth| / |truth| over parameters that are not zero in truth, %.

    A relative error of a zero is infinite, so these have no part in it, as in the paper's tables.

    Args:
        estimate: shape (..., 22).
        truth: shape (22,).

    Returns:
        Shape (...).
    """
    counts = truth != 0.0
    errors = np.abs(estimate[..., counts] - truth[counts]) / np.abs(truth[counts])
    return 100.0 * errors.mean(axis=-1)
