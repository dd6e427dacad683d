# SPDX-License-Identifier: Apache-2.0
"""Integrals of held commands for the online fits, and of the velocities that follow them.

With E the excess of v's trapezoids over a, v = v0 + a (I + c E) - c (sum of trapezoids);
docs/theory/velocity_robots.md#online-fit.
"""

from __future__ import annotations

import numpy as np

from arc_odometry.number_range import Array


class ConstantCommands:
    """Commands (m,), m >= 2, as they act, of one axis, each held since the previous stamp, s.

    The first has no effect.
    """

    def __init__(self, stamps: Array, acting: Array) -> None:
        self._stamps, self._kept = stamps, acting[1:]
        steps = np.diff(stamps)
        self._once = np.concatenate(([0.0], np.cumsum(steps * self._kept)))
        parts = steps * (self._once[:-1] + 0.5 * steps * self._kept)
        self._twice = np.concatenate(([0.0], np.cumsum(parts)))

    def integral(self, instants: Array, window: float = 0.0) -> Array:
        """Return the integral from the first stamp to instants, or its mean over a window, s."""
        if window == 0.0:
            result: Array = np.interp(instants, self._stamps, self._once)
            return result
        half = 0.5 * window
        return (self._integral_twice(instants + half) - self._integral_twice(instants - half)) / (
            window
        )

    def _integral_twice(self, instants: Array) -> Array:
        last = len(self._kept) - 1
        index = np.clip(np.searchsorted(self._stamps, instants, side="right") - 1, 0, last)
        since = instants - self._stamps[index]
        result: Array = self._twice[index] + since * (
            self._once[index] + 0.5 * since * self._kept[index]
        )
        return result

    def asked(self, times: Array, dead_times: Array, window: float, rate: float) -> Array:
        """Return I + c E of velocities at times (n,) for dead times (k,), s, shape (k, n).

        `window`: period over which a velocity is a mean, s; 0: it is one of the instant. `rate`: c,
        1/s; 0 where it is not known yet.
        """
        late = dead_times[:, None]
        result = self.integral(times - late, window)
        if rate == 0.0:
            return result
        if window == 0.0:
            return result + rate * self._kinks(times, late)
        half = 0.5 * window
        mean = (self.integral(times - late + half) - self.integral(times - late - half)) / window
        return result + rate * window**2 / 12.0 * mean

    def _kinks(self, times: Array, late: Array) -> Array:
        jumps = np.diff(self._kept, prepend=self._kept[:1])
        excess = excess_of_trapezoids(times, self._stamps[:-1] + late)
        total = np.cumsum(excess * jumps, axis=1)
        index = np.searchsorted(self._stamps, times - late, side="right") - 1
        index = np.clip(index, 0, len(self._kept) - 1)
        along_axis: Array = np.take_along_axis(total, index, axis=1)
        return along_axis


def excess_of_trapezoids(times: Array, begins: Array) -> Array:
    """Return T^2 f (1 - f) / 2, s^2, of commands from `begins`, s, between two times, else 0."""
    before = np.searchsorted(times, begins, side="right") - 1
    inside = (before >= 0) & (before < len(times) - 1)
    before = np.clip(before, 0, len(times) - 2)
    period = times[before + 1] - times[before]
    since = begins - times[before]
    return np.where(inside, 0.5 * since * (period - since), 0.0)


def integral_of_velocity(times: Array, velocities: Array) -> Array:
    """Return the integral of a velocity from the first sample on by trapezoids, shape (n,)."""
    steps = 0.5 * np.diff(times) * (velocities[1:] + velocities[:-1])
    return np.concatenate(([0.0], np.cumsum(steps)))
