"""Which wheel a torque drives, and which way: finds swapped wheels and flipped signs.

A robot as it should be gains v with the sum of its wheels' torques and loses omega with their
difference (K7 > 0, K8 < 0). With signs flipped or sides swapped, what arrives as sum and difference
is the other one of the two, or its negative. Eight wirings give eight patterns; the one that
explains the motion best is named once it does so much better than the right one.

What friction may explain is taken out first: a wheel that runs away under a guard of the wrong sign
ends where friction balances a constant torque.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.integral_rows import (
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    RowSums,
    V,
)

# Evidence: logarithm of how many times likelier than the right wiring another one has to be to be
# named. A robot that has run away from its guard is evidence by itself.
EVIDENCE, EVIDENCE_RUNAWAY = 5.0, 1.0
# Windows that share nothing before which nothing is named.
MIN_WINDOWS, MIN_WINDOWS_RUNAWAY = 3.0, 1.0
# Share of a motion that torque alone cannot explain, in any robot: friction, coupling, noise.
UNEXPLAINED = 0.05
# Weight of "no friction", as a share of what the rows hold about it. Little more than none lets
# friction explain what the torque does, more than this leaves in what friction does
# (benchmarks/trust.py wiring).
NO_FRICTION = 0.05


class Wiring(Enum):
    """How the wheels may be wired.

    Attributes:
        problem: in words; None where the wiring is right.
        total: what the wheels see as the sum of the torques: "s", the reported sum, or "d", the
            reported left less right, each with its sign.
        difference: what they see as left less right.
    """

    RIGHT = (None, "+s", "+d")
    BOTH_FLIPPED = (
        "both wheels turn against their torque: the torque's sign is flipped, or the encoders'",
        "-s",
        "-d",
    )
    LEFT_FLIPPED = (
        "the left wheel turns against its torque: the sign of its torque or encoder is flipped",
        "-d",
        "-s",
    )
    RIGHT_FLIPPED = (
        "the right wheel turns against its torque: the sign of its torque or encoder is flipped",
        "+d",
        "+s",
    )
    SWAPPED = ("the wheels are swapped: a torque on the left turns the right one", "+s", "-d")
    SWAPPED_BOTH_FLIPPED = ("the wheels are swapped and both signs are flipped", "-s", "+d")
    SWAPPED_LEFT_FLIPPED = (
        "the wheels are swapped, and the sign of the left torque is flipped",
        "-d",
        "+s",
    )
    SWAPPED_RIGHT_FLIPPED = (
        "the wheels are swapped, and the sign of the right torque is flipped",
        "+d",
        "-s",
    )

    def __init__(self, problem: str | None, total: str, difference: str) -> None:
        self.problem = problem
        self.total = total
        self.difference = difference


def likely_wiring(sums: RowSums, *, runaway: bool = False) -> Wiring:
    """How the wheels are wired; RIGHT also while that cannot be told.

    Args:
        sums: of the rows so far.
        runaway: whether the robot has run away from its guard.
    """
    windows = sums.rows / (sums.window + sums.smoothing)
    if windows < (MIN_WINDOWS_RUNAWAY if runaway else MIN_WINDOWS):
        return Wiring.RIGHT
    moments = _without_friction(sums.moments)
    found = {
        (output, sign + name): likelihoods
        for output in (DV, DOMEGA)
        for name, columns in (("s", SUM), ("d", DIFFERENCE))
        for sign, likelihoods in _log_likelihoods(moments, output, columns).items()
    }
    opposite = {"+": "-", "-": "+"}
    likelihood = {
        # Wheels as they should be gain v by the sum, and lose omega by the difference.
        wiring: max(
            found[DV, wiring.total]
            + found[DOMEGA, opposite[wiring.difference[0]] + wiring.difference[1]]
        )
        for wiring in Wiring
    }
    best = max(likelihood, key=lambda wiring: likelihood[wiring])
    gain = 0.5 * windows * (likelihood[best] - likelihood[Wiring.RIGHT])
    return best if gain > (EVIDENCE_RUNAWAY if runaway else EVIDENCE) else Wiring.RIGHT


def _without_friction(moments: Array) -> Array:
    """Moments of what is left of the columns after a regression on speeds and their signs."""
    columns = [V, OMEGA, SIGN_LEFT, SIGN_RIGHT]
    own = moments[np.ix_(columns, columns)]
    own = own + np.diag(NO_FRICTION * np.diag(own) + np.finfo(float).tiny)
    return moments - moments[:, columns] @ np.linalg.solve(own, moments[columns])


def _log_likelihoods(moments: Array, output: int, columns: slice) -> dict[str, Array]:
    """Twice the log likelihood per independent row, but for what all wirings share.

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


def standing_wheel(sums: RowSums) -> str | None:
    """What to say of a wheel that never turned though both got torque; None when both did."""
    power = np.diag(sums.moments)
    if power[SUM.start] + power[DIFFERENCE.start] == 0.0:
        return None
    still = [
        name
        for name, column in (("left", SIGN_LEFT), ("right", SIGN_RIGHT))
        if power[column] == 0.0
    ]
    if not still:
        return None
    which = "neither wheel turns" if len(still) == 2 else f"the {still[0]} wheel does not turn"
    return f"{which} under torque: check its power, brake, cable and encoder, or raise amplitude"
