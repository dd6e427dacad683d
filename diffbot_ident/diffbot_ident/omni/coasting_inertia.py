"""Methods 1 + 2: the inertia from coasting, with the friction from steady speeds; (18).

    dW/dt = -(B_w W + C_w) / J

Coasting holds B_w / J and C_w / J; method 1 gives B_w and C_w. What is not known of these two goes
into J as well: dJ/d[B_w, C_w] follows from the least squares' own conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffbot_ident.omni.coasting import Coasting, mean_deceleration, solve_coasting
from diffbot_ident.omni.estimate import Estimate, combined
from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.steady_fit import SteadyFit


def fit_inertia(runs: Sequence[Coasting], steady: SteadyFit) -> Estimate:
    """J in kg m^2 from runs of coasting in W and method 1's friction of W.

    Raises:
        ValueError: there are no runs, they do not determine J, or the friction is not > 0.
    """
    viscous, coulomb = steady.viscous.value, steady.coulomb.value
    if not (coulomb > 0.0 and viscous >= 0.0):
        raise ValueError(
            f"B_w = {viscous:g}, C_w = {coulomb:g}: friction must be > 0; repeat method 1"
        )

    def law(p: Array) -> tuple[float, float, Array]:
        friction = np.array([viscous, coulomb])
        return viscous / p[0], coulomb / p[0], -(friction / p[0] ** 2)[:, None]

    guess = coulomb / np.mean([mean_deceleration(run) for run in runs]) if runs else 1.0
    found = solve_coasting(runs, law, guess)
    inertia = float(found.parameters[0])
    noise = float(np.sqrt(found.variance * found.inverse[0, 0]))
    # The fitted J moves against what B_w and C_w do to the model: b = B_w / J, c = C_w / J.
    shift = -(found.inverse @ found.jacobian.T @ found.by_law)[0] / inertia
    friction = float(np.sqrt(shift @ steady.covariance @ shift))
    std, freedom = combined((noise, friction), (found.freedom, steady.viscous.freedom))
    return Estimate(inertia, std, freedom)
