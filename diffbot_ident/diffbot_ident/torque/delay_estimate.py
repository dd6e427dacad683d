# SPDX-License-Identifier: Apache-2.0
"""How late the reported torques act, by the residuals that each delay leaves, and how sure that is.

Minus twice the log likelihood of a delay d, with R the squared residuals of both axes that the best
parameters leave with the torques d periods late (`axis_fit.DelayedResiduals`), and n the windows
that share nothing:

    cost(d) = n (log R_linear(d) + log R_angular(d)) + what all delays share

Whole numbers of samples are tried first, as most robots have one, then parts of them. R is a
parabola near its least, so the deviation of d follows from its bend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.torque.axis_fit import ANGULAR, LINEAR, Axis, DelayedResiduals
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.integral_rows import RowSums
from diffbot_ident.torque.torque_delay import DELAYS

# Gain in the cost that makes a delay sure, that makes one sure that is no whole number of samples,
# and that makes such a one likely enough to be used.
SURE_GAIN, SURE_GAIN_PART, LIKELY_GAIN = 25.0, 16.0, 4.0
# Whole delays farther than this from the one found are other ones, in control periods.
DELAY_TOLERANCE = 0.75
# Step over which the squared residuals are a parabola, samples.
STEP = 0.1


@dataclass(frozen=True)
class TorqueDelay:
    """Delay of the torque, in periods of the regression.

    Attributes:
        value: the likeliest.
        told: the same where it is surely no whole number of samples, else the likeliest of those.
        sure: whether it is told from other ones at all.
        std: standard deviation of the value; 0 where nothing tells it.
    """

    value: float
    told: float
    sure: bool
    std: float


def best_delay(sums: RowSums, windows: float) -> TorqueDelay:
    """The delay with the least residuals.

    Args:
        sums: of the rows, with the torques of all delays.
        windows: that share nothing.
    """
    return _Search(sums, windows).best()


class _Search:
    def __init__(self, sums: RowSums, windows: float) -> None:
        self._sums, self._windows = sums, windows
        self._axes = [(axis, DelayedResiduals(sums, axis)) for axis in (LINEAR, ANGULAR)]

    def best(self) -> TorqueDelay:
        fine = self._sums.fine
        whole = np.arange((DELAYS - 1) * fine + 1) / fine
        cost = self._cost(whole)
        best = int(np.argmin(cost))
        found, lowest = told, least = float(whole[best]), float(cost[best])
        # Parts of a sample have to be likely: most robots have whole ones.
        for step in (0.1 / fine, 0.02 / fine):
            around = np.clip(found + step * np.arange(-9, 10), 0.0, DELAYS - 1.0)
            costs = self._cost(around)
            if lowest - costs.min() < (LIKELY_GAIN if found == told else 0.0):
                break
            lowest = float(costs.min())
            found = round(float(around[np.argmin(costs)]), 6)
        others = cost[(np.abs(whole - found) > DELAY_TOLERANCE) & (whole == np.round(whole))]
        sure = bool((others - lowest > SURE_GAIN).all())
        told = found if least - lowest > SURE_GAIN_PART else told
        return TorqueDelay(found, told, sure, self._std(found))

    def _cost(self, delays: Array) -> Array:
        cost, late = np.zeros(len(delays)), delays.tolist()
        for axis, residuals in self._axes:
            cost += self._windows * np.log(self._squared(axis, residuals.at(late)))
        return cost

    def _std(self, found: float) -> float:
        """By the bend of R over the least: log R is a parabola only where R is nearly that."""
        step = STEP / self._sums.fine
        at = min(max(found, step), DELAYS - 1.0 - step)
        bend = 0.0
        for axis, residuals in self._axes:
            near = residuals.at((at - step, at, at + step, found))
            parabola = float(near[0] - 2.0 * near[1] + near[2]) / step**2
            bend += self._windows * parabola / float(self._squared(axis, near[3:])[0])
        return math.sqrt(2.0 / bend) if bend > 0.0 else 0.0

    def _squared(self, axis: Axis, residuals: Array) -> Array:
        """Squared residuals, not less than rounding leaves."""
        power = self._sums.moments[axis.output, axis.output]
        least: Array = residuals + 1e-12 * power + 1e-300
        return least
