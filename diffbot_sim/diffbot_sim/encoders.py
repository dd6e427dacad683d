"""Incremental wheel encoders: positions in whole counts, velocities from their differences."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np


class Encoders:
    """Encoders of the two wheels, [left, right].

    Positions are quantised by floor to whole counts, from a phase within a count that the seed
    draws for each wheel: a robot does not start on the edge of a count. They read 0 at angle 0.
    Velocities are position differences over the period, so their sum times the period is the
    position exactly.

    Args:
        counts_per_revolution: of a wheel; 0 gives exact positions and velocities.
        period: time between two readings, s, > 0.
        seed: of the phases, >= 0.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(self, counts_per_revolution: int, period: float, seed: int = 0) -> None:
        counts = counts_per_revolution
        if not isinstance(counts, Integral) or not 0 <= counts < 2**31:
            raise ValueError(
                f"encoder counts_per_revolution = {counts}: "
                "must be a whole number from 0 (exact) to 2^31 - 1"
            )
        if not (math.isfinite(period) and period > 0.0):
            raise ValueError(f"encoder period = {period} s: must be finite and > 0")
        if seed < 0:
            raise ValueError(f"encoder seed = {seed}: must be >= 0")
        self._period = float(period)
        self._counts_per_radian = int(counts) / math.tau
        self._phase = np.random.default_rng(seed).random(2).tolist()
        self.reset()

    def reset(self, angles: tuple[float, float] = (0.0, 0.0)) -> None:
        """Take angles (rad) as those of the reading before the next, as after a stop there."""
        self._previous = self._counts(angles)

    def read(
        self, angles: tuple[float, float], velocities: tuple[float, float]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Measure once per period.

        Args:
            angles: true wheel angles (left, right), rad, unwrapped.
            velocities: true wheel speeds, rad/s; of use only to exact encoders.

        Returns:
            (positions in rad, velocities in rad/s), each (left, right).

        Raises:
            ValueError: an angle or a speed is not finite.
        """
        if not all(map(math.isfinite, (*angles, *velocities))):
            raise ValueError(
                f"wheel angles {angles} rad, speeds {velocities} rad/s: must be finite"
            )
        if self._counts_per_radian == 0.0:
            return (angles[0], angles[1]), (velocities[0], velocities[1])
        counts = self._counts(angles)
        scale = 1.0 / self._counts_per_radian
        measured = [
            (now - before) * scale / self._period
            for now, before in zip(counts, self._previous, strict=True)
        ]
        self._previous = counts
        return (counts[0] * scale, counts[1] * scale), (measured[0], measured[1])

    def _counts(self, angles: tuple[float, float]) -> list[int]:
        return [
            math.floor(angle * self._counts_per_radian + phase)
            for angle, phase in zip(angles, self._phase, strict=True)
        ]
