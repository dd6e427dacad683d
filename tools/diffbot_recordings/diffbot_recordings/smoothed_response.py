# SPDX-License-Identifier: Apache-2.0
"""Response of one axis to commands, as a driver publishes it: a mean, or filtered by a low-pass.

With tau the axis's time constant, W the mean's time and L the delay of the low-pass,

    x = (1/W) int v dt = gain mean of command(t - d') - (tau / W) (v(t) - v(t - W))
    y[k] = a y[k-1] + (1 - a) x[k],  L = W a / (1 - a)

d = d' + W / 2 + L is the dead time; docs/theory/velocity_robots.md#smoothed-velocities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from arc_odometry.number_range import Array
from diffbot_recordings.all_pole_filter import after_one_sample, all_pole

# Shorter windows and lags are none, in periods: they would only lose digits.
LEAST_WINDOW = 1e-3
# Square of a window over the variance of an impulse response that smooths as much.
LAG_SQUARE = 12.0


@dataclass(frozen=True)
class Smoothing:
    """How a driver smooths the velocity that it publishes.

    Attributes:
        window: Time over which a reading is a mean, s, >= 0.
        lag: Delay of a low-pass of such readings, one in each window, s, >= 0.
    """

    window: float = 0.0
    lag: float = 0.0

    @property
    def delay(self) -> float:
        """Time by which a slow change is read late, s."""
        return 0.5 * self.window + self.lag

    @property
    def readings(self) -> float:
        """Delay of the low-pass in readings."""
        return self.lag / self.window if self.lag > 0.0 else 0.0

    @property
    def width(self) -> float:
        """Window of a mean that smooths as much, s."""
        return math.sqrt(self.window**2 + LAG_SQUARE * self.lag * (self.lag + self.window))


UNSMOOTHED = Smoothing()
"""A velocity measured at the instant of its stamp."""


class PaddedCommands:
    """Commands of segments one after another; each segment's first and last one is held on.

    Args:
        commands: Commands of each segment, each held from its sample to the next, shape (n,).
        reach: Samples for which they are held before and after a segment, >= 0.
        every: Samples from one reading to the next; segments hold whole multiples of it.

    Attributes:
        reach: At least as many samples as given.
        rows: Position of each segment's readings in a response, shape (n / every,) each.
    """

    def __init__(self, commands: Sequence[Array], reach: int, every: int = 1) -> None:
        self._every = every
        self.reach = every * -(-max(reach, 0) // every)
        padded = self.reach
        self._values = np.concatenate(
            [
                np.full(padded, commands[0][0]),
                *(
                    each
                    for command in commands
                    for each in (np.full(padded, command[0]), command, np.full(padded, command[-1]))
                ),
                np.full(padded, commands[-1][-1]),
            ]
        )
        counts = [len(command) // every for command in commands]
        ends = np.cumsum([count + 2 * padded // every for count in counts]) - padded // every
        self.rows = [np.arange(end - n, end) for end, n in zip(ends.tolist(), counts, strict=True)]
        self._count = len(self._values) - 2 * padded

    @cached_property
    def _passed(self) -> Array:
        """Integral of the commands up to each of them, in samples, (n,)."""
        return np.concatenate(([0.0], np.cumsum(self._values)))

    def pieces(self, late: int, offset: int, width: int) -> Array:
        """Return the commands of `width` samples each from reading `offset` on, (m, width)."""
        moved = self._moved(self._values, late)[offset * self._every :]
        rest = np.zeros(width - len(moved) % width)
        return np.concatenate((moved, rest)).reshape(-1, width)

    def late(self, late: float) -> tuple[Array, Array, float]:
        """Return newer and older commands at a delay in samples, and their fraction.

        Both have shape (r, every): of each time between readings in the response.
        """
        # The tolerance makes 0.3 s 6 periods of 0.05 s, not 5.999.
        whole = math.floor(late + 1e-9)
        newer, older = (self._moved(self._values, later) for later in (whole, whole + 1))
        shape = (-1, self._every)
        return newer.reshape(shape), older.reshape(shape), max(late - whole, 0.0)

    def mean(self, end: float, width: float) -> Array:
        """Return means over `width` samples that end `end` samples before each reading, (r,)."""
        return (self._until(end) - self._until(end + width)) / width

    def _until(self, late: float) -> Array:
        whole = math.floor(late)
        passed = self._moved(self._passed, whole)[:: self._every]
        value = self._moved(self._values, whole + 1)[:: self._every]
        return passed - (late - whole) * value

    def _moved(self, values: Array, samples: int) -> Array:
        if not -self.reach <= samples <= self.reach:
            raise ValueError(f"delay of {samples} samples: must be within {self.reach}")
        return values[self.reach - samples :][: self._count]


@dataclass(frozen=True)
class Drive:
    """Commands that act between r readings, or over a window that ends there.

    Attributes:
        newer: Command that begins to act in the sample before the next one, shape (r, every).
        older: Command that acted before, shape (r, every).
        fraction: Share of a sample in which `older` still acts.
        lag: Delay of a low-pass of readings, in samples.
        window: Time over which a reading is a mean, in samples; 0: it is one of the instant.
        before: The same at the beginning of the window, if there is one.
        mean: Mean of the command over the window, shape (r,); empty without a window.
    """

    newer: Array
    older: Array
    fraction: float
    lag: float = 0.0
    window: float = 0.0
    before: Drive | None = None
    mean: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(
        cls, padded: PaddedCommands, period: float, dead_time: float, smoothing: Smoothing
    ) -> Drive:
        """Return the drive of held commands; the dead time, s, ends in the middle of the effect."""
        width, lag = smoothing.window / period, smoothing.lag / period
        # Commands may seem to act before they are sent, if the middle of their effect is as late.
        end = (dead_time - smoothing.delay) / period
        if width < LEAST_WINDOW:
            return cls(*padded.late(end + 0.5 * width), lag)
        before = cls(*padded.late(end + width))
        return cls(*padded.late(end), lag, width, before, padded.mean(end, width))


def reach_of(dead_time: float, smoothing: Smoothing, period: float) -> int:
    """Return the reach in samples that a drive needs of `PaddedCommands`."""
    return math.ceil((dead_time + smoothing.delay + smoothing.window) / period) + 2


class ForcedResponse:
    """Response of unit gain from rest at the readings, shape (r,), and its derivative by log tau.

    Args:
        tau: Time constant of the axis, s, > 0.
        period: Sampling period, s, > 0.
    """

    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        self._over = _OverWindow(tau, drive, period)
        self._filtered = drive.lag >= LEAST_WINDOW
        self.values = self._over.values
        if self._filtered:
            self._lag, self._reading = drive.lag * period, drive.window * period
            self._kept = self._lag / (self._lag + self._reading)
            # Of readings this far apart, and of those that might have been taken in between.
            self._step = max(round(drive.window / drive.newer.shape[1]), 1)
            self.values = self._passed(self.values)

    def _passed(self, values: Array) -> Array:
        return self._summed((1.0 - self._kept) * values) if self._filtered else values

    def _summed(self, values: Array) -> Array:
        return all_pole((1.0, *(0.0,) * (self._step - 1), -self._kept), values)

    def slope(self) -> Array:
        return self._passed(self._over.slope())

    def by_time(self) -> Array:
        """Return the derivative by time, 1/s; by the dead time it is the opposite."""
        return self._passed(self._over.by_time())

    def by_square(self) -> Array:
        """Return the derivative by the square of the smoothing's width, 1/s^2.

        There must be a window. The dead time stays: a wider smoothing begins earlier.
        """
        if not self._filtered:
            return self._over.by_square()
        before = np.append(np.zeros(self._step), self.values[: -self._step])
        by_kept = self._summed(before - self._over.values)
        by_lag = by_kept * self._reading / (self._lag + self._reading) ** 2 + self.by_time()
        slope: Array = by_lag / (LAG_SQUARE * (2.0 * self._lag + self._reading))
        return slope


class _OverWindow:
    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        self._end = _AtInstants(tau, drive, period)
        self.values: Array = self._end.values
        if drive.before is not None:
            self._begin = _AtInstants(tau, drive.before, period)
            self._ratio = tau / (period * drive.window)
            self._change = self._ratio * (self._end.values - self._begin.values)
            self.values = drive.mean - self._change
        self._is_mean = drive.before is not None
        self._width = period * drive.window

    def by_time(self) -> Array:
        if not self._is_mean:
            return self._end.by_time()
        change: Array = (self._end.values - self._begin.values) / self._width
        return change

    def by_square(self) -> Array:
        ends = 0.5 * (self._end.values + self._begin.values)
        change: Array = (ends - self.values) / (2.0 * self._width**2)
        return change

    def slope(self) -> Array:
        slope = self._end.slope()
        if not self._is_mean:
            return slope
        return -self._change - self._ratio * (slope - self._begin.slope())


class _AtInstants:
    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        f = drive.fraction
        self._drive, self._x, self._tau = drive, period / tau, tau
        every = drive.newer.shape[1]
        self._a = math.exp(-self._x)
        self._part = math.exp(-self._x * (1.0 - f))
        self._later = np.arange(every - 1.0, -1.0, -1.0)
        self._remains = self._a**self._later
        self._decay = math.exp(-self._x * every)
        newer, older = -math.expm1(-self._x * (1.0 - f)), self._part - self._a
        self.values = self._filtered(
            _weighted(drive.newer, newer * self._remains)
            + _weighted(drive.older, older * self._remains)
        )

    def by_time(self) -> Array:
        newest = self._drive.newer[:, -1]
        change: Array = (np.append(newest[:1], newest[:-1]) - self.values) / self._tau
        return change

    def slope(self) -> Array:
        drive, x, a, part = self._drive, self._x, self._a, self._part
        f = drive.fraction
        # d a / d log tau = x a, and so on.
        newer = (f - 1.0) * part - math.expm1(-x * (1.0 - f)) * self._later
        older = (1.0 - f) * part - a + (part - a) * self._later
        slope = _weighted(drive.newer, x * newer * self._remains)
        slope += _weighted(drive.older, x * older * self._remains)
        return self._filtered(slope + x * len(self._later) * self._decay * self.values)

    def _filtered(self, values: Array) -> Array:
        return after_one_sample(self._decay, values)


def _weighted(commands: Array, weights: Array) -> Array:
    """Return ``commands @ weights``, in a fifth of the time where there is one column."""
    result: Array = commands[:, 0] * weights[0] if len(weights) == 1 else commands @ weights
    return result
