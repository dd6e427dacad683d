"""Samples of fast robots, thinned to a pace at which a difference of angles still means something.

At 1 kHz one encoder count of 4096 is 1.5 rad/s: speeds of single periods are nothing but noise, and
products of neighbouring ones are biased, since both take the reading between them.
"""

from __future__ import annotations

import numpy as np

from diffbot_ident.integral_rows import Array


class Thinning:
    """Keeps each n-th sample, with the mean torque since the one before.

    Args:
        factor: n, >= 1.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.interrupt()

    def interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._left = np.empty((0, 5))

    def take(self, samples: Array) -> Array:
        """Thin samples of nearly even periods: stamp, angles and torques, shape (n, 5)."""
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        groups = samples[:whole].reshape(-1, self.factor, 5)
        self._left = samples[whole:]
        kept = groups[:, -1].copy()
        kept[:, 3:] = groups[:, :, 3:].mean(axis=1)
        return kept
