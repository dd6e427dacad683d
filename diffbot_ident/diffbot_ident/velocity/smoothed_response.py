# SPDX-License-Identifier: Apache-2.0
"""Response of one axis to commands, as a driver publishes it: a mean, or filtered by a low-pass.

A driver computes a velocity from the counts of an encoder: it is the mean over a time W that ends
at the sample, and follows a step more slowly than the robot. Read as a velocity at an instant, it
makes the time constant tau too large by about W^2 / (24 tau). The mean of (3) of the 2023 paper
over W is exactly

    (1/W) int v dt = gain mean of command(t - d') - (tau / W) (v(t) - v(t - W))

with both velocities as in first_order.py, for the dead times d' and d' + W. Many drivers filter by
a low-pass of time constant L < tau, too, whose response to v is, with v_L the response of (3) for
tau = L,

    (tau v - L v_L) / (tau - L).

d = d' + W / 2 + L, the time from a command to the middle of its effect, is nearly independent of W
and L. Which of two lags is the robot's cannot be known from a recording: it is the longer one here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]

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
        """Return the drive of commands.

        Args:
            command: Command held from each sample to the next, shape (n,).
            period: Sampling period, s, > 0.
            dead_time: Time from a command to the middle of its effect, s, >= 0.
            smoothing: How the velocity is smoothed.
        """
        width, lag = smoothing.window / period, smoothing.lag / period
        # Commands may seem to act before they are sent, if the middle of their effect is as late.
        end = (dead_time - smoothing.delay) / period
        if width < LEAST_WINDOW:
            return replace(cls._late(command, end + 0.5 * width), lag=lag)
        passed = _passed(command, end) - _passed(command, end + width)
        return replace(
            cls._late(command, end),
            lag=lag,
            window=width,
            before=cls._late(command, end + width),
            mean=passed / width,
        )

    @classmethod
    def _late(cls, command: Array, late: float) -> Drive:
        # The tolerance makes 0.3 s 6 periods of 0.05 s, not 5.999.
        whole = math.floor(late + 1e-9)
        index = np.arange(len(command)) - whole
        newer, older = (command[np.clip(index - i, 0, len(command) - 1)] for i in (0, 1))
        return cls(newer, older, max(late - whole, 0.0))

    @classmethod
    def joined(cls, drives: Sequence[Drive]) -> Drive:
        """Join drives of the same dead time and window into one."""
        first = drives[0]
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


def _passed(command: Array, late: float) -> Array:
    """Return the integral of a held command up to `late` periods before each sample, (n,)."""
    count = len(command)
    at = np.arange(count) - late
    total = np.concatenate(([0.0], np.cumsum(command)))
    passed: Array = np.interp(at, np.arange(count + 1), total)
    # The first command is assumed to have been held before, the last one to be held on.
    passed += command[0] * np.minimum(at, 0.0) + command[-1] * np.maximum(at - count, 0.0)
    return passed


def forced_response(tau: float, drive: Drive, period: float) -> tuple[Array, Array]:
    """Return the response of unit gain from rest, and its derivative by log tau, each (n,).

    Args:
        tau: Time constant of the axis, s, > 0.
        drive: Commands that act.
        period: Sampling period, s, > 0.
    """
    response, slope = _over_window(tau, drive, period)
    lag = min(drive.lag * period, LARGEST_LAG * tau)
    if lag < LEAST_WINDOW * period:
        return response, slope
    smoothed = (tau * response - lag * _over_window(lag, drive, period)[0]) / (tau - lag)
    return smoothed, tau * (response + slope - smoothed) / (tau - lag)


def _over_window(tau: float, drive: Drive, period: float) -> tuple[Array, Array]:
    response, slope = _at_instants(tau, drive, period)
    if drive.before is None:
        return response, slope
    earlier, earlier_slope = _at_instants(tau, drive.before, period)
    ratio = tau / (period * drive.window)
    change = ratio * (response - earlier)
    return drive.mean - change, -change - ratio * (slope - earlier_slope)


def _at_instants(tau: float, drive: Drive, period: float) -> tuple[Array, Array]:
    f = drive.fraction
    x = period / tau
    a = math.exp(-x)
    part = math.exp(-x * (1.0 - f))
    # d a / d log tau = x a, and so on.
    pull = -math.expm1(-x * (1.0 - f)) * drive.newer + (part - a) * drive.older
    slope = x * ((f - 1.0) * part * drive.newer + ((1.0 - f) * part - a) * drive.older)
    response = lfilter((0.0, 1.0), (1.0, -a), pull)
    return response, lfilter((0.0, 1.0), (1.0, -a), slope + x * a * response)
