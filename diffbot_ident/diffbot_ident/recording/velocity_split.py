"""Held-out samples of an axis: blocks of time in folds, each predicted by a fit to the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.velocity.dead_time import fit_dead_time
from diffbot_ident.velocity.stretch import Stretch

# Length of a block: a share of all, within bounds, s.
BLOCKS, SHORTEST, LONGEST_BLOCK = 15, 1.5, 20.0
# Median of the square of a normal variable of unit variance.
CHI_SQUARED = 0.4549
# Folds: each is predicted by a fit to the others.
FOLDS = 5


class Split:
    """Each fold predicted by a fit to all other folds, and one fit to all samples."""

    def __init__(
        self, stretches: Sequence[Stretch], longest: float, with_exponent: bool = False
    ) -> None:
        self.stretches = list(stretches)
        fresh = [
            np.ones(len(s.velocity), bool) if s.fresh is None else np.asarray(s.fresh)
            for s in stretches
        ]
        numbers = _folds(stretches)
        self.held = [
            [new & (number == k) for new, number in zip(fresh, numbers, strict=True)]
            for k in range(FOLDS)
        ]
        self.seen = [
            [new & (number != k) for new, number in zip(fresh, numbers, strict=True)]
            for k in range(FOLDS)
        ]
        self.fits = [
            fit_dead_time(
                [replace(s, fresh=m) for s, m in zip(stretches, seen, strict=True)],
                longest,
                with_exponent,
                every=2,
            )
            for seen in self.seen
        ]
        self.fit = fit_dead_time(stretches, longest, with_exponent)
        self.simulated = [np.empty(len(s.velocity)) for s in stretches]
        for k, fit in enumerate(self.fits):
            for stretch, number, simulated in zip(stretches, numbers, self.simulated, strict=True):
                simulated[number == k] = fit.simulate(stretch)[number == k]
        self._score(fresh)

    def _score(self, fresh: Sequence[NDArray[np.bool_]]) -> None:
        """Errors of all predictions of fresh samples."""
        measured = np.concatenate(
            [s.velocity[m] for s, m in zip(self.stretches, fresh, strict=True)]
        )
        parts = [
            (np.asarray(s.velocity, float) - simulated)[m]
            for s, simulated, m in zip(self.stretches, self.simulated, fresh, strict=True)
        ]
        errors = np.concatenate(parts)
        count = len(errors)
        self.squares = float(errors @ errors)
        total = float(np.sum((measured - measured.mean()) ** 2))
        self.r_squared = 1.0 - self.squares / total if total > 0.0 else math.nan
        self.error = math.sqrt(self.squares / max(count, 1))
        # Readings scatter from one to the next by sqrt(2) of their noise; dynamics do not. The
        # median, as the few steps where a command jumps or the fold changes are no noise.
        steps = np.concatenate([np.diff(part) for part in parts])
        noise = min(0.5 * count * float(np.median(steps**2)) / CHI_SQUARED, self.squares)
        beyond = total - noise
        self.explained = 1.0 - (self.squares - noise) / beyond if beyond > 0.0 else math.nan


def _folds(stretches: Sequence[Stretch]) -> list[NDArray[np.int64]]:
    """Number of the fold that each sample is in: blocks of time in turn."""
    total = sum(stretch.duration for stretch in stretches)
    length = min(max(total / BLOCKS, SHORTEST), LONGEST_BLOCK)
    numbers, next_one = [], 0
    for stretch in stretches:
        count = max(1, round(stretch.duration / length))
        n = len(stretch.velocity)
        numbers.append((next_one + np.arange(n) * count // max(n, 1)) % FOLDS)
        next_one += count
    return numbers
