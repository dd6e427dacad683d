# SPDX-License-Identifier: Apache-2.0
"""Torques that act late, by any share of a control period, and samples of fast robots.

A row of the integrated model (integral_rows) holds the torques at several delays; `delay_weights`
makes of them the torque at any delay. `Decimation` puts the samples of a fast robot in groups.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from diffbot_ident.torque.estimate import Array

# Control periods of torque delay that are told apart: 0 to DELAYS - 1.
DELAYS = 5
# Most parts of a period whose torques are told apart.
FINEST = 8


def delay_columns(fine: int) -> int:
    """Columns for each of the torques' sum and difference, with so many samples in a period."""
    return DELAYS + 1 if fine == 1 else (DELAYS - 1) * fine + 2


@lru_cache(maxsize=4096)
def delay_weights(delay: float, fine: int) -> Array:
    """Weights of the torque's columns that give it as it acts so many periods late.

    A torque is constant from one sample to the next. Under the triangle over both periods of a
    step it counts with a part that is quadratic in the delay. With one sample in a period the
    columns are the torques of periods k + 1, k, ..., and the weights are exact:

        (1 - a)^2 / 2,  1 / 2 + a - a^2,  a^2 / 2,    a = delay - d,  d whole

    With more, the columns are the sums under the triangle itself, a sample later each, and what
    lies between two of them is interpolated.

    Args:
        delay: control periods, 0 to DELAYS - 1.
        fine: samples in a period.

    Returns:
        Shape (delay_columns(fine),).
    """
    weights = np.zeros(delay_columns(fine))
    whole = min(int(delay * fine + 1e-9), (DELAYS - 1) * fine)
    part = max(delay * fine - whole, 0.0)
    if fine > 1:
        weights[whole] = 1.0 - part
        weights[whole + 1] = part
        return weights
    weights[whole] = 0.5 * (1.0 - part) ** 2
    weights[whole + 1] = 0.5 + part - part**2
    if part > 0.0:
        weights[whole + 2] = 0.5 * part**2
    return weights


def delayed(torque: Array, delay: float) -> Array:
    """Torques that act when reported ones act late: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: as reported for each of n control periods, shape (..., n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (..., n); the first ceil(delay) periods, of which too little is known, are as
        reported first.
    """
    whole = int(delay)
    part = delay - whole
    first = np.repeat(torque[..., :1], whole + 1, axis=-1)
    padded = np.concatenate((first, torque), axis=-1)[..., : torque.shape[-1] + 1]
    return (1.0 - part) * padded[..., 1:] + part * padded[..., :-1]


class Decimation:
    """Takes the samples of a fast robot in groups, each of which is one period of the estimator.

    At 1 kHz one encoder count of 4096 is 1.5 rad/s: speeds of single periods are nothing but noise,
    and products of neighbouring ones are biased, since both take the reading between them.

    Args:
        factor: samples of a group, >= 1.

    Attributes:
        factor: as given.
        fine: parts of a group whose torques are told apart, at most FINEST; one that divides the
            factor.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.fine = next(n for n in range(min(factor, FINEST), 0, -1) if factor % n == 0)
        self.interrupt()

    def interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._left = np.empty((0, 5))

    def take(self, samples: Array) -> Array:
        """Whole groups of samples of nearly even periods, shape (groups x fine, 5).

        Args:
            samples: stamp, angles and torques, shape (n, 5).
        """
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        parts = samples[:whole].reshape(-1, self.factor // self.fine, 5)
        self._left = samples[whole:]
        kept = parts[:, -1].copy()
        kept[:, 3:] = parts[:, :, 3:].mean(axis=1)
        return kept
