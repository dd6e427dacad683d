# SPDX-License-Identifier: Apache-2.0
"""Response of one axis to commands, as a driver publishes it: a mean, or filtered by a low-pass.

With tau the axis's time constant, W the mean's time and L the low-pass's time constant,

    (1/W) int v dt = gain mean of command(t - d') - (tau / W) (v(t) - v(t - W))
    (tau v - L v_L) / (tau - L)        v_L: the response for tau = L

d = d' + W / 2 + L is the dead time; docs/theory/velocity_robots.md#smoothed-velocities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.signal import lfilter

from arc_odometry.odometry import Array

# Shorter windows and lags are none, in periods: they would only lose digits.
LEAST_WINDOW = 1e-3
# Longest lag of a low-pass, as a share of the time constant.
LARGEST_LAG = 0.95


@dataclass(frozen=True)
class Smoothing:
    """How a driver smooths the velocity that it publishes.

    Attributes:
        window: Time over which a reading is a mean, s, >= 0.
        lag: Time constant of a low-pass, s, >= 0; less than the axis's own.
    """

    window: float = 0.0
    lag: float = 0.0

    @property
    def delay(self) -> float:
        """Time by which a slow change is read late, s."""
        return 0.5 * self.window + self.lag

    @property
    def width(self) -> float:
        """Window of a mean that smooths as much, s."""
        return math.sqrt(self.window**2 + 12.0 * self.lag**2)


UNSMOOTHED = Smoothing()
"""A velocity measured at the instant of its stamp."""


@dataclass(frozen=True)
class Drive:
    """Commands that act at n samples, or over a window that ends there.

    Attributes:
        newer: Command that begins to act in the period that ends at the sample, shape (n,).
        older: Command that acted before, shape (n,).
        fraction: Share of the period in which `older` still acts.
        lag: Time constant of a low-pass, in periods.
        window: Time over which a reading is a mean, in periods; 0: it is one of the instant.
        before: The same at the beginning of the window; None without a window.
        mean: Mean of the command over the window, shape (n,); empty without a window.
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
        cls,
        command: Array,
        period: float,
        dead_time: float,
        smoothing: Smoothing,
    ) -> Drive:
        """Return the drive of commands, each held from its sample to the next, shape (n,).

        `dead_time` is the time from a command to the middle of its effect, s, >= 0.
        """
        width, lag = smoothing.window / period, smoothing.lag / period
        # Commands may seem to act before they are sent, if the middle of their effect is as late.
        end = (dead_time - smoothing.delay) / period
        if width < LEAST_WINDOW:
            return cls(*_late(command, end + 0.5 * width), lag)
        passed = _passed(command, end) - _passed(command, end + width)
        before = cls(*_late(command, end + width))
        return cls(*_late(command, end), lag, width, before, passed / width)

    @classmethod
    def joined(cls, drives: Sequence[Drive]) -> Drive:
        """Join drives of the same dead time and window into one."""
        first = drives[0]
        if len(drives) == 1:
            return first
        newer, older, mean = (
            np.concatenate([getattr(drive, name) for drive in drives])
            for name in ("newer", "older", "mean")
        )
        before = [drive.before for drive in drives if drive.before is not None]
        return replace(
            first,
            newer=newer,
            older=older,
            mean=mean,
            before=cls.joined(before) if before else None,
        )


def _late(command: Array, late: float) -> tuple[Array, Array, float]:
    """Return newer and older commands, each (n,), and their fraction, at a delay in periods."""
    # The tolerance makes 0.3 s 6 periods of 0.05 s, not 5.999.
    whole = math.floor(late + 1e-9)
    newer, older = _moved(command, whole), _moved(command, whole + 1)
    return newer, older, max(late - whole, 0.0)


def _moved(command: Array, samples: int) -> Array:
    """Return a command that comes whole samples later, its first and last value held, (n,)."""
    count = len(command)
    later, earlier = min(max(samples, 0), count), min(max(-samples, 0), count)
    moved = np.empty(count)
    moved[:later] = command[0]
    moved[later : count - earlier] = command[earlier : count - later]
    moved[count - earlier :] = command[-1]
    return moved


def _passed(command: Array, late: float) -> Array:
    """Return the integral of a held command up to `late` periods before each sample, (n,)."""
    count = len(command)
    at = np.arange(count) - late
    total = np.concatenate(([0.0], np.cumsum(command)))
    passed: Array = np.interp(at, np.arange(count + 1), total)
    # The first command is assumed to have been held before, the last one to be held on.
    passed += command[0] * np.minimum(at, 0.0) + command[-1] * np.maximum(at - count, 0.0)
    return passed


def forced_response(tau: float, drive: Drive, period: float) -> Array:
    """Return the response of unit gain from rest, shape (n,); tau and period in s, > 0."""
    return ForcedResponse(tau, drive, period).values


class ForcedResponse:
    """Response of unit gain from rest, and its derivative by log tau.

    The derivative costs as much again, and a search needs it at few of its points.

    Args:
        tau: Time constant of the axis, s, > 0.
        drive: Commands that act.
        period: Sampling period, s, > 0.

    Attributes:
        values: Response, shape (n,).
    """

    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        self._tau, self._over = tau, _OverWindow(tau, drive, period)
        self._lag = min(drive.lag * period, LARGEST_LAG * tau)
        self._filtered = self._lag >= LEAST_WINDOW * period
        self.values = self._over.values
        if self._filtered:
            lagging = self._lag * _OverWindow(self._lag, drive, period).values
            self.values = (tau * self.values - lagging) / (tau - self._lag)

    def slope(self) -> Array:
        """Return the derivative by log tau, shape (n,)."""
        slope, tau = self._over.slope(), self._tau
        if not self._filtered:
            return slope
        return tau * (self._over.values + slope - self.values) / (tau - self._lag)


class _OverWindow:
    """Mean over the window of a drive; see ForcedResponse."""

    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        self._end = _AtInstants(tau, drive, period)
        self.values: Array = self._end.values
        if drive.before is not None:
            self._begin = _AtInstants(tau, drive.before, period)
            self._ratio = tau / (period * drive.window)
            self._change = self._ratio * (self._end.values - self._begin.values)
            self.values = drive.mean - self._change
        self._is_mean = drive.before is not None

    def slope(self) -> Array:
        slope = self._end.slope()
        if not self._is_mean:
            return slope
        return -self._change - self._ratio * (slope - self._begin.slope())


class _AtInstants:
    """Response at the instants of the samples; see ForcedResponse."""

    def __init__(self, tau: float, drive: Drive, period: float) -> None:
        f = drive.fraction
        self._drive, self._x = drive, period / tau
        self._a = math.exp(-self._x)
        self._part = math.exp(-self._x * (1.0 - f))
        pull = -math.expm1(-self._x * (1.0 - f)) * drive.newer
        pull += (self._part - self._a) * drive.older
        self.values = self._filtered(pull)

    def slope(self) -> Array:
        drive, x, a, part = self._drive, self._x, self._a, self._part
        f = drive.fraction
        # d a / d log tau = x a, and so on.
        slope = x * ((f - 1.0) * part * drive.newer + ((1.0 - f) * part - a) * drive.older)
        return self._filtered(slope + x * a * self.values)

    def _filtered(self, values: Array) -> Array:
        filtered: Array = lfilter((0.0, 1.0), (1.0, -self._a), values)
        return filtered
