# SPDX-License-Identifier: Apache-2.0
"""Finds a robot that changes in mid-run: a payload put on or taken off, a wheel changed.

Averaged over both robots, K5..K8 would be those of neither, with intervals that exclude both.

The run is divided into up to MOST_UNITS units of equal length. With the parameters theta of all of
them, each unit has its own factor 1 + c on all that acts through a force: torques and friction,
but not the product of velocities. With y the output of an axis, X its regressors and g = X theta
without the product,

    c = sum g (y - X theta) / sum g^2

A payload that divides K7 by 1.3 makes c smaller by 0.23 from its unit on. A change is found if two
levels of c, before and after one unit, explain so much more than one level that chance cannot
(likelihood ratio of Gaussian units), and if they differ by a share that matters. How much the units
scatter is taken from the units themselves. This includes whatever the model cannot explain, such as
stiction and slopes, which a noise model would not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.torque.axis_fit import (
    ANGULAR,
    LINEAR,
    Axis,
    ExtraColumns,
    is_spread,
    solution,
)
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.integral_rows import RowSums, delayed_products

# Length of the first units after the opening, in disjoint windows.
UNIT_WINDOWS = 4
# Maximum number of units; beyond it, each two successive ones become one.
MOST_UNITS = 32
# Minimum number of units of a test, of those before a change, and of those after it.
FEWEST, FEWEST_BEFORE, FEWEST_AFTER = 10, 1, 1
# Likelihood ratio beyond which, and share of the gain from which on, a change is found.
SURE_CHANGE, LEAST_CHANGE = 30.0, 0.05
# A unit counts if it was driven at least by this share of the mean power.
DRIVEN = 0.1


class ChangeWatch:
    """Watches a run for a change of the robot, in constant memory.

    Args:
        window: Length of a disjoint window, control periods.
        sums: Sums of all rows so far, which are the first unit.
        stamp: Stamp of the newest sample, s.

    Attributes:
        left: Control periods until the current unit ends.
    """

    def __init__(self, window: int, sums: RowSums, stamp: float) -> None:
        self._fine = sums.fine
        self._unit = self.left = UNIT_WINDOWS * window
        self._so_far = sums.moments.copy()
        self._moments: list[Array] = [self._so_far]
        self._ends: list[float] = [stamp]

    def pass_by(self, periods: int, sums: RowSums, stamp: float) -> bool:
        """Note the periods that were learnt; return whether a unit has ended.

        Args:
            periods: Control periods since the last call, at most `left`.
            sums: Sums of all rows so far.
            stamp: Stamp of the newest sample, s.
        """
        self.left -= periods
        if self.left > 0:
            return False
        before, self._so_far = self._so_far, sums.moments.copy()
        self._moments.append(self._so_far - before)
        self._ends.append(stamp)
        if len(self._ends) == MOST_UNITS:
            pairs = zip(self._moments[::2], self._moments[1::2], strict=True)
            self._moments = [one + other for one, other in pairs]
            self._ends = self._ends[1::2]
            self._unit *= 2
        self.left = self._unit
        return True

    def change(self, sums: RowSums, delay: float, extra: ExtraColumns) -> float | None:
        """Return the stamp (s) of a change of the robot, to within a unit; None: none is sure.

        Args:
            sums: Sums of all rows so far.
            delay: Delay of the torque, control periods.
            extra: Columns of additional regressors of both axes.
        """
        if len(self._ends) < FEWEST:
            return None
        spread = is_spread(extra)
        seen = sums.delayed(delay, spread)
        units = delayed_products(np.array(self._moments), delay, spread, self._fine)
        found = []
        for axis, own in zip((LINEAR, ANGULAR), extra, strict=True):
            effect, weight = _effects(units, axis, own, solution(seen, axis, own))
            ratio, at = _split(effect, weight)
            # The newest unit may have changed in its midst: the share is at least this.
            if ratio > SURE_CHANGE and abs(_step(effect, weight, at)) > LEAST_CHANGE:
                found.append((ratio, at))
        if not found:
            return None
        _, at = max(found)
        return self._ends[at - 1]


def _effects(units: Array, axis: Axis, extra: Sequence[int], theta: Array) -> tuple[Array, Array]:
    """Return c of the module docstring and its weight for each of n units, shape (n,) each."""
    columns = [*axis.regressors, *extra, axis.output]
    seen = units[:, columns][:, :, columns]
    error = np.append(-theta, 1.0)
    forced = np.append(theta, 0.0)
    forced[0] = 0.0
    weight = seen @ forced @ forced
    along = seen @ error @ forced
    effect = np.divide(along, weight, out=np.zeros_like(along), where=weight > 0.0)
    return effect, np.where(weight > DRIVEN * weight.mean(), weight, 0.0)


def _split(effect: Array, weight: Array) -> tuple[float, int]:
    """Return the likelihood ratio of two levels against one, and the first unit of the second."""
    count = np.count_nonzero(weight)
    if count < FEWEST:
        return 0.0, 1
    best, at = math.inf, 1
    for first in range(FEWEST_BEFORE, len(effect) - FEWEST_AFTER + 1):
        if np.count_nonzero(weight[:first]) and np.count_nonzero(weight[first:]):
            scatter = _scatter(effect[:first], weight[:first])
            scatter += _scatter(effect[first:], weight[first:])
            if scatter < best:
                best, at = scatter, first
    least = np.finfo(float).tiny
    return (count - 2) * math.log((_scatter(effect, weight) + least) / (best + least)), at


def _scatter(effect: Array, weight: Array) -> float:
    """Return the weighted sum of squares about the mean."""
    mean = float(weight @ effect) / float(weight.sum())
    return float(weight @ np.square(effect - mean))


def _step(effect: Array, weight: Array, at: int) -> float:
    """Return the change from the units before to those after, relative to that before."""
    before, after = (
        float(weight[part] @ effect[part]) / max(float(weight[part].sum()), np.finfo(float).tiny)
        for part in (slice(None, at), slice(at, None))
    )
    return (after - before) / (1.0 + before)
