# SPDX-License-Identifier: Apache-2.0
"""Torques that act late, by any share of a control period, how late, and samples of fast robots.

A row of the integrated model (integral_rows) holds the torques at several delays; `delay_weights`
makes of them the torque at any delay. `Decimation` puts the samples of a fast robot in groups.

`best_delay` tells how late the reported torques act, by the residuals that each delay leaves, and
how sure that is. Minus twice the log likelihood of a delay d, with R the squared residuals of both
axes that the best parameters leave with the torques d periods late, and n the windows that share
nothing:

    cost(d) = n (log R_linear(d) + log R_angular(d)) + what all delays share

Whole numbers of samples are tried first, as most robots have one, then parts of them, a little
below 0, too: a recording that logs commands late spreads each over two periods and tells it late,
and what a delay of 0 then leaves when torques turn round looked like stiction. R is a parabola near
its least, so the deviation of d follows from its bend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from diffbot_ident.torque.estimate import Array

# Control periods of torque delay that are told apart: 0 to DELAYS - 1.
DELAYS = 5
# Most parts of a period whose torques are told apart.
FINEST = 8
# Least delay that is looked for, samples: commands that were logged a little after they acted seem
# to act before they were told. Farther ahead the columns do not reach.
EARLIEST = -0.25


def delay_columns(fine: int) -> int:
    """Columns for each of the torques' sum and difference, with so many samples in a period."""
    return DELAYS + 1 if fine == 1 else (DELAYS - 1) * fine + 2


@lru_cache(maxsize=4096)
def delay_weights(delay: float, fine: int) -> Array:
    """Weights of the torque's columns that give it as it acts so many periods late.

    A torque is constant from one sample to the next. Under the triangle over both periods of a
    step it counts with a part that is quadratic in the delay. With one sample in a period the
    columns are the torques of periods k + 1, k, ..., and the weights are exact:

        (1 - a)^2 / 2,  1 / 2 + a - a^2,  a^2 / 2,    a = delay - d,  d whole

    With more, the columns are the sums under the triangle itself, a sample later each, and what
    lies between two of them is interpolated.

    Args:
        delay: control periods, EARLIEST / fine to DELAYS - 1; below 0 by the same formulas, which
            are right to the first order then.
        fine: samples in a period.

    Returns:
        Shape (delay_columns(fine),).
    """
    weights = np.zeros(delay_columns(fine))
    whole = min(int(delay * fine + 1e-9), (DELAYS - 1) * fine)
    part = max(delay * fine - whole, min(delay * fine, 0.0))
    if fine > 1:
        weights[whole] = 1.0 - part
        weights[whole + 1] = part
        return weights
    weights[whole] = 0.5 * (1.0 - part) ** 2
    weights[whole + 1] = 0.5 + part - part**2
    if part != 0.0:
        weights[whole + 2] = 0.5 * part**2
    return weights


@lru_cache(maxsize=256)
def spread_weights(delay: float, fine: int) -> Array:
    """Weights of the torque's columns for a torque that acts spread over several periods.

    A torque that a motor follows with a lag, or through a filter, is the sum of what it was at
    several delays. With the first weights for its whole effect at `delay` and the others for what
    it is at 0, 1, ... DELAYS - 1 periods less that, the first one's parameter stays the effect of
    a torque that lasts.

    Args:
        delay: as in delay_weights.
        fine: samples in a period.

    Returns:
        Shape (delay_columns(fine), 1 + DELAYS).
    """
    one = delay_weights(delay, fine)
    others = [delay_weights(float(late), fine) - one for late in range(DELAYS)]
    return np.column_stack((one, *others))


def delayed(torque: Array, delay: float) -> Array:
    """Torques that act when reported ones act late: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: as reported for each of n control periods, shape (..., n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (..., n); the first ceil(delay) periods, of which too little is known, are as
        reported first.
    """
    whole = int(delay)
    part = delay - whole
    first = np.repeat(torque[..., :1], whole + 1, axis=-1)
    padded = np.concatenate((first, torque), axis=-1)[..., : torque.shape[-1] + 1]
    return (1.0 - part) * padded[..., 1:] + part * padded[..., :-1]


class Decimation:
    """Takes the samples of a fast robot in groups, each of which is one period of the estimator.

    At 1 kHz one encoder count of 4096 is 1.5 rad/s: speeds of single periods are nothing but noise,
    and products of neighbouring ones are biased, since both take the reading between them.

    Args:
        factor: samples of a group, >= 1.

    Attributes:
        factor: as given.
        fine: parts of a group whose torques are told apart, at most FINEST; one that divides the
            factor.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.fine = next(n for n in range(min(factor, FINEST), 0, -1) if factor % n == 0)
        self.interrupt()

    def interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._left = np.empty((0, 5))

    def take(self, samples: Array) -> Array:
        """Whole groups of samples of nearly even periods, shape (groups x fine, 5).

        Args:
            samples: stamp, angles and torques, shape (n, 5).
        """
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        parts = samples[:whole].reshape(-1, self.factor // self.fine, 5)
        self._left = samples[whole:]
        kept = parts[:, -1].copy()
        kept[:, 3:] = parts[:, :, 3:].mean(axis=1)
        return kept


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
        told: the same where it is surely no whole number of samples, else the likeliest of those;
            never below 0, as no torque acts before its command.
        sure: whether it is told from other ones at all.
        std: standard deviation of the value; 0 where nothing tells it.
    """

    value: float
    told: float
    sure: bool
    std: float


class Residuals(Protocol):
    """What an axis leaves unexplained, for any delay of the torque.

    Attributes:
        power: sum of squares of what is to be explained.
    """

    power: float

    def at(self, delays: Sequence[float]) -> Array:
        """Weighted sum of squared residuals for each delay in control periods, shape (n,)."""


def best_delay(axes: Sequence[Residuals], windows: float, fine: int) -> TorqueDelay:
    """The delay with the least residuals.

    Args:
        axes: residuals of each axis.
        windows: that share nothing.
        fine: samples in a period.
    """
    return _DelaySearch(axes, windows, fine).best()


class _DelaySearch:
    def __init__(self, axes: Sequence[Residuals], windows: float, fine: int) -> None:
        self._axes, self._windows, self._fine = axes, windows, fine

    def best(self) -> TorqueDelay:
        fine, earliest = self._fine, EARLIEST / self._fine
        whole = np.arange((DELAYS - 1) * fine + 1) / fine
        cost = self._cost(whole)
        best = int(np.argmin(cost))
        found, lowest = told, least = float(whole[best]), float(cost[best])
        # Parts of a sample have to be likely: most robots have whole ones.
        for step in (0.1 / fine, 0.02 / fine):
            around = np.clip(found + step * np.arange(-9, 10), earliest, DELAYS - 1.0)
            costs = self._cost(around)
            if lowest - costs.min() < (LIKELY_GAIN if found == told else 0.0):
                break
            lowest = float(costs.min())
            found = round(float(around[np.argmin(costs)]), 6)
        others = cost[(np.abs(whole - found) > DELAY_TOLERANCE) & (whole == np.round(whole))]
        sure = bool((others - lowest > SURE_GAIN).all())
        told = max(found, 0.0) if least - lowest > SURE_GAIN_PART else told
        return TorqueDelay(found, told, sure, self._std(found))

    def _cost(self, delays: Array) -> Array:
        cost, late = np.zeros(len(delays)), delays.tolist()
        for axis in self._axes:
            cost += self._windows * np.log(_squared(axis, axis.at(late)))
        return cost

    def _std(self, found: float) -> float:
        """By the bend of R over the least: log R is a parabola only where R is nearly that."""
        step = STEP / self._fine
        at = min(max(found, EARLIEST / self._fine + step), DELAYS - 1.0 - step)
        bend = 0.0
        for axis in self._axes:
            near = axis.at((at - step, at, at + step, found))
            parabola = float(near[0] - 2.0 * near[1] + near[2]) / step**2
            bend += self._windows * parabola / float(_squared(axis, near[3:])[0])
        return math.sqrt(2.0 / bend) if bend > 0.0 else 0.0


def _squared(axis: Residuals, residuals: Array) -> Array:
    """Squared residuals, not less than rounding leaves."""
    least: Array = residuals + 1e-12 * axis.power + 1e-300
    return least
