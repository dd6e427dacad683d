"""Which wheel a torque drives, and which way: finds swapped wheels and flipped signs.

A robot as it should be gains v with the sum of its wheels' torques and loses omega with their
difference (K7 > 0, K8 < 0). With signs flipped or sides swapped, what arrives as sum and difference
is the other one of the two, or its negative. Eight ways of wiring give eight patterns; the one
that explains the motion best is named once it does so much better than the right one.

What friction may explain is taken out first: a wheel that runs away under a guard of the wrong sign
ends where friction balances a constant torque.
"""

from __future__ import annotations

import numpy as np

from diffbot_ident.integral_rows import (
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    Array,
    V,
)
from diffbot_ident.row_sums import RowSums

# What the wheels see as (sum, difference), from s = tau_l + tau_r and d = tau_l - tau_r.
PATTERNS = {
    "": ("+s", "+d"),
    "both wheels turn against their torque: the torque's sign is flipped, or the encoders'": (
        "-s",
        "-d",
    ),
    "the left wheel turns against its torque: the sign of its torque or encoder is flipped": (
        "-d",
        "-s",
    ),
    "the right wheel turns against its torque: the sign of its torque or encoder is flipped": (
        "+d",
        "+s",
    ),
    "the wheels are swapped: a torque on the left turns the right one": ("+s", "-d"),
    "the wheels are swapped and both signs are flipped": ("-s", "+d"),
    "the wheels are swapped, and the sign of the left torque is flipped": ("-d", "+s"),
    "the wheels are swapped, and the sign of the right torque is flipped": ("+d", "-s"),
}
OTHER = {"+": "-", "-": "+"}
# Logarithm of how many times likelier than the right wiring another one has to be to be named.
LIKELIER = 5.0
# Share of a motion that torque alone cannot explain, in any robot: friction, coupling, noise.
UNEXPLAINED = 0.05
# Weight of "no friction", as a share of what the rows hold about it. Little more than none lets
# friction explain what the torque does, more than this leaves in what friction does
# (benchmarks/trust.py wiring).
NO_FRICTION = 0.05


# The same for a robot that has run away from its guard, which is evidence by itself.
LIKELIER_RUNAWAY = 1.0


def wiring_problem(sums: RowSums, likelier: float = LIKELIER) -> str:
    """What is wired wrongly; empty when nothing is, or while that cannot be told.

    Args:
        sums: of the rows so far.
        likelier: logarithm of how many times likelier than the right wiring one has to be.
    """
    independent = sums.rows / (sums.window + sums.smoothing)
    if independent < (3.0 if likelier >= LIKELIER else 1.0):
        return ""
    moments = _without_friction(sums.moments)
    found = {
        (output, name): _log_likelihoods(moments, output, columns)
        for output in (DV, DOMEGA)
        for name, columns in (("s", SUM), ("d", DIFFERENCE))
    }
    likelihood = {
        problem: max(
            # Wheels as they should be gain v by the sum, and lose omega by the difference.
            found[DV, linear[1]][linear[0]] + found[DOMEGA, angular[1]][OTHER[angular[0]]]
        )
        for problem, (linear, angular) in PATTERNS.items()
    }
    best = max(likelihood, key=lambda problem: likelihood[problem])
    gain = 0.5 * independent * (likelihood[best] - likelihood[""])
    return best if gain > likelier else ""


def standing_wheel(sums: RowSums) -> str:
    """Which wheel never turned though both got torque; empty when both did."""
    power = np.diag(sums.moments)
    if power[SUM.start] + power[DIFFERENCE.start] == 0.0:
        return ""
    still = [
        name
        for name, column in (("left", SIGN_LEFT), ("right", SIGN_RIGHT))
        if power[column] == 0.0
    ]
    if not still:
        return ""
    which = "neither wheel turns" if len(still) == 2 else f"the {still[0]} wheel does not turn"
    return f"{which} under torque: check its power, brake, cable and encoder, or raise amplitude"


def _without_friction(moments: Array) -> Array:
    """Moments of what is left of the columns after a regression on speeds and their signs."""
    columns = [V, OMEGA, SIGN_LEFT, SIGN_RIGHT]
    own = moments[np.ix_(columns, columns)]
    own = own + np.diag(NO_FRICTION * np.diag(own) + np.finfo(float).tiny)
    return moments - moments[:, columns] @ np.linalg.solve(own, moments[columns])


def _log_likelihoods(moments: Array, output: int, columns: slice) -> dict[str, Array]:
    """Twice the log likelihood per independent row, but for what all patterns share.

    Returns:
        For the sign of the gain, "+" and "-": one for each delay, shape (DELAYS,).
    """
    power = np.diag(moments)[columns] * moments[output, output]
    along = moments[columns, output]
    tiny = np.finfo(float).tiny
    return {
        sign: -np.log(
            np.clip(1.0 - np.maximum(direction * along, 0.0) ** 2 / (power + tiny), 0.0, 1.0)
            + UNEXPLAINED
        )
        for sign, direction in (("+", 1.0), ("-", -1.0))
    }
