"""Velocities of an axis beside those that a fit predicts, of samples that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diffbot_ident.velocity.first_order import Array, AxisSegment


@dataclass(frozen=True)
class Prediction:
    """Segments, and what was predicted of them; only new readings are judged.

    Attributes:
        segments: what was measured.
        simulated: of each segment, shape (n,), in the velocity's unit.
    """

    segments: tuple[AxisSegment, ...]
    simulated: tuple[Array, ...]

    @classmethod
    def joined(cls, predictions: Iterable[Prediction]) -> Prediction:
        """Several as one."""
        parts = list(predictions)
        return cls(
            tuple(segment for part in parts for segment in part.segments),
            tuple(simulated for part in parts for simulated in part.simulated),
        )

    @cached_property
    def errors(self) -> list[Array]:
        """Measured minus predicted velocity of each segment."""
        pairs = zip(self.segments, self.simulated, strict=True)
        return [(s.velocity - simulated)[s.counts] for s, simulated in pairs]

    @property
    def samples(self) -> int:
        """Number of errors."""
        return sum(map(len, self.errors))

    @cached_property
    def squares(self) -> float:
        """Sum of the squared errors."""
        errors = np.concatenate(self.errors)
        return float(errors @ errors)

    @cached_property
    def total(self) -> float:
        """Sum of the squared measured velocities about their mean."""
        measured = np.concatenate([s.velocity[s.counts] for s in self.segments])
        return float(np.sum((measured - measured.mean()) ** 2))

    @property
    def r_squared(self) -> float:
        """1 - SSE / SST; NaN for a constant velocity."""
        return 1.0 - self.squares / self.total if self.total > 0.0 else math.nan

    @property
    def error(self) -> float:
        """Root mean square of the errors."""
        return math.sqrt(self.squares / max(self.samples, 1))
