# SPDX-License-Identifier: Apache-2.0
"""Torques with a fractional delay, estimation of that delay, and decimation for fast robots.

A row of the integrated model (integral_rows) contains the torques at several delays;
`delay_weights` interpolates the torque at any delay. `Decimation` groups the samples of a fast
robot.

`best_delay` estimates how late the reported torques act, from the residuals for each delay, and
how certain that is. It minimises minus twice the log likelihood of a delay d. With R the squared
residuals of each axis for the best parameters with torques d periods late, and n the number of
disjoint windows:

    cost(d) = n (log R_linear(d) + log R_angular(d)) + what all delays share

Whole numbers of samples are tried first, as most robots have such a delay, then fractions. These
may be slightly negative: a recording that logs commands late spreads each of them over two periods,
and the residuals that a delay of 0 leaves when torques reverse would look like stiction. R is a
parabola near its minimum, so its curvature gives the standard deviation of d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from diffbot_ident.torque.estimate import Array

# Number of whole torque delays, in control periods: 0 to DELAYS - 1.
DELAYS = 5
# Maximum number of parts of a period with separate torques.
FINEST = 8
# Minimum delay that is tried, samples: commands that were logged slightly after they acted have a
# negative delay. The columns of the rows do not reach further.
EARLIEST = -0.25


def delay_columns(fine: int) -> int:
    """Return the number of columns of the sum (or difference), with `fine` samples per period."""
    return DELAYS + 1 if fine == 1 else (DELAYS - 1) * fine + 2


@lru_cache(maxsize=4096)
def delay_weights(delay: float, fine: int) -> Array:
    """Return the weights of the torque columns that give the torque with this delay.

    A torque is constant from one sample to the next, so its integral under the triangle over both
    periods of a step is quadratic in the delay. With one sample per period the columns are the
    torques of periods k + 1, k, ..., and the weights are exact:

        (1 - a)^2 / 2,  1 / 2 + a - a^2,  a^2 / 2,    a = delay - d,  d whole

    With more samples, the columns are the sums under the triangle itself, each one sample later
    than the one before; delays between them are interpolated.

    Args:
        delay: Control periods, EARLIEST / fine to DELAYS - 1. Below 0 the same formulas are used,
            which are then right to first order.
        fine: Samples per period.

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
    """Return the weights of the torque columns for a torque spread over several periods.

    A torque that a motor follows with a lag, or through a filter, is a weighted sum of the torque
    at several delays. The first column has the torque at `delay`; the others have the torques at
    0, 1, ... DELAYS - 1 periods minus the first. The parameter of the first column is then the
    effect of a constant torque.

    Args:
        delay: Torque delay, control periods, as in delay_weights.
        fine: Samples per control period.

    Returns:
        Shape (delay_columns(fine), 1 + DELAYS).
    """
    one = delay_weights(delay, fine)
    others = [delay_weights(float(late), fine) - one for late in range(DELAYS)]
    return np.column_stack((one, *others))


def delayed(torque: Array, delay: float) -> Array:
    """Return the acting torques for a delay: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: Reported torque in each of n control periods, shape (..., n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (..., n). In the first ceil(delay) periods the first reported torque stands for the
        unknown earlier ones.
    """
    whole = int(delay)
    part = delay - whole
    first = [torque[..., :1]] * (whole + 1)
    padded = np.concatenate((*first, torque), axis=-1)[..., : torque.shape[-1] + 1]
    return (1.0 - part) * padded[..., 1:] + part * padded[..., :-1]


class Decimation:
    """Groups the samples of a fast robot; each group is one period of the estimator.

    At 1 kHz one encoder count of 4096 is 1.5 rad/s: speeds of single periods are mere noise, and
    products of neighbouring ones are biased, since both use the reading between them.

    Args:
        factor: Samples per group, >= 1.

    Attributes:
        factor: As given.
        fine: Parts of a group with separate torques: the largest divisor of the factor up to
            FINEST.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.fine = next(n for n in range(min(factor, FINEST), 0, -1) if factor % n == 0)
        self.interrupt()

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._left = np.empty((0, 6))

    def take(self, samples: Array) -> Array:
        """Return the complete groups of samples of nearly even periods, shape (groups x fine, 6).

        Args:
            samples: Stamp, angles, torques and heading, shape (n, 6).
        """
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        parts = samples[:whole].reshape(-1, self.factor // self.fine, 6)
        self._left = samples[whole:]
        kept = parts[:, -1].copy()
        kept[:, 3:5] = parts[:, :, 3:5].mean(axis=1)
        return kept


# Reductions of the cost: a delay is sure if it beats all others by SURE_GAIN. A fractional delay
# is used if it beats the best whole one by LIKELY_GAIN, and reported if by SURE_GAIN_PART.
SURE_GAIN, SURE_GAIN_PART, LIKELY_GAIN = 25.0, 16.0, 4.0
# Whole delays count as different from the best one beyond this difference, control periods.
DELAY_TOLERANCE = 0.75
# Step within which the squared residuals are nearly a parabola, samples.
STEP = 0.1


@dataclass(frozen=True)
class TorqueDelay:
    """Delay of the torque, in periods of the regression.

    Attributes:
        value: Most likely delay.
        told: Delay to report: the value if it is surely not a whole number of samples, else the
            most likely whole one; never below 0, as no torque acts before its command.
        sure: Whether the data distinguish it from other delays.
        std: Standard deviation of the value; 0 where the data give none.
    """

    value: float
    told: float
    sure: bool
    std: float


class Residuals(Protocol):
    """Squared residuals of both axes for any delay of the torque.

    Attributes:
        power: Sums of squares of the outputs, shape (2,).
    """

    power: Array

    def at(self, delays: Sequence[float]) -> Array:
        """Return the weighted sums of squared residuals for n delays, control periods, (2, n)."""


def best_delay(residuals: Residuals, windows: float, fine: int) -> TorqueDelay:
    """Return the delay with the smallest residuals.

    Args:
        residuals: Residuals of both axes.
        windows: Number of disjoint windows.
        fine: Samples per period.
    """
    return _DelaySearch(residuals, windows, fine).best()


class _DelaySearch:
    def __init__(self, residuals: Residuals, windows: float, fine: int) -> None:
        self._residuals, self._windows, self._fine = residuals, windows, fine
        self._least = (1e-12 * residuals.power + 1e-300)[:, None]

    def best(self) -> TorqueDelay:
        fine, earliest = self._fine, EARLIEST / self._fine
        whole = np.arange((DELAYS - 1) * fine + 1) / fine
        cost = self._cost(whole)
        best = int(np.argmin(cost))
        found, lowest = told, least = float(whole[best]), float(cost[best])
        # A fractional delay must be clearly better: most robots have whole ones.
        for step in (0.1 / fine, 0.02 / fine):
            around = np.maximum(found + step * np.arange(-9, 10), earliest)
            around = np.minimum(around, DELAYS - 1.0)
            costs = self._cost(around)
            if lowest - costs.min() < (LIKELY_GAIN if found == told else 0.0):
                break
            lowest = float(costs.min())
            found = round(float(around[np.argmin(costs)]), 6)
        others = cost[::fine][np.abs(whole[::fine] - found) > DELAY_TOLERANCE]
        sure = bool((others - lowest > SURE_GAIN).all())
        told = max(found, 0.0) if least - lowest > SURE_GAIN_PART else told
        return TorqueDelay(found, told, sure, self._std(found))

    def _cost(self, delays: Array) -> Array:
        cost: Array = self._windows * np.log(self._squared(delays.tolist())).sum(axis=0)
        return cost

    def _squared(self, delays: Sequence[float]) -> Array:
        """Return the squared residuals, with a lower bound for rounding, shape (2, n)."""
        found: Array = self._residuals.at(delays) + self._least
        return found

    def _std(self, found: float) -> float:
        """Return the deviation by the curvature of R relative to its minimum.

        R itself is used, since log R is a parabola only where R hardly exceeds its minimum.
        """
        step = STEP / self._fine
        at = min(max(found, EARLIEST / self._fine + step), DELAYS - 1.0 - step)
        before, middle, after, best = self._squared((at - step, at, at + step, found)).T
        parabola = (before - 2.0 * middle + after) / step**2
        bend = self._windows * float((parabola / best).sum())
        return math.sqrt(2.0 / bend) if bend > 0.0 else 0.0
