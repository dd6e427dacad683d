# SPDX-License-Identifier: Apache-2.0
"""Wheels whose angles are not theirs: of two publishers, or of one encoder recorded twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry.odometry import MAX_WHEEL_SPEED
from diffbot_node.source_watch import LONGEST_STEP, POINTS, SourceWatch, spike
from diffbot_recordings.samples import POSITIONS, WHEELS, Array, Mask
from diffbot_recordings.segments import Segment

# Equal turns, rad; in so many samples in a row, over so far, rad.
EQUAL, ALIKE, FAR = 1e-9, 100, 2.0
# Mean difference of speeds or efforts, as a share of their size, that counts.
DIFFERENT = 0.05
# An angle is strange if both its neighbours agree and differ by this, rad.
JUMP = 0.5
MOST = 0.05


@dataclass
class _Equal:
    """Turns of both wheels: samples with motion, and those that are equal while wheels differ."""

    moved: int = 0
    equal: int = 0
    begin: float = math.inf
    end: float = -math.inf
    what: str = ""


class WheelSources:
    """Watches the angles of both wheels, segment by segment."""

    def __init__(self, names: tuple[str, str] = POSITIONS) -> None:
        self._names = " and ".join(names)
        self._watch = SourceWatch(lambda: 1)
        self._sign = math.nan  # time of the first sign of a second source, s
        self._significant = ""
        self._strange: list[list[float]] = []  # angles [left, right] that return at once, rad
        self._first = math.nan
        self._seconds = 0.0
        self._equal = _Equal()

    def check(self, segment: Segment, efforts: tuple[str, str]) -> None:
        """Check the next segment, whose efforts are in these channels."""
        times = segment.times
        if math.isnan(self._first):
            self._first = float(times[0])
        self._seconds += segment.duration
        angles = segment.pair(POSITIONS)
        self._find_signs(times, angles)
        self._find_equal(segment, np.diff(angles, axis=0), efforts)

    def _find_signs(self, times: Array, angles: Array) -> None:
        stamps, pairs = times.tolist(), angles.tolist()
        for at in self._judged(stamps, _notable(times, angles, self._watch.count)):
            finding = self._watch.update(stamps[at], tuple(pairs[at]), stamps[at])
            if finding is not None:
                if math.isnan(self._sign):
                    self._sign = stamps[at]
                if finding.significant:
                    self._significant = finding.text
        steps = np.abs(np.diff(angles, axis=0))
        around = np.abs(angles[2:] - angles[:-2])
        strange = ((steps[:-1] > JUMP) & (steps[1:] > JUMP) & (around < JUMP)).any(axis=1)
        self._strange += angles[1:-1][strange].tolist()

    def _judged(self, stamps: Sequence[float], notable: Mask) -> Iterator[int]:
        at = 0
        for event in (*np.flatnonzero(notable).tolist(), len(stamps)):
            first = event - POINTS - 2
            while at < event:
                apart = at and first > at and stamps[first] - stamps[at - 1] > LONGEST_STEP
                if apart and self._watch.settled:
                    at = first
                yield at
                at += 1
            if at < len(stamps):
                yield at
                at += 1

    def _find_equal(self, segment: Segment, turned: Array, efforts: tuple[str, str]) -> None:
        moved = np.flatnonzero((np.abs(turned) > 0.0).any(axis=1))
        self._equal.moved += len(moved)
        if len(moved) < ALIKE:
            return
        equal = np.abs(turned[moved, 0] - turned[moved, 1]) < EQUAL
        bounds = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(int)))
        for first, last in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
            some = moved[first:last]
            if last - first < ALIKE or float(np.abs(turned[some]).sum()) < 2.0 * FAR:
                continue
            what = _difference(segment, some + 1, efforts)
            if what is not None:
                result = self._equal
                result.equal += last - first
                result.what = what
                result.begin = min(result.begin, float(segment.times[some[0]]) - self._first)
                result.end = max(result.end, float(segment.times[some[-1] + 1]) - self._first)

    def alternating(self) -> str | None:
        """Return the message about a second publisher of the wheels' joints; None: none."""
        if not self._significant:
            return None
        often = ""
        if self._strange:
            left, right = np.median(self._strange, axis=0).tolist()
            rate = len(self._strange) / max(self._seconds, 1e-3)
            often = f", which jump to {left:.3g} and {right:.3g} rad {rate:.2g} times a second,"
        return (
            f"two sources give the angles of {self._names}{often} from "
            f"{self._sign - self._first:.2f} s on ({self._significant}): a second node publishes "
            "these joints, such as joint_state_publisher, a second driver or simulator; stop it "
            "and record again"
        )

    def identical(self) -> str | None:
        """Return the message about one encoder recorded as both wheels; None: there is none."""
        result = self._equal
        if not result.equal or result.equal < MOST * result.moved:
            return None
        return (
            f"both wheels ({self._names}) turn by exactly the same angles from {result.begin:.1f} "
            f"to {result.end:.1f} s, although their {result.what} differ: one encoder is recorded "
            "as both wheels; choose the right column or joint (--columns, --left-joint, "
            "--right-joint), or correct the driver"
        )


def _notable(times: Array, angles: Array, count: float) -> Mask:
    """Return which of n readings, at stamps in s, must be judged; angles (n, 2), `count`, rad."""
    result = np.zeros(len(times), dtype=bool)
    steps, turned = np.diff(times)[:, None], np.diff(angles, axis=0)
    most = np.minimum(MAX_WHEEL_SPEED * steps, math.pi)
    usual = (steps > 0.0) & (steps <= LONGEST_STEP) & (np.abs(turned) <= most)
    result[1:] = ~usual.all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of equal stamps, which are notable
        spikes = spike(turned[:-1], turned[1:], steps[:-1], steps[1:], count)
    result[2:] |= (spikes > 0.0).any(axis=1)
    return result


def _difference(segment: Segment, at: NDArray[np.intp], efforts: tuple[str, str]) -> str | None:
    for pair, what in ((WHEELS, "speeds"), (efforts, "efforts")):
        if not {*pair} <= {*segment.channels}:
            continue
        left, right = (segment.channels[name][at] for name in pair)
        size = float(np.mean(np.abs(left) + np.abs(right)))
        if size > 0.0 and float(np.mean(np.abs(left - right))) > DIFFERENT * size:
            return what
    return None
