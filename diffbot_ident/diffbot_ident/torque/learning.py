# SPDX-License-Identifier: Apache-2.0
"""From samples to sums of rows, in constant memory, and how much of the motion was seen."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.samples.wheel_speeds import TorqueResponse
from diffbot_ident.torque.columns import DOMEGA, DV, OMEGA, V
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.residual_correlation import ResidualCorrelation
from diffbot_ident.torque.rows import Flags, IntegralRows
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import REACH


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques under identification: m/s, rad/s, N m of one wheel."""

    velocity: float
    yaw_rate: float
    torque: float


# Windows after which a bucket of the coverage is full.
FULL_BUCKET = 10
# Buckets of K5..K8: pairs of v, omega, sum and difference forward (0 to 3) and backward (4 to 7).
BUCKETS = (((1, 1), (5, 5)), ((0, 1), (0, 5), (4, 1), (4, 5)), ((2, 2), (6, 6)), ((3, 3), (7, 7)))


class Coverage:
    """How much of the motion that each parameter needs has been seen: windows in buckets.

    K5: turning both ways; K6: driving while turning, in all four combinations; K7: common torques
    both ways; K8: opposite ones. Windows count beyond the scale's tenth (velocities) or fifth.
    """

    def __init__(self, scale: MotionScale) -> None:
        self._least = np.array(
            [0.1 * scale.velocity, 0.1 * scale.yaw_rate, *[0.2 * scale.torque] * 2]
        )
        self._counts = np.zeros((8, 8))

    def add(self, rows: Array, span: float) -> None:
        """Count windows by their rows; span is the length of a window, s."""
        seen = rows[:, [V, OMEGA, SUM.start, DIFFERENCE.start]] / span
        ways = np.concatenate((seen > self._least, seen < -self._least), axis=1).astype(float)
        self._counts += ways.T @ ways

    def forget(self, factor: float) -> None:
        """Scale the counts so far by this factor (0 to 1)."""
        self._counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Return how full the buckets of [K5, K6, K7, K8] are, 0 to 1."""
        filled = np.minimum(self._counts / FULL_BUCKET, 1.0).tolist()
        k5, k6, k7, k8 = (sum(filled[i][j] for i, j in own) / len(own) for own in BUCKETS)
        return k5, k6, k7, k8


# Share of the motion's scale that a velocity has to gain within a window for the past to fade.
MOVES = 0.01


@dataclass
class MadeRows:
    """Rows (n, columns) still to be learnt; the first `missing` periods have none.

    Flags (n,): no wheel reverses in a row (`turning`), no sample was lost in it (`whole`).
    """

    missing: int
    rows: Array
    turning: Flags
    whole: Flags

    def take(self, periods: int) -> MadeRows:
        """Remove the rows of the first of these control periods, and return them."""
        missing = min(self.missing, periods)
        count = periods - missing
        taken = MadeRows(missing, self.rows[:count], self.turning[:count], self.whole[:count])
        self.missing -= missing
        self.rows, self.turning, self.whole = (
            self.rows[count:],
            self.turning[count:],
            self.whole[count:],
        )
        return taken


class Learning:
    """Turns samples into sums over rows.

    Attributes:
        length: Control periods of a disjoint window.
        tail: Newest samples, with which the next rows begin, shape (n, 6).
    """

    def __init__(
        self, rows: IntegralRows, period: float, scale: MotionScale, forgetting: float
    ) -> None:
        self.rows, self._period = rows, period
        self.length = rows.window + rows.smoothing
        self._scale, self._forgetting = scale, forgetting
        self.clear()

    def clear(self) -> None:
        """Discard all rows."""
        rows = self.rows
        self.sums = RowSums(rows.window, rows.smoothing, self._period, rows.fine)
        self.coverage = Coverage(self._scale)
        self.residuals = ResidualCorrelation()
        self._seen = 0  # number of rows, including forgotten ones
        self.tail = np.empty((0, 6))
        self._past = self.tail  # whose torques may still act

    def end_segment(self) -> None:
        """Note that the next sample does not continue the previous ones."""
        self.tail = self._past = self.tail[:0]
        self.sums.interrupt()
        self.residuals.interrupt()

    @property
    def has_rows(self) -> bool:
        """Whether there are enough rows for a fit."""
        return self.sums.rows >= 2 * self.rows.overlap

    @property
    def windows(self) -> float:
        """Number of disjoint windows so far."""
        return self._seen / self.length

    def make(self, samples: Array, response: TorqueResponse) -> MadeRows:
        """Build the rows of samples (n, 6) that continue the previous ones, without learning."""
        kept, fine = self.rows.overlap * self.rows.fine, self.rows.fine
        periods = len(samples) // fine
        samples = np.concatenate((self.tail, samples))
        rows, turning, whole = self.rows.make(samples, response, self._past)
        self.tail = samples[-kept:]
        self._past = np.concatenate((self._past, samples[:-kept]))[-(REACH + 1) * fine :]
        return MadeRows(periods - len(rows), rows, turning, whole)

    def add(self, made: MadeRows) -> None:
        """Learn rows, one or more."""
        rows = made.rows
        if self._forgetting < 1.0:
            self._forget(rows)
        self.sums.add(rows, made.turning, made.whole)
        self._seen += len(rows)
        window = self.rows.window
        self.coverage.add(rows[::window], window * self._period)

    def _forget(self, rows: Array) -> None:
        """Forget as windows with motion arrive: a parked robot keeps its estimate."""
        gained = np.abs(rows[:, [DV, DOMEGA]]).max(axis=0)
        if (gained > MOVES * np.array([self._scale.velocity, self._scale.yaw_rate])).any():
            factor = self._forgetting ** (len(rows) / self.rows.window)
            for each in (self.sums, self.coverage, self.residuals):
                each.forget(factor)


class WarmUp:
    """The newest samples of the opening: parts (n, 6), and whether each continues the last."""

    def __init__(self, most: int) -> None:
        self.parts: deque[tuple[bool, Array]] = deque()
        self._most = most
        self._kept = 0
        self._follows = False

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._follows = False

    def add(self, part: Array) -> None:
        """Store samples and drop the oldest parts that exceed the limit."""
        if not len(part):
            return
        self.parts.append((self._follows, part))
        self._follows = True
        self._kept += len(part)
        while self._kept - len(self.parts[0][1]) >= self._most:
            self._kept -= len(self.parts.popleft()[1])
