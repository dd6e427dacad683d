# SPDX-License-Identifier: Apache-2.0
"""From samples to sums of rows: what is learnt of a motion, in constant memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from diffbot_ident.torque.columns import DOMEGA, DV
from diffbot_ident.torque.coverage import Coverage, MotionScale
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.residual_correlation import ResidualCorrelation
from diffbot_ident.torque.rows import Flags, IntegralRows
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import REACH
from diffbot_ident.torque.wheel_speeds import TorqueResponse

# Share of the motion's scale that a velocity has to gain within a window for the past to fade.
MOVES = 0.01


@dataclass
class MadeRows:
    """Rows (n, columns) of consecutive control periods that are still to be learnt.

    `missing` periods of a segment's beginning have no row; flags (n,): no wheel reverses in a row
    (`turning`), no sample was lost in it (`whole`).
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
