# SPDX-License-Identifier: Apache-2.0
"""Remove jumps of an encoder's counter that wraps, at any angle, or is set anew.

The rotation over a jump follows from the samples around it, or from all jumps if they are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_recordings.samples import Array

Indices = NDArray[np.intp]

# A jump differs from steps around it by JUMP, rad, and what ACCELERATION, rad/s^2, explains.
JUMP, ACCELERATION = 0.5, 1500.0
# Usual steps in a gap, over which nothing is known.
GAP = 3.5
# Steps on each side from which the rotation over a jump is taken.
AROUND = 2
# Largest difference between jumps of one counter, rad.
ALIKE = 0.5
# Distance in rad, or counts, from whole turns that still counts as whole.
NEAR_TURNS, COUNTS = 0.02, 3.0
# Samples within which a jump is undone that is no wrap, unless sizes are alike.
RETURNS = 3


@dataclass(frozen=True)
class Wraps:
    """Jumps of one wheel's angle that were removed.

    Attributes:
        times: When, shape (n,), s.
        size: Range of the counter, rad; NaN: the jumps differ, as if it was set.
    """

    times: Array
    size: float

    def sentence(self, channel: str, begin: float) -> str:
        """Return what was found, for people."""
        many = "once" if len(self.times) == 1 else f"{len(self.times)} times"
        first = f"{channel} jumps {many}, first at {float(self.times[0]) - begin:.2f} s, while the "
        if math.isfinite(self.size):
            # One jump has a size of its own, whatever it comes from.
            anew = ", or that was set anew" if len(self.times) == 1 else ""
            counter = f"a counter that wraps after {self.size:.5g} rad{anew}"
            return f"{first}wheel turns on: taken for {counter}"
        return f"{first}wheel turns on: taken for an encoder that was set anew; the turn goes on"


def continuous(
    times: Array, angles: Array, *, one_turn: bool = False
) -> tuple[Array, Wraps | None]:
    """Return a wheel's angles (n,), rad, at increasing times, s, without jumps; and these, or None.

    `one_turn`: whether to remove wraps after one turn, too.
    """
    steps, periods = np.diff(angles), np.diff(times)
    if len(steps) < 2 * AROUND + 1:
        return angles, None
    usual = float(np.median(periods))
    jumps = _jumps(steps, periods, usual)
    if not len(jumps):
        return angles, None
    excess = np.array([steps[k] - _rotation(steps, periods, usual, jumps, k) for k in jumps])
    size = _size(angles, excess)
    if math.isfinite(size):
        if not one_turn and abs(size - math.tau) < ALIKE:
            return angles, None
        removed = -size * np.sign(excess)
    elif _returns(jumps, excess):
        return angles, None
    else:
        removed = -excess
    offset = np.zeros(len(angles))
    offset[jumps + 1] = removed
    return angles + np.cumsum(offset), Wraps(times[jumps + 1], size)


def _jumps(steps: Array, periods: Array, usual: float) -> Indices:
    padded = np.pad(steps, AROUND, mode="edge")
    near = np.stack([padded[i : i + len(steps)] for i in range(2 * AROUND + 1)])
    apart = np.abs(steps - np.median(near, axis=0))
    allowed = JUMP + ACCELERATION * np.square(periods)
    indices: Indices = np.flatnonzero((apart > allowed) & (periods < GAP * usual))
    return indices


def _rotation(steps: Array, periods: Array, usual: float, jumps: Indices, k: int) -> float:
    speeds = []
    for side in (-1, 1):
        for i in range(1, AROUND + 1):
            at = k + side * i
            if not 0 <= at < len(steps) or periods[at] > GAP * usual:
                break
            if at not in jumps:
                speeds.append(float(steps[at] / periods[at]))
                break
    return float(periods[k]) * (sum(speeds) / len(speeds) if speeds else 0.0)


def _size(angles: Array, excess: Array) -> float:
    """Return the range of the counter, rad; NaN if the jumps have no common size."""
    sizes = np.abs(excess)
    size = float(np.median(sizes))
    if float(np.max(np.abs(sizes - size))) > ALIKE:
        return math.nan
    size = float(np.mean(sizes))
    count = _count(angles)
    turns = math.tau * round(size / math.tau)
    if turns > 0.0 and abs(size - turns) < max(NEAR_TURNS, COUNTS * count):
        return turns
    return count * round(size / count) if count > 0.0 else size


def _count(angles: Array) -> float:
    steps = np.abs(np.diff(angles))
    steps = steps[(steps > 1e-6) & (steps < JUMP)]
    if not len(steps):
        return 0.0
    count = float(np.min(steps))
    whole = steps / count
    return count if float(np.mean(np.abs(whole - np.round(whole)) < 0.02)) > 0.98 else 0.0


def _returns(jumps: Indices, excess: Array) -> bool:
    undone = (np.diff(jumps) <= RETURNS) & (excess[1:] * excess[:-1] < 0.0)
    return 4 * int(np.count_nonzero(undone)) >= len(jumps)
