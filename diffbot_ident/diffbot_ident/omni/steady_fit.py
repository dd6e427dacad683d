"""Method 1: friction from the forces that keep the speed steady.

    (13)  F_v = B_v V + C_v    (14)  F_vn = B_vn Vn + C_vn    (15)  Gamma = B_w W + C_w

for positive speeds; with sgn(V) C for C they hold for both directions. Ordinary least squares, as
in the paper; 95 % intervals by Student's t, from the scatter of the points about their line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.estimate import Estimate
from diffbot_ident.omni.kinematics import Array, body_forces
from diffbot_ident.omni.robot import OmniRobot


@dataclass(frozen=True)
class SteadyFit:
    """Friction of one axis.

    Attributes:
        viscous: B, N/(m/s) or N m/(rad/s).
        coulomb: C, N or N m.
        covariance: of [B, C], (2, 2). They are strongly correlated.
        residual_std: of the points about the line, N or N m.
    """

    viscous: Estimate
    coulomb: Estimate
    covariance: Array
    residual_std: float


def steady_forces(current: ArrayLike, robot: OmniRobot) -> Array:
    """(4)-(8): [F_v, F_vn, Gamma], (..., 3) N, N, N m, from currents of the motors, (..., 4) A.

    An error of l K_t / r or of b scales B and C alike; no interval here knows of it.
    """
    return body_forces(robot.motor.wheel_force(current), robot.wheel_distance)


def fit_steady(speeds: ArrayLike, forces: ArrayLike) -> SteadyFit:
    """(13)-(15) for one axis, from one point per steady speed.

    Args:
        speeds: V, Vn or W of each experiment, (n,) m/s or rad/s, n >= 3, of either sign, not 0.
        forces: F_v, F_vn or Gamma, (n,) N or N m.

    Raises:
        ValueError: too few points, unlike shapes, a value that is not finite, a speed of 0, or
            speeds whose sizes do not differ.
    """
    speeds, forces = np.asarray(speeds, dtype=float), np.asarray(forces, dtype=float)
    if speeds.ndim != 1 or speeds.shape != forces.shape:
        raise ValueError(
            f"speeds {speeds.shape} and forces {forces.shape}: give one force for each speed"
        )
    if len(speeds) < 3:
        raise ValueError(f"{len(speeds)} steady speeds: B, C and their intervals need at least 3")
    if not (np.isfinite(speeds).all() and np.isfinite(forces).all()):
        raise ValueError("speeds and forces must be finite; leave out readings that failed")
    if not speeds.all():
        raise ValueError("a steady speed is 0: Coulomb friction has no known sign there")
    if np.ptp(np.abs(speeds)) < 1e-6 * np.abs(speeds).max():
        raise ValueError(f"all speeds are {abs(speeds[0]):g}: B and C need different ones")
    rows = np.column_stack((speeds, np.sign(speeds)))
    inverse = np.linalg.inv(rows.T @ rows)
    viscous, coulomb = inverse @ rows.T @ forces
    freedom = len(speeds) - 2
    variance = float(np.sum((forces - rows @ (viscous, coulomb)) ** 2)) / freedom
    stds = np.sqrt(variance * np.diag(inverse))
    return SteadyFit(
        Estimate(float(viscous), float(stds[0]), freedom),
        Estimate(float(coulomb), float(stds[1]), freedom),
        variance * inverse,
        float(np.sqrt(variance)),
    )
