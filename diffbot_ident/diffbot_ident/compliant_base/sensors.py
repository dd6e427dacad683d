"""What is measured, and with what noise.

The paper's simulation adds "white noise of up to 10 % of the maximum sensed value". Here: noise
that is even between -10 % and +10 % of the channel's largest value, independent from sample to
sample and channel to channel. A channel is one axis of one sensor, in all three modes of the arm.
The largest value is either that sensed so far, as the paper reads ("own"), or given beforehand as
the sensor's full scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUANTITIES = (
    "force", "moment", "position", "velocity", "acceleration",
    "angle", "rate", "angular acceleration",
)  # fmt: skip
(FORCE, MOMENT, POSITION, VELOCITY, ACCELERATION, ANGLE, RATE, ANGULAR_ACCELERATION) = range(8)


@dataclass(frozen=True)
class SensorNoise:
    """White, uniform noise of every channel.

    Attributes:
        share: bound of the noise as a share of the scale, >= 0.
        full_scale: of every channel, shape (8, 3); None for the largest value sensed so far.
    """

    share: float = 0.1
    full_scale: Array | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.share) and self.share >= 0.0):
            raise ValueError(f"share = {self.share}: must be finite and >= 0")

    def deviation(self, largest: Array) -> Array:
        """Standard deviation of the noise, shape (..., 8, 3).

        Args:
            largest: largest value of each channel so far, shape (..., 8, 3).
        """
        scale = largest if self.full_scale is None else self.full_scale
        return self.share / math.sqrt(3.0) * np.broadcast_to(scale, np.shape(largest))

    def disturb(self, values: Array, largest: Array, random: np.random.Generator) -> Array:
        """Values with noise.

        Args:
            values: shape (..., 8, 3).
            largest: as for `deviation`, shape (8, 3).
            random: source of the noise.
        """
        bound = math.sqrt(3.0) * self.deviation(largest)
        return values + bound * random.uniform(-1.0, 1.0, values.shape)
