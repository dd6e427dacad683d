# SPDX-License-Identifier: Apache-2.0
"""Friction in an identification: its share of the torque, and the breakaway torque.

A standing wheel counts as frictionless: what holds it is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffbot_description import RobotModel
from diffbot_description.dynamics import Array
from diffbot_ident.estimate import Estimate, EstimateState, FrictionEstimate, Pair
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.quantity import Quantity, friction_quantities, significant, smallest_torque

Fraction = float | None


@dataclass(frozen=True)
class FrictionEffect:
    """Effect of friction in a run.

    Attributes:
        left, right, both: Rms of the friction torque over rms of the torque; None if unknown.
        smallest_torque: Of each wheel, from which equal torques move the robot, N m.
        coulomb: [left, right], N m; `gear_loss`: [left, right] shares of the torque.
    """

    left: Fraction
    right: Fraction
    both: Fraction
    smallest_torque: Quantity
    coulomb: tuple[Quantity, Quantity]
    gear_loss: Pair

    @classmethod
    def of(cls, recording: IdentRecording, model: RobotModel) -> FrictionEffect | None:
        """Return the effect in a run so far, or None if friction is not modelled."""
        estimate = recording.estimate
        if estimate is None or estimate.friction is None:
            return None
        taken, given = _mean_squares(estimate.friction, recording.motion()[1], model)
        result = friction_quantities(estimate)
        return cls(
            _fraction(taken[0], given[0]),
            _fraction(taken[1], given[1]),
            _fraction(float(taken.sum()), float(given.sum())),
            smallest_torque(estimate.friction, estimate.state),
            (result["coulomb_left"], result["coulomb_right"]),
            estimate.friction.gear_loss,
        )

    def keys(self) -> dict[str, Any]:
        return {
            "friction_share": {"left": self.left, "right": self.right, "both": self.both},
            "smallest_torque": self.smallest_torque.entry(),
        }

    def note(self, estimate: Estimate) -> str | None:
        """Return a line below the table, or None if nothing is certain."""
        if estimate.state is not EstimateState.ESTIMATED:
            return None
        results = []
        if self.both is not None:
            results.append(f"friction takes {100.0 * self.both:.0f} % of the torque (rms)")
        values = [q.value for q in self.coulomb if q.value is not None and q.std is not None]
        low, _ = self.smallest_torque.interval95
        if len(values) == len(self.coulomb) and low is not None and low > 0.0:
            starting = (v / (1.0 - loss) for v, loss in zip(values, self.gear_loss, strict=True))
            both = " + ".join(significant(value, 2) for value in starting)
            results.append(f"the robot moves from {both} N m on")
        return "; ".join(results) or None


def friction_torques(friction: FrictionEstimate, motion: Array, model: RobotModel) -> Array:
    """Return the friction torques [left, right], N m, shape (n, 2); NaN if unknown.

    `motion`: [v, omega, left, right torque], m/s, rad/s and N m, shape (n, 4).
    """
    turn = model.half_track * motion[:, 1]
    speed = np.column_stack((motion[:, 0] - turn, motion[:, 0] + turn)) / model.wheel_radius
    known = np.isfinite(friction.variances)
    viscous, coulomb = np.where(known, friction.values, math.nan).reshape(2, 2)
    dry = coulomb + friction.gear_loss * np.abs(motion[:, 2:4])
    torque: Array = viscous * speed + dry * np.sign(speed)
    return torque


def _mean_squares(
    friction: FrictionEstimate, motion: Array, model: RobotModel
) -> tuple[Array, Array]:
    """Return mean squares of friction torque and torque [left, right], (N m)^2."""
    motion = motion[np.isfinite(motion).all(axis=1)]
    if not len(motion):
        return np.full(2, math.nan), np.full(2, math.nan)
    torque = friction_torques(friction, motion, model)
    return np.mean(np.square(torque), axis=0), np.mean(np.square(motion[:, 2:4]), axis=0)


def _fraction(taken: float, given: float) -> Fraction:
    fraction = math.sqrt(taken / given) if given > 0.0 and taken >= 0.0 else math.nan
    return fraction if math.isfinite(fraction) else None
