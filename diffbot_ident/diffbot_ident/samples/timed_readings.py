# SPDX-License-Identifier: Apache-2.0
"""Samples as they were measured: without repeated readings, at the times of the readings.

A driver may repeat a reading with a new stamp: wheels stop for a sample and then catch up. That
sample is lost, and efforts over the gap are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.sample_clock import SampleClock
from diffbot_ident.samples.wheel_speeds import turns

# Steps of a wheel's angle up to this are rounding errors, rad; the finest encoders make 1e-5.
RESOLVED = 2e-6
# Counts per sample of a fast wheel, and most readings in a row that may be repeated ones.
FAST, MOST = 1.5, 3
# Shares of what a wheel would have turned by, between which it went on turning.
LEAST_CAUGHT_UP, MOST_CAUGHT_UP = 0.7, 1.5
# Readings over which a wheel's turn is averaged, as it is whole counts between two.
SPAN = 10
# Repeated readings, and share of those of fast wheels, from which on they are named.
NOTABLE, NOTABLE_FRACTION = 3, 0.002


class RepeatedReadings:
    """Leaves repeated readings out of samples; counts them, and others of fast wheels."""

    def __init__(self) -> None:
        self.result = self.fast = 0
        self._count = np.full(2, np.inf)  # smallest steps of the angles so far, rad
        self.interrupt()

    def interrupt(self) -> None:
        # The last two samples passed on, with undecided ones; samples between the two.
        self._kept = np.empty((0, 5))
        self._passed_on, self._span = 0, 1

    @property
    def fraction(self) -> float:
        """Share of repeated readings among those of fast wheels."""
        return self.result / max(self.result + self.fast, 1)

    def left_out(self, samples: Array) -> Array:
        """Return samples (n, 5), n > 0, without repeated ones; the newest may have to wait."""
        first = self._passed_on
        rows = np.concatenate((self._kept, samples))
        steps = turns(rows[:, 1:3])
        size = np.abs(steps)
        same = (rows[1:, 1:3] == rows[:-1, 1:3]).all(axis=1)
        seen = np.where(size > RESOLVED, size, np.inf)
        counts = np.minimum(np.minimum.accumulate(seen, axis=0), self._count)
        quick = (size > FAST * counts).any(axis=1)
        keep = np.ones(len(rows), dtype=bool)
        spans = {first - 1: self._span}
        end = len(rows)
        for last in (np.flatnonzero(same[1:] & ~same[:-1] & quick[:-1]) + 1).tolist():
            if last < first - 1:
                continue
            rest = np.flatnonzero(~same[last : last + MOST + 1])
            if not len(rest):
                if len(rows) - last <= MOST + 1:
                    end = last + 1
                    break
                continue
            after = last + 1 + int(rest[0])
            number = after - last
            pace = steps[last - 1] / spans.get(last, 1)
            caught_up = np.sign(pace) * steps[after - 1]
            expected = number * np.abs(pace)
            went_on = (caught_up >= LEAST_CAUGHT_UP * expected) & (
                caught_up <= MOST_CAUGHT_UP * expected
            )
            if (went_on & (np.abs(pace) > FAST * counts[after - 1])).any():
                keep[last + 1 : after] = False
                rows[after, 3:5] = rows[last + 1 : after + 1, 3:5].mean(axis=0)
                spans[after] = number
                self.result += number - 1
        self.fast += int(np.count_nonzero(quick[max(first - 1, 0) : end - 1]))
        self._count = counts[end - 2] if end > 1 else self._count
        passed = np.flatnonzero(keep[:end])
        new = passed[passed >= first]
        before = passed[-2:]
        self._passed_on, self._span = len(before), spans.get(int(before[-1]), 1)
        self._kept = np.concatenate((rows[before], rows[end:]))
        return rows[new]

    def warnings(self) -> list[str]:
        if self.result < NOTABLE or self.fraction < NOTABLE_FRACTION:
            return []
        return [
            f"{100.0 * self.fraction:.2g} % of the readings repeat the one before with a new stamp "
            "(stale): they are left out as lost samples; let the driver publish new readings only"
        ]


class CountsPerReading:
    """How many counts of their encoders wheels turn by between readings that a fit uses."""

    def __init__(self) -> None:
        self._count = math.inf  # smallest step of an angle so far, rad
        self._powers = np.zeros(2)  # sums of squares and cubes of turns over SPAN readings
        self.interrupt()

    def interrupt(self) -> None:
        self._kept = np.empty((0, 2))

    def add(self, angles: Array) -> None:
        """Add the next angles [left, right], rad, shape (n, 2)."""
        rows = np.concatenate((self._kept, angles))
        steps = np.abs(turns(rows))
        self._count = float(np.min(steps[steps > RESOLVED], initial=self._count))
        parts = (len(rows) - 1) // SPAN * SPAN
        turned = turns(rows)[:parts].reshape(-1, SPAN, 2).sum(axis=1) / SPAN
        size = np.abs(turned)
        self._powers += np.sum(size**2), np.sum(size**3)
        self._kept = rows[max(parts, 0) :]

    def typical(self, every: int = 1) -> float:
        """Return counts per so many readings, of fast wheels above all; infinite: exact angles."""
        squares, cubes = self._powers.tolist()
        if not (squares > 0.0 and math.isfinite(self._count)):
            return math.inf
        return every * cubes / squares / self._count


class TimedReadings:
    """Finds the readings behind joint samples, in the order of time and in constant memory."""

    def __init__(self) -> None:
        self.clock, self.repeated = SampleClock(), RepeatedReadings()
        self.counts = CountsPerReading()

    def interrupt(self) -> None:
        self.clock.interrupt()
        self.repeated.interrupt()
        self.counts.interrupt()

    def of(self, samples: Array) -> Array:
        """Return the next samples at times since `clock.began`, not repeated; the newest wait.

        `samples` (n, 5), n > 0: stamp (s), angles (rad) and torques (N m) of [left, right].
        """
        kept = self.repeated.left_out(samples)
        if len(kept):
            self.counts.add(kept[:, 1:3])
        return self.clock.timed(kept)

    def warnings(self) -> tuple[str, ...]:
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
