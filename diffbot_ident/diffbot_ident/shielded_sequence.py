"""Sequences of torques that are driven where they are safe: PRBS and multisine in an arena."""

from __future__ import annotations

from random import Random
from typing import Protocol

import numpy as np

from diffbot_ident.guarded_prbs import GuardedPrbs
from diffbot_ident.shielded import Array, ShieldedExcitation


class TorqueSource(Protocol):
    """A sequence of torques that does not depend on the motion."""

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""


class ShieldedSequence(ShieldedExcitation):
    """Drives a sequence of torques, and the nearest safe torque level where that is not safe.

    Args:
        source: the sequence; it runs on while it is replaced.
        seed: chooses between levels that are equally near, >= 0.
        settings: as for ShieldedExcitation.
    """

    def __init__(self, source: TorqueSource, seed: int, **settings: object) -> None:
        super().__init__(**settings)
        self._source = source
        self._random = Random(seed)

    def _choose(self, pose: Array, velocity: Array) -> Array | None:
        wanted = self._source.take(self._interval)
        mean = wanted.mean(axis=1, keepdims=True)
        candidates = np.concatenate([mean, self.levels], axis=1)
        excess = self._shield.excess(pose, velocity, candidates, self._duration)
        if excess[0] <= 0.0:
            return wanted
        safe = np.flatnonzero(excess[1:] <= 0.0)
        if len(safe) == 0:
            return self._emergency(pose, velocity, excess[1:])
        distance = ((self.levels[:, safe] - mean) ** 2).sum(axis=0)
        nearest = safe[distance <= distance.min() + 1e-9]
        plan = self._held(int(self._random.choice(nearest.tolist())))
        self.interventions += 1
        self.guarded += int((plan != wanted).sum())
        return plan


class PrbsSource:
    """Binary torques of the two wheels, one sequence half a period apart.

    Args:
        amplitude: N m.
        hold: control periods of one bit.
        register: bits of the shift register, 7 to 15.
        seed: where in its period the sequence begins.
    """

    def __init__(self, amplitude: float, hold: int, register: int, seed: int) -> None:
        # The guarded excitation is the one copy of what the bits are; its guards never act at rest.
        self._prbs = GuardedPrbs(amplitude, hold, register, 1.0, seed)

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""
        return np.array([self._prbs.torque((0.0, 0.0)) for _ in range(count)]).T
