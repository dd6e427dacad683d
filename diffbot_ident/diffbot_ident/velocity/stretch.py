"""An uninterrupted piece of one axis: what was commanded and what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stretch:
    """An uninterrupted piece of one axis, sampled uniformly.

    Attributes:
        period: s, > 0.
        command: shape (n,), held from sample k to k+1; m/s or rad/s, or what the axis takes.
        velocity: shape (n,), measured at sample k; m/s or rad/s.
        fresh: shape (n,), whether the velocity is a new reading; None: all are.

    Raises:
        ValueError: shapes differ, a value is not finite, or period <= 0.
    """

    period: float
    command: Array
    velocity: Array
    fresh: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.period < math.inf:
            raise ValueError(f"period = {self.period}: must be finite and > 0 s")
        shape = np.shape(self.velocity)
        if len(shape) != 1:
            raise ValueError(f"velocity has shape {shape}: must be (n,)")
        for name in ("command", "fresh"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise ValueError(
                    f"{name} has shape {np.shape(value)}: must be {shape}, as velocity"
                )
        for name in ("command", "velocity"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} holds a value that is not finite: leave such samples out")

    @property
    def duration(self) -> float:
        """From the first sample to the last, s."""
        return self.period * max(len(self.velocity) - 1, 0)
