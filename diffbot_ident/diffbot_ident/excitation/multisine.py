# SPDX-License-Identifier: Apache-2.0
"""Multisine torques of the two wheels; Schroeder (1970).

See docs/theory/excitation.md.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import Array

# Period of the multisine in holds, and number of lines of each wheel.
STRETCHES_PER_PERIOD = 64
LINES = 12


def schroeder(lines: NDArray[np.int64], samples: int) -> Array:
    """Return one period of a multisine with equal amplitudes and Schroeder's phases, peak 1.

        >>> float(abs(schroeder(np.array([1, 3, 5]), 100)).max())
        1.0

    Args:
        lines: Frequencies as whole numbers of periods in the signal, 1 to samples / 2, shape (K,).
        samples: Number of samples in the period.
    """
    if not (len(lines) and lines.min() >= 1 and 2 * lines.max() <= samples):
        raise ValueError(f"lines = {lines}: must be 1 to {samples // 2}, half of the samples")
    order = np.arange(1, len(lines) + 1)
    phases = -math.pi * order * (order - 1) / len(lines)
    time = math.tau * np.arange(samples) / samples
    signal = np.cos(np.outer(time, lines) + phases).sum(axis=1)
    scaled: Array = signal / np.abs(signal).max()
    return scaled


class Multisine:
    """Multisine torques of the wheels at interleaved frequencies: odd lines left, even right.

    Args:
        amplitude: Peak torque of each wheel, N m.
        hold: Control periods; the lines lie below 1 / (2 hold) of the control rate.
        seed: Selects where in its period the signal starts, and each wheel's sign.
    """

    def __init__(self, amplitude: float, hold: int, seed: int = 0) -> None:
        samples = STRETCHES_PER_PERIOD * hold
        random = Random(seed)
        self._index = random.randrange(samples)
        signs = [random.choice((-1.0, 1.0)) for _ in range(2)]
        # Line n has the frequency n / (64 hold) of the control rate.
        lines = [np.arange(first, 2 * LINES + 1, 2) for first in (1, 2)]
        self._signals = amplitude * np.array(
            [sign * schroeder(own, samples) for sign, own in zip(signs, lines, strict=True)]
        )

    def take(self, count: int) -> Array:
        samples = self._signals.shape[1]
        indices = (self._index + np.arange(count)) % samples
        self._index = (self._index + count) % samples
        return self._signals[:, indices]
