"""Torque actuators of the two wheels: limit, delay and noise between a command and the wheels."""

from __future__ import annotations

import math
from collections import deque
from numbers import Integral

import numpy as np

LONGEST_DELAY = 1000


class Actuator:
    """Two wheel motors, [left, right].

    A command is clipped to the limit; that is the reported torque, what joint_states.effort says
    of the interval. The acting torque is the torque reported `delay_samples` earlier (0 before the
    first), times 1 + noise N(0, 1), drawn anew per wheel and sample.

    Args:
        limit: largest torque per wheel, N m, > 0.
        delay_samples: whole control samples, 0 to 1000.
        noise: standard deviation relative to the torque, 0 to 1.
        seed: of the noise, >= 0; the same seed gives the same noise.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self, limit: float, delay_samples: int = 0, noise: float = 0.0, seed: int = 0
    ) -> None:
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit = {limit} N m: must be finite and > 0")
        if not isinstance(delay_samples, Integral) or not 0 <= delay_samples <= LONGEST_DELAY:
            raise ValueError(
                f"torque delay_samples = {delay_samples}: "
                f"must be a whole number from 0 to {LONGEST_DELAY}"
            )
        if not 0.0 <= noise <= 1.0:
            raise ValueError(
                f"torque noise = {noise}: must be from 0 to 1; it is relative, 0.05 means 5 %"
            )
        if seed < 0:
            raise ValueError(f"torque noise seed = {seed}: must be >= 0")
        self._limit = float(limit)
        self._delay = int(delay_samples)
        self._noise = float(noise)
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        """Forget torques under way and start the noise again."""
        self._generator = np.random.default_rng(self._seed)
        self._under_way = deque([(0.0, 0.0)] * self._delay)

    def apply(
        self, command: tuple[float, float]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Torques of the next control interval for a command (left, right) in N m.

        Returns:
            (reported, acting), each (left, right) in N m.

        Raises:
            ValueError: a command is not finite; the actuator's state is unchanged then.
        """
        left, right = (self._clipped(side, c) for side, c in zip("LR", command, strict=True))
        self._under_way.append((left, right))
        delayed = self._under_way.popleft()
        if self._noise == 0.0:
            return (left, right), delayed
        factors = 1.0 + self._noise * self._generator.standard_normal(2)
        return (left, right), (delayed[0] * float(factors[0]), delayed[1] * float(factors[1]))

    def _clipped(self, side: str, value: float) -> float:
        if not math.isfinite(value):
            name = "left" if side == "L" else "right"
            raise ValueError(f"{name} torque command = {value} N m: must be finite; send 0 to stop")
        return max(-self._limit, min(self._limit, float(value)))
