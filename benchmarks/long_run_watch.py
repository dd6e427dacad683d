# SPDX-License-Identifier: Apache-2.0
"""The checks of long_run.py, and the faults that it adds to the samples."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry import JointSample
from diffbot_ident.torque.estimate import NORMAL_95

# Tolerance for random misses of the 95 % intervals in n independent checks: standard deviations of
# the binomial distribution beyond which a rate counts as wrong.
CHANCE = 3.0
# Stamp of a real robot: seconds since 1970.
EPOCH = 1.7e9


def resident() -> int:
    """Return the resident memory of this process, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass
class MatrixWatch:
    """Statistics of the checks of one covariance.

    Attributes:
        looks: Number of checks.
        definite: Whether it must be positive definite; otherwise semidefinite, for example if one
            quantity follows from the others.
        least: Smallest eigenvalue of its correlation matrix, independent of units: 1 for
            independent and 0 for fully dependent quantities.
        asymmetry: Largest |P - P'| in the units of the correlation matrix.
        bad: How often it was not finite, or a variance was negative.
    """

    definite: bool = True
    looks: int = 0
    least: float = math.inf
    asymmetry: float = 0.0
    bad: int = 0

    def look(self, matrix: ArrayLike) -> None:
        """Check a covariance, (n, n); quantities with zero variance are ignored."""
        p = np.asarray(matrix, dtype=float)
        self.looks += 1
        variances = p.diagonal()
        if not np.isfinite(p).all() or (variances < 0.0).any():
            self.bad += 1
            return
        known = variances > 0.0
        if not known.any():
            return
        scale = np.sqrt(variances[known])
        correlation = p[np.ix_(known, known)] / np.outer(scale, scale)
        self.asymmetry = max(self.asymmetry, float(np.abs(correlation - correlation.T).max()))
        self.least = min(self.least, float(np.linalg.eigvalsh(correlation)[0]))


@dataclass
class Intervals:
    """Coverage of the 95 % intervals of each quantity.

    Attributes:
        looks: Number of checks of each quantity.
        covered: Number of intervals that contained the truth.
        worst: Largest error in standard deviations.
    """

    names: tuple[str, ...]
    looks: np.ndarray = field(init=False)
    covered: np.ndarray = field(init=False)
    worst: float = 0.0

    def __post_init__(self) -> None:
        self.looks, self.covered = np.zeros(len(self.names), int), np.zeros(len(self.names), int)

    def look(
        self, values: Sequence[float], variances: Sequence[float], truth: Sequence[float]
    ) -> None:
        """Compare values and truth; quantities with infinite variance are ignored."""
        deviations = np.sqrt(np.asarray(variances, dtype=float))
        known = np.isfinite(deviations)
        off = np.abs(np.asarray(values) - np.asarray(truth))
        fraction = np.where(known, off / np.where(known, deviations, 1.0), 0.0)
        self.looks += known
        self.covered += known & (fraction <= NORMAL_95)
        self.worst = max(self.worst, float(fraction.max()))

    def __str__(self) -> str:
        shares = " ".join(
            f"{name} {100.0 * covered / looks:.1f} %" if looks else f"{name} -"
            for name, covered, looks in zip(self.names, self.covered, self.looks, strict=True)
        )
        return f"{shares} of {self.looks.max()} looks, farthest {self.worst:.1f} std"


@dataclass
class Report:
    """Report on the run of one robot."""

    matrices: dict[str, MatrixWatch] = field(default_factory=dict)
    intervals: dict[str, Intervals] = field(default_factory=dict)
    problems: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def problems_so_far(self) -> int:
        """Number of violated conditions."""
        return sum(self.problems.values()) + sum(watch.bad for watch in self.matrices.values())

    def covariance(self, name: str, matrix: ArrayLike, definite: bool = True) -> None:
        """Check a covariance; see MatrixWatch."""
        self.matrices.setdefault(name, MatrixWatch(definite)).look(matrix)

    def count(self, what: str, number: int = 1) -> None:
        """Count an event without a problem."""
        self.counts[what] = self.counts.get(what, 0) + number

    def demand(self, holds: bool, what: str) -> None:
        """Count a problem unless the condition holds."""
        if not holds:
            self.problems[what] = self.problems.get(what, 0) + 1


class Troubles:
    """Adds occasional faults of drivers and networks to samples, by a seeded plan.

    Faults are NaN or absurd values, duplicate or late samples, pauses of 0.1 to 3 s, and resets of
    time. In the middle of the run the stamps change to seconds since 1970.

    Args:
        seed: Seed of the plan.
        period: Period of the samples, s.
        steps: Number of steps of the whole run.
        every: Mean number of samples between two faults.
    """

    KINDS = ("nan angle", "infinite torque", "absurd angle", "nan speed", "twice", "late", "pause")
    BETWEEN_RESETS = 1200.0  # s

    def __init__(self, seed: int, period: float, steps: int, every: int = 1500) -> None:
        self._random = np.random.default_rng((seed, 77))
        self._period, self._steps, self._every = period, steps, every
        self._pause = 0
        self._offset = 0.0
        self._resets = round(self.BETWEEN_RESETS / period)
        self._last: deque[JointSample] = deque(maxlen=3)
        self.happened: dict[str, int] = {}
        self.step = 0

    def _note(self, kind: str) -> None:
        self.happened[kind] = self.happened.get(kind, 0) + 1

    @property
    def paused(self) -> bool:
        """Whether the robot sends nothing now."""
        return self._pause > 0

    def pass_on(self, sample: JointSample) -> list[JointSample]:
        """Return the samples that arrive for a sample, with changed stamp and faults."""
        self.step += 1
        if self.step == self._steps // 2:
            self._offset = EPOCH
            self._note("clock since 1970")
        elif self.step % self._resets == 0:
            self._offset -= 1000.0
            self._note("reset of time")
        good = replace(sample, stamp=self._offset + sample.stamp)
        if self._pause:
            self._pause -= 1
            return []
        joint_samples = [good]
        if self._random.random() < 1.0 / self._every:
            joint_samples = self._spoil(good, self.KINDS[self._random.integers(len(self.KINDS))])
        self._last.append(good)
        return joint_samples

    def _spoil(self, good: JointSample, kind: str) -> list[JointSample]:
        self._note(kind)
        left = good.position[0]
        if kind == "nan angle":
            return [replace(good, position=(left, math.nan))]
        if kind == "absurd angle":
            return [replace(good, position=(1e300, left))]
        if kind == "infinite torque":
            return [replace(good, effort=(math.inf, 0.0))]
        if kind == "nan speed":
            return [replace(good, velocity=(math.nan, 0.0))]
        if kind == "twice":
            return [good, good]
        if kind == "late":
            return [good, self._last[0]] if self._last else [good]
        self._pause = int(self._random.uniform(0.1, 3.0) / self._period)
        return []
