# SPDX-License-Identifier: Apache-2.0
"""The adaptation law (6) of Siwek et al. (2023), as published and corrected.

(3) is linear in sigma: command = A sigma, A = [[dv/dt, 0, v, 0], [0, domega/dt, 0, omega]].

    published:  sigma' = gamma^-1 A' (command - u) - gamma^-1 Gamma sigma
    corrected:  sigma' = gamma^-1 A' (command - A sigma) - gamma^-1 Gamma (sigma - prior)

Why the published one cannot find sigma: docs/theory/velocity_robots.md#adaptation-law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arc_odometry.number_range import Array
from diffbot_description.sigma import Sigma


@dataclass(frozen=True)
class AdaptationGains:
    """Settings of the law; shape (4,) or one number for all.

    Attributes:
        rate: Diagonal of gamma^-1, 1/s, > 0.
        leak: Diagonal of Gamma, >= 0.
        smoothing: Time constant of the corrected law's filter, s, >= 0; 0: none.
        corrected: Whether the corrected law is used; else (6), (7) as published.

    Raises:
        ValueError: A number is outside its limits.
    """

    rate: float | tuple[float, float, float, float] = 20.0
    leak: float | tuple[float, float, float, float] = 1e-5
    smoothing: float = 1.0
    corrected: bool = True

    def __post_init__(self) -> None:
        rate, leak = np.broadcast_to(self.rate, 4), np.broadcast_to(self.leak, 4)
        if not (np.isfinite(rate).all() and (rate > 0.0).all()):
            raise ValueError(f"adaptation law: rate = {self.rate} 1/s: must be finite and > 0")
        if not (np.isfinite(leak).all() and (leak >= 0.0).all()):
            raise ValueError(f"adaptation law: leak = {self.leak}: must be finite and >= 0")
        if not 0.0 <= self.smoothing < math.inf:
            raise ValueError(
                f"adaptation law: smoothing = {self.smoothing} s: must be finite and >= 0"
            )


def regressors(velocity: Array, acceleration: Array) -> Array:
    """Return A of (A14), shape (2, 4), from [v, omega] and their derivatives."""
    (v, omega), (dv, domega) = velocity, acceleration
    return np.array([[dv, 0.0, v, 0.0], [0.0, domega, 0.0, omega]])


class AdaptationLaw:
    """sigma by (6), sample by sample: `values` (4,), of any sign.

    The start is also the prior of the corrected law.
    """

    def __init__(
        self,
        start: Sigma,
        gains: AdaptationGains = AdaptationGains(),
    ) -> None:
        self._prior = start.as_array()
        self._rate, self._leak = (np.broadcast_to(g, 4) for g in (gains.rate, gains.leak))
        self._corrected = gains.corrected
        self._smoothing = gains.smoothing if gains.corrected else 0.0
        self._filtered: tuple[Array, Array] | None = None
        self.values = start.as_array()
        self._before: tuple[float, Array] | None = None

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Process a velocity and the command held since the previous stamp: Euler, leak exact.

        Raises:
            ValueError: A number is not finite, or the stamp does not increase.
        """
        u, asked = np.array(velocity, float), np.array(command, float)
        if not (math.isfinite(stamp) and np.isfinite(u).all() and np.isfinite(asked).all()):
            raise ValueError(f"stamp {stamp}, velocity {velocity}, command {command}: not finite")
        before, self._before = self._before, (stamp, u)
        if before is None:
            return
        dt = stamp - before[0]
        if not dt > 0.0:
            raise ValueError(f"stamp = {stamp} s after {before[0]} s: must rise")
        # The quotient is that of the middle of the period.
        a = regressors(0.5 * (u + before[1]), (u - before[1]) / dt)
        a, asked = self._smooth(a, asked, dt)
        kept = np.exp(-dt * self._rate * self._leak)
        if self._corrected:
            # Euler's step must not overshoot the minimum of an axis.
            size = 1.0 + dt * (a * a) @ self._rate
            step = self._rate * (a.T @ ((asked - a @ self.values) / size))
            self.values = self._prior + kept * (self.values - self._prior) + dt * step
        else:
            step = self._rate * (a.T @ (asked - u))
            self.values = kept * self.values + dt * step

    def _smooth(self, a: Array, asked: Array, dt: float) -> tuple[Array, Array]:
        if self._smoothing == 0.0:
            return a, asked
        fraction = -math.expm1(-dt / self._smoothing)
        old_a, old_asked = self._filtered or (np.zeros_like(a), np.zeros_like(asked))
        self._filtered = old_a + fraction * (a - old_a), old_asked + fraction * (asked - old_asked)
        return self._filtered
