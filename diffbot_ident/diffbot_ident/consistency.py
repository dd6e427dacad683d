"""What energy and geometry demand of K5..K8, as a check and as knowledge.

Coupling v and omega does no work, so M_e K5 + I_e K6 = 0 with M_e = 1 / (r K7) and
I_e = -b / (r K8): K5 and K6 have opposite signs, and K5 K8 = b K6 K7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.integral_rows import Array

# Disagreement that is called a contradiction: standard deviations, and share of the larger side.
# Only both together count: a long run tells slight slip of the wheels from none.
SIGMAS, SHARE = 5.0, 0.1


@dataclass(frozen=True)
class Consistency:
    """K5..K8 made consistent.

    Attributes:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: of the values, shape (4, 4).
        problem: what contradicts, with values and limits; empty when nothing does. The values are
            then those that came in.
    """

    values: Array
    covariance: Array
    problem: str


def make_consistent(values: Array, covariance: Array, half_track: float) -> Consistency:
    """The most likely values with K5 K8 = b K6 K7, unless those at hand contradict it.

    One Gauss-Newton step: errors are small against the values where this is asked.

    Args:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: of them, shape (4, 4).
        half_track: b, m.
    """
    k5, k6, k7, k8 = values.tolist()
    gap = k5 * k8 - half_track * k6 * k7
    slope = np.array([k8, -half_track * k7, -half_track * k6, k5])
    spread = covariance @ slope
    variance = float(slope @ spread)
    problem = _contradiction(values, covariance, gap, math.sqrt(max(variance, 0.0)), half_track)
    if problem or variance <= 0.0:
        return Consistency(values, covariance, problem)
    fused = covariance - np.outer(spread, spread) / variance
    return Consistency(values - spread * (gap / variance), fused, "")


def _contradiction(
    values: Array, covariance: Array, gap: float, deviation: float, half_track: float
) -> str:
    k5, k6, k7, k8 = values.tolist()
    std5, std6 = np.sqrt(np.diag(covariance)[:2]).tolist()
    if k5 * k6 > 0.0 and abs(k5) > SIGMAS * std5 and abs(k6) > SIGMAS * std6:
        return (
            f"K5 = {k5:.4g} and K6 = {k6:.4g} have the same sign, which no robot has (it would "
            "gain energy by turning); check the order [left, right] of the wheels and the signs "
            "of their angles"
        )
    left, right = k5 * k8, half_track * k6 * k7
    if abs(gap) > SIGMAS * deviation and abs(gap) > SHARE * max(abs(left), abs(right)):
        return (
            f"K5 K8 = {left:.4g} and b K6 K7 = {right:.4g} must be equal; they are "
            f"{abs(gap) / deviation:.0f} standard deviations apart: check that the wheels do not "
            "slip, and their radius and separation in the robot's YAML"
        )
    return ""
