"""Multisines: sums of sines at chosen frequencies with a small peak for their power.

Schroeder, M. R. (1970), "Synthesis of low-peak-factor signals and binary sequences with low
autocorrelation", gives the phases -pi k (k - 1) / K for K sines of equal amplitude.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
from numpy.typing import NDArray

# Period of the multisine in stretches of `hold` samples, and its lines in each wheel.
STRETCHES_PER_PERIOD = 64
LINES = 12


def schroeder(lines: NDArray[np.int64], samples: int) -> NDArray[np.float64]:
    """One period of a multisine with equal amplitudes and Schroeder's phases, peak 1.

    Args:
        lines: frequencies as whole numbers of periods in the signal, shape (K,), 1 to samples / 2.
        samples: in the period.

    Raises:
        ValueError: a line is outside its range.
    """
    if not (len(lines) and lines.min() >= 1 and 2 * lines.max() <= samples):
        raise ValueError(f"lines = {lines}: must be 1 to {samples // 2}, half of the samples")
    order = np.arange(1, len(lines) + 1)
    phases = -math.pi * order * (order - 1) / len(lines)
    time = math.tau * np.arange(samples) / samples
    signal = np.cos(np.outer(time, lines) + phases).sum(axis=1)
    return signal / np.abs(signal).max()


def crest_factor(signal: NDArray[np.float64]) -> float:
    """Largest size over root mean square; sqrt(2) for a sine, 1 for a binary signal."""
    return float(np.abs(signal).max() / math.sqrt(np.mean(signal**2)))


class Multisine:
    """Multisine torques of the two wheels at interleaved frequencies.

    The left wheel has the odd lines and the right wheel the even ones, so the two are uncorrelated
    over whole periods, and so are their sum and difference but for their equal power.

    Args:
        amplitude: largest torque of each wheel, N m.
        hold: control periods; the lines lie below 1 / (2 hold) of the control rate, as most of
            the power of a binary sequence with this hold does.
        seed: where in its period the signal begins, and each wheel's sign.
    """

    def __init__(self, amplitude: float, hold: int, seed: int = 0) -> None:
        samples = STRETCHES_PER_PERIOD * hold
        random = Random(seed)
        self._index = random.randrange(samples)
        signs = [random.choice((-1.0, 1.0)) for _ in range(2)]
        # Line n has the frequency n / (64 hold) of the control rate; the highest is 24 / 64.
        lines = [np.arange(first, 2 * LINES + 1, 2) for first in (1, 2)]
        self._signals = amplitude * np.array(
            [sign * schroeder(own, samples) for sign, own in zip(signs, lines, strict=True)]
        )

    def take(self, count: int) -> NDArray[np.float64]:
        """The next `count` torques [left, right], N m, shape (2, count)."""
        samples = self._signals.shape[1]
        indices = (self._index + np.arange(count)) % samples
        self._index = (self._index + count) % samples
        return self._signals[:, indices]
