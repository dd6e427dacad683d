"""Method 2: friction over mass, or over inertia, from coasting; (16)-(18).

Coasting is the motion of no force. It holds b = B / M and c = C / M, and no more: twice the mass
with twice the friction coasts alike. B and C themselves need the mass from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.omni.coasting import Coasting, mean_deceleration, solve_coasting
from diffbot_ident.omni.estimate import Estimate
from diffbot_ident.omni.kinematics import Array


@dataclass(frozen=True)
class CoastingFit:
    """What coasting says of one axis.

    Attributes:
        rate: b = B / M, 1/s (B_w / J for W).
        deceleration: c = C / M, m/s^2 (C_w / J in rad/s^2 for W).
        covariance: of [b, c], (2, 2). They are strongly correlated.
        residual_std: of the readings in motion, m/s or rad/s.
        starts: fitted size of the speed at the first reading of each run, m/s or rad/s; () where
            a method has none.
    """

    rate: Estimate
    deceleration: Estimate
    covariance: Array
    residual_std: float
    starts: tuple[float, ...] = ()

    def friction(self, mass: Estimate | float) -> tuple[Estimate, Estimate]:
        """B and C for a mass in kg (J in kg m^2 for W), with the mass's own uncertainty."""
        return self.rate.scaled(mass), self.deceleration.scaled(mass)


def fit_coasting(runs: Sequence[Coasting]) -> CoastingFit:
    """Fit the closed form of coasting to one or more runs of one axis.

    The intervals hold for readings with independent errors. A constant offset in time does not
    matter: the start of each run is free.

    Raises:
        ValueError: there are no runs, or they do not determine b and c.
    """
    guess = [0.0, float(np.mean([mean_deceleration(run) for run in runs]))] if runs else [0.0, 0.0]
    found = solve_coasting(runs, lambda p: (p[0], p[1], np.eye(2)), guess)
    covariance = found.variance * found.inverse[:2, :2]
    rate, deceleration = (
        Estimate(float(value), float(std), found.freedom)
        for value, std in zip(found.parameters, np.sqrt(np.diag(covariance)), strict=True)
    )
    return CoastingFit(
        rate, deceleration, covariance, found.variance**0.5, tuple(found.starts.tolist())
    )
