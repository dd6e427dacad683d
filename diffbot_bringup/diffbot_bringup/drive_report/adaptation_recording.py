"""What a report remembers of an adaptive controller: its judgements, and what was true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.drive_report.drive_run import Columns
from diffbot_bringup.drive_report.sample_buffer import SampleBuffer
from diffbot_bringup.report.arrivals import Arrivals

NANOSECONDS = 1_000_000_000
# Of diffbot_msgs/AdaptationStatus; `passed` comes last, there may be any number of gates.
FIELDS = ("state", "refused", "in_use", "offered", "offered_std", "lower", "upper", "follows")
COLUMNS = np.cumsum((1, 1, 4, 4, 4, 4, 4, 4))
CAPACITY = 50_000  # estimates: 2.7 hours at 5 Hz


@dataclass(frozen=True)
class AdaptationRun:
    """Judgements of an adaptive run, n of them, in time; rows of four are [K5, K6, K7, K8].

    Attributes:
        time: stamps of the estimates, s since driving began, shape (n,).
        state: WAITING 0, FOLLOWING 1 or FROZEN 2, shape (n,).
        refused: estimates refused so far, shape (n,).
        in_use: shape (n, 4).
        offered: shape (n, 4).
        deviation: standard deviations of those offered, infinite where unknown, shape (n, 4).
        lower: band, shape (n, 4).
        upper: band, shape (n, 4).
        follows: shape (n, 4).
        gates: names of the gates, m of them.
        passed: whether each gate let the estimate pass, shape (n, m).
        true_time: when true parameters began to hold, s since driving began, shape (k,).
        true: those, shape (k, 4).
        lost: judgements that did not come.
        has_last: whether the last one has.
    """

    time: Columns
    state: Columns
    refused: Columns
    in_use: Columns
    offered: Columns
    deviation: Columns
    lower: Columns
    upper: Columns
    follows: NDArray[np.bool_]
    gates: tuple[str, ...]
    passed: NDArray[np.bool_]
    true_time: Columns
    true: Columns
    lost: int = 0
    has_last: bool = True

    def __len__(self) -> int:
        return len(self.time)

    @property
    def changes(self) -> list[float]:
        """Times at which the true parameters changed while the robot was driven, s."""
        return [
            float(time)
            for time, before, after in zip(
                self.true_time[1:], self.true[:-1], self.true[1:], strict=True
            )
            if time > 0.0 and not np.array_equal(before, after)
        ]


class AdaptationRecording:
    """Takes in judgements and true parameters.

    Attributes:
        arrivals: which judgements have come.
    """

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self._gates: tuple[str, ...] = ()
        self._status: SampleBuffer | None = None
        self._truth: dict[int, tuple[float, ...]] = {}

    def add(
        self,
        gates: tuple[str, ...],
        stamps: NDArray[np.int64],
        rows: NDArray[np.float64],
        counts: Sequence[int] | None = None,
    ) -> None:
        """Take in a batch.

        Args:
            gates: names, m of them.
            stamps: ns, shape (n,).
            rows: values of FIELDS and `passed`, shape (n, 26 + m).
            counts: number of each message, as its writer counts them; None: not told.
        """
        self.arrivals.add([0] * len(stamps) if counts is None else counts, stamps)
        if self._status is None or gates != self._gates:
            self._gates, self._status = gates, SampleBuffer(rows.shape[1], CAPACITY)
        self._status.add(stamps, rows)

    def add_truth(self, stamp: int, values: tuple[float, ...]) -> None:
        """Take in true K5..K8 that hold from a stamp (ns) on."""
        if self._truth and stamp < max(self._truth):
            self._truth.clear()
        self._truth[stamp] = values

    def run(self, start: float, told: int = 0) -> AdaptationRun:
        """The run so far.

        Args:
            start: stamp at which driving began, s.
            told: judgements that the controller has published.
        """
        buffer = self._status
        rows = buffer.rows if buffer else np.empty((0, int(COLUMNS[-1]) + len(self._gates)))
        stamps = buffer.stamps if buffer else np.empty(0, np.int64)
        state, refused, *quads, follows, passed = np.split(rows, COLUMNS, axis=1)
        zero = round(start * NANOSECONDS)
        true = np.array(list(self._truth.values())).reshape(-1, 4)
        return AdaptationRun(
            (stamps - zero) / NANOSECONDS,
            state[:, 0],
            refused[:, 0],
            *quads,
            follows=follows > 0.5,
            gates=self._gates,
            passed=passed > 0.5,
            true_time=(np.array(list(self._truth), np.int64) - zero) / NANOSECONDS,
            true=true,
            lost=self.arrivals.missing(told),
            has_last=told <= self.arrivals.newest,
        )
