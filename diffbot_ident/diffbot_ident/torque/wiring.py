# SPDX-License-Identifier: Apache-2.0
"""Wiring check: which wheel a torque drives, and in which direction.

Of eight wirings, the one that explains the motion best, once it does so much better than the right.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.torque.axis_fit import TINY, batch
from diffbot_ident.torque.columns import DOMEGA, DV, OMEGA, SIGN_LEFT, SIGN_RIGHT, V
from diffbot_ident.torque.effects import DIFFERENCE, SUM, TORQUES
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import DELAYS

# Logarithm of the likelihood ratio to the right wiring beyond which another is reported; less after
# the robot has run away from its guard, which is evidence.
EVIDENCE, EVIDENCE_RUNAWAY = 5.0, 1.0
# Disjoint windows below which no wiring is reported.
MIN_WIRING_WINDOWS, MIN_WINDOWS_RUNAWAY = 3.0, 1.0
# Share of the motion of any robot that torque alone cannot explain: friction, coupling, noise.
UNEXPLAINED = 0.05
# Weight of "no friction", as a share of the rows' information: with less, friction explains
# torques; with more, effects of it remain (benchmarks/trust.py wiring).
NO_FRICTION = 0.05


class Wiring(Enum):
    """How the wheels may be wired; problem None: rightly.

    The reported torque that acts as the sum, and as left minus right: "s", the sum, or "d", left
    minus right, with its sign.
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
    """Return the most likely wiring of the wheels; RIGHT also while the data are not conclusive."""
    windows = sums.rows / (sums.window + sums.smoothing)
    if windows < (MIN_WINDOWS_RUNAWAY if runaway else MIN_WIRING_WINDOWS):
        return Wiring.RIGHT
    result = _log_likelihoods(_without_friction(sums.moments_at(range(DELAYS))))
    likelihood = (result[0][_LINEAR] + result[1][_ANGULAR]).max(axis=1)
    best = int(np.argmax(likelihood))
    gain = 0.5 * windows * (likelihood[best] - likelihood[_WIRINGS.index(Wiring.RIGHT)])
    return _WIRINGS[best] if gain > (EVIDENCE_RUNAWAY if runaway else EVIDENCE) else Wiring.RIGHT


_WIRINGS = tuple(Wiring)
# Indices (sign, torque) into `_log_likelihoods`: rightly the sum increases v, the difference
# decreases omega.
_LINEAR = (
    np.array(["+-".index(wiring.total[0]) for wiring in _WIRINGS]),
    np.array(["sd".index(wiring.total[1]) for wiring in _WIRINGS]),
)
_ANGULAR = (
    np.array(["-+".index(wiring.difference[0]) for wiring in _WIRINGS]),
    np.array(["sd".index(wiring.difference[1]) for wiring in _WIRINGS]),
)


def _without_friction(moments: Array) -> Array:
    """Return the moments of residuals of a regression on speeds and their signs."""
    columns = (V, OMEGA, SIGN_LEFT, SIGN_RIGHT)
    own, along = moments[batch(columns)], moments[columns, :]
    own += np.diag(NO_FRICTION * own.diagonal() + TINY)
    left: Array = moments - along.T @ np.linalg.solve(own, along)
    return left


def _log_likelihoods(moments: Array) -> Array:
    """Return twice the log likelihood per row, up to a constant, (2, 2, 2, DELAYS).

    Of DV and DOMEGA, gains of sign + and -, the torques' sum and difference, and delays.
    """
    outputs = [DV, DOMEGA]
    power = moments.diagonal()
    product = power[outputs, None] * power[TORQUES:]
    along = moments[outputs, TORQUES:]
    fraction = np.square(np.maximum((along, -along), 0.0)) / (product + TINY)
    result: Array = -np.log(np.minimum(np.maximum(1.0 - fraction, 0.0), 1.0) + UNEXPLAINED)
    return result.reshape(2, 2, DELAYS, 2).transpose(1, 0, 3, 2)


def standing_wheel(sums: RowSums) -> str | None:
    """Return the problem of a wheel that never turned under torque; None if both turned."""
    power = sums.moments.diagonal()
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
