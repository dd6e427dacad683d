# SPDX-License-Identifier: Apache-2.0
"""Motors and encoders of many robots at once: Actuator and Encoders with a robot axis.

The same seeds give the same noise and the same phases as those of virtual_robot.py, robot by robot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_sim.virtual_robot import Actuator, Encoders

Array = NDArray[np.float64]

# Number of noise samples drawn at once.
DRAWN = 200


class BlockActuator:
    """Motors of n robots; see Actuator.

    Args:
        limits: Largest torque per wheel, N m, shape (n,), > 0.
        delay_samples: Delay of all robots, control samples.
        noise: Standard deviation relative to the torque, a number or shape (n,).
        seeds: Seed of each robot's noise; empty: all 0.
        dead_bands: Dead bands [left, right], N m, shape (2, n); None: none.

    Raises:
        ValueError: See Actuator.
    """

    def __init__(
        self,
        limits: ArrayLike,
        delay_samples: int = 0,
        noise: ArrayLike = 0.0,
        seeds: Sequence[int] = (),
        dead_bands: Array | None = None,
    ) -> None:
        self._limits = np.atleast_1d(np.asarray(limits, dtype=float))
        n = len(self._limits)
        self._noise = np.broadcast_to(np.asarray(noise, dtype=float), (n,))
        self._seeds = list(seeds) or [0] * n
        for limit, share, seed in zip(self._limits, self._noise, self._seeds, strict=True):
            Actuator(float(limit), delay_samples, float(share), seed)
        self._bands = None if dead_bands is None or not dead_bands.any() else dead_bands
        self._generators = [np.random.default_rng(seed) for seed in self._seeds]
        self._delay = delay_samples
        self._under_way = [np.zeros((2, n))] * delay_samples
        self._factors: list[Array] = []

    def apply(self, command: Array) -> tuple[Array, Array]:
        """Return the torques of the next interval, (reported, acting), N m, shape (2, n) each.

        Raises:
            ValueError: A command is not finite.
        """
        if not np.isfinite(command).all():
            raise ValueError("a torque command is not finite; send 0 to stop")
        reported = np.clip(command, -self._limits, self._limits)
        acting = reported
        if self._delay:
            self._under_way.append(reported)
            acting = self._under_way.pop(0)
        if self._bands is not None:
            acting = np.where(np.abs(acting) >= self._bands, acting, 0.0)
        if self._noise.any():
            acting = acting * self._next_factors()
        return reported, acting

    def _next_factors(self) -> Array:
        if not self._factors:
            drawn = np.stack([g.standard_normal((DRAWN, 2)) for g in self._generators], axis=2)
            self._factors = list((1.0 + self._noise * drawn)[::-1])
        return self._factors.pop()


class BlockEncoders:
    """Encoders of n robots; see Encoders.

    Args:
        counts_per_revolution: Counts per wheel turn of each robot, 0 for exact ones, shape (n,).
        period: Time between two readings, s, > 0.
        seeds: Seed of each robot's phases.

    Raises:
        ValueError: See Encoders.
    """

    def __init__(
        self, counts_per_revolution: Sequence[int], period: float, seeds: Sequence[int]
    ) -> None:
        for counts, seed in zip(counts_per_revolution, seeds, strict=True):
            Encoders(counts, period, seed)
        self._exact = np.array([counts == 0 for counts in counts_per_revolution])
        counted = np.array([counts or 1 for counts in counts_per_revolution], dtype=float)
        self._per_radian = counted / math.tau
        self._phase = np.array([np.random.default_rng(seed).random(2) for seed in seeds]).T

    def read(self, angles: Array) -> Array:
        """Return measured angles for true ones, rad, shape (2, n) both."""
        scale = 1.0 / self._per_radian
        measured: Array = np.floor(angles * self._per_radian + self._phase) * scale
        return np.where(self._exact, angles, measured) if self._exact.any() else measured
