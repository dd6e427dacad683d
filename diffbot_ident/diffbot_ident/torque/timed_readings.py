# SPDX-License-Identifier: Apache-2.0
"""Samples as they were measured: without repeated readings, at the times of the readings."""

from __future__ import annotations

from collections.abc import Sequence

from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.repeated_readings import RepeatedReadings
from diffbot_ident.torque.sample_clock import SampleClock


class TimedReadings:
    """Finds the readings behind joint samples, in the order of time and in constant memory."""

    def __init__(self) -> None:
        self.clock, self.repeated = SampleClock(), RepeatedReadings()

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self.clock.interrupt()
        self.repeated.interrupt()

    def of(self, samples: Array) -> Array:
        """Return the next samples at times since `clock.began`, not repeated; the newest wait.

        `samples` (n, 5), n > 0: stamp (s), angles (rad) and torques (N m) of [left, right].
        """
        return self.clock.timed(self.repeated.left_out(samples))

    def warnings(self) -> tuple[str, ...]:
        """Return what is notable about stamps and readings, with its size."""
        return (*self.clock.warnings(), *self.repeated.warnings())


def readings_of(segments: Sequence[Array]) -> list[Array]:
    """Return the readings of segments (n, 5) of a motion, by a clock learnt from all of it."""
    readings, kept = TimedReadings(), []
    for samples in segments:
        readings.interrupt()
        kept.append(readings.repeated.left_out(samples) if len(samples) else samples)
        readings.clock.timed(kept[-1])
    results = []
    for samples in kept:
        readings.interrupt()
        results.append(readings.clock.timed(samples))
    return results
