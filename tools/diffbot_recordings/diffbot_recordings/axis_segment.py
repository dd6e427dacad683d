# SPDX-License-Identifier: Apache-2.0
"""Measured pieces of one axis of a velocity-commanded robot, and predictions of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diffbot_recordings.samples import Array, Mask
from diffbot_recordings.sent_commands import SentCommands

# Median of the square of a normal variable of unit variance.
CHI_SQUARED = 0.4549


@dataclass(frozen=True)
class AxisSegment:
    """An uninterrupted piece of one axis, sampled uniformly.

    Attributes:
        period: Sampling period, s, > 0.
        command: Command held from sample k to k+1, shape (n,); m/s, rad/s or the axis's own unit.
        velocity: Velocity measured at sample k, shape (n,); m/s or rad/s.
        fresh: Whether the velocity is a new reading, shape (n,); None: all are.
        sent: Commands as they were sent, of which `command` is the mean over each period.
        every: Number of samples from which on a dead time is another, for a coarse search.
        beside: Commands of the other axis as they were sent; None: unknown.

    Raises:
        ValueError: Shapes differ, a value is not finite, or period <= 0.
    """

    period: float
    command: Array
    velocity: Array
    fresh: Mask | None = None
    sent: SentCommands | None = None
    every: int = 1
    beside: SentCommands | None = None

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
            values = np.asarray(getattr(self, name), float)
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds a value that is not finite: remove such samples")
            object.__setattr__(self, name, values)

    @property
    def duration(self) -> float:
        return self.period * max(len(self.velocity) - 1, 0)

    @property
    def sent_values(self) -> Array:
        return self.command if self.sent is None else self.sent.values

    def acting(self, function: Callable[[Array], Array]) -> AxisSegment:
        """Return a segment whose commands are those that `function` makes of the sent ones."""
        if self.sent is None:
            return replace(self, command=function(self.command))
        sent = self.sent.changed(function)
        return replace(self, command=sent.means(self.period, len(self.velocity)), sent=sent)

    def refined(self, parts: int) -> AxisSegment:
        """Return a segment of a sample for each of m parts, of which the first is a reading."""
        count = len(self.velocity)
        fresh = np.zeros((count, parts), bool)
        fresh[:, 0] = self.counts
        period = self.period / parts
        return AxisSegment(
            period,
            np.repeat(self.command, parts)
            if self.sent is None
            else self.sent.means(period, count * parts),
            np.repeat(self.velocity, parts),
            fresh.ravel(),
            self.sent,
            every=parts * self.every,
            beside=self.beside,
        )

    @property
    def counts(self) -> Mask:
        """Whether each velocity is a new reading, shape (n,)."""
        if self.fresh is None:
            return np.ones(len(self.velocity), bool)
        return np.asarray(self.fresh, bool)


@dataclass(frozen=True)
class Prediction:
    """Measured segments that a fit has not seen, and predictions; only new readings are judged."""

    segments: tuple[AxisSegment, ...]
    simulated: tuple[Array, ...]

    @classmethod
    def joined(cls, predictions: Iterable[Prediction]) -> Prediction:
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
        return sum(map(len, self.errors))

    @cached_property
    def squares(self) -> float:
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
    def explained(self) -> float:
        """R^2 without the noise of single readings, by differences of successive errors, or NaN."""
        steps = np.concatenate([np.diff(part) for part in self.errors])
        if not len(steps):
            return math.nan
        noise = 0.5 * self.samples * float(np.median(steps**2)) / CHI_SQUARED
        noise = min(noise, self.squares)
        beyond = self.total - noise
        return 1.0 - (self.squares - noise) / beyond if beyond > 0.0 else math.nan

    @property
    def error(self) -> float:
        """Root mean square of the errors."""
        return math.sqrt(self.squares / max(self.samples, 1))
