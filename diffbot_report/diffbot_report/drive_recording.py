"""What a report remembers of a driving run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.tracking_errors import TrackingErrors
from diffbot_report.controller_topics import (
    TORQUE,
    TRUTH,
    Commanded,
    ControllerSample,
    StatusFields,
)
from diffbot_report.ident_recording import WAITING

# ---
# A driving run as arrays: what metrics and pictures are made of.

Columns = NDArray[np.float64]


@dataclass(frozen=True)
class DriveRun:
    """Samples of a run at the control instants, n of them; NaN where something is not known.

    Attributes:
        time: since driving began, s, rising, shape (n,).
        reference: pose, m, m, rad, shape (n, 3); NaN where only velocities are asked for.
        odometry: pose as the controller knows it, shape (n, 3).
        true: pose of the simulated robot, shape (n, 3); NaN where it was not received.
        wanted: velocity asked for, eta of (14), (15) or u_r, [v, omega], m/s and rad/s, (n, 2).
        velocity: u as the controller knows it, shape (n, 2).
        true_velocity: of the simulated robot, shape (n, 2).
        command: for the period that begins: torque [left, right], N m, or velocity [v, omega], m/s
            and rad/s, shape (n, 2).
        commanded: which of these.
        extra: further arrays, by the names of StatusFields.extra, each of shape (n, length).
        gaps: times between which samples are missing, s, shape (m, 2); may be infinite.
        truth_due: whether a simulator should have told the true pose at each sample.
    """

    time: Columns
    reference: Columns
    odometry: Columns
    true: Columns
    wanted: Columns
    velocity: Columns
    true_velocity: Columns
    command: Columns
    commanded: Commanded = TORQUE
    extra: Mapping[str, Columns] = field(default_factory=dict)
    gaps: Columns = field(default_factory=lambda: np.empty((0, 2)))
    truth_due: bool = False

    def __len__(self) -> int:
        return len(self.time)

    def is_whole(self, begin: float = -math.inf, end: float = math.inf, true: bool = False) -> bool:
        """Whether nothing that should be known is missing between two times, s.

        Args:
            begin: s since driving began.
            end: likewise; the end of the run counts as missing where the run may have gone on.
            true: whether the true pose should be known, too.
        """
        if ((self.gaps[:, 0] < end) & (self.gaps[:, 1] > begin)).any():
            return False
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        return not (true and self.truth_due) or bool(np.isfinite(self.true[inside]).all())

    @property
    def untold_poses(self) -> int:
        """True poses that should be known and are not."""
        return int((~np.isfinite(self.true).all(axis=1)).sum()) if self.truth_due else 0

    @property
    def has_pose_reference(self) -> bool:
        """Whether the controller follows poses."""
        return len(self) > 0 and bool(np.isfinite(self.reference).all(axis=1).any())

    @property
    def has_truth(self) -> bool:
        """Whether a simulator told the true pose."""
        return len(self) > 0 and bool(np.isfinite(self.true).all(axis=1).any())

    @property
    def pose(self) -> Columns:
        """The best known pose of the robot: the true one, else by odometry, shape (n, 3)."""
        return self.true if self.has_truth else self.odometry

    @property
    def known_poses(self) -> NDArray[np.intp]:
        """Indices at which `pose` is known."""
        return np.flatnonzero(np.isfinite(self.pose).all(axis=1))

    @property
    def best_velocity(self) -> Columns:
        """The best known velocity: the true one, else the controller's, shape (n, 2)."""
        return self.true_velocity if self.has_truth else self.velocity

    def errors(self, pose: Columns, reference: Columns) -> TrackingErrors | None:
        """Errors at the instants at which both are known; None when there is none."""
        known = np.isfinite(pose).all(axis=1) & np.isfinite(reference).all(axis=1)
        if not known.any():
            return None
        return TrackingErrors.between(self.time[known], pose[known], reference[known])

    @property
    def true_errors(self) -> TrackingErrors | None:
        """Of the true pose against the reference."""
        return self.errors(self.true, self.reference)

    @property
    def odometry_errors(self) -> TrackingErrors | None:
        """Of the pose by odometry against the reference."""
        return self.errors(self.odometry, self.reference)

    @property
    def drift(self) -> TrackingErrors | None:
        """Of the true pose against the one by odometry."""
        return self.errors(self.true, self.odometry)


# ---
# All samples of a run, in a NumPy buffer that grows.

# 200,000 rows are 33 min at 100 Hz, and at most 40 MB.
CAPACITY = 200_000


class SampleBuffer:
    """Rows of numbers with stamps in ns, oldest first.

    A step back of the stamps (robot time was reset) starts the buffer anew. When it is full, every
    second row goes, by its place on the grid of the control period, so that two buffers of the same
    run keep the same stamps.

    Args:
        width: numbers in a row, >= 1.
        capacity: rows kept at most, >= 4.

    Attributes:
        taken: rows taken since the start.
        every: one in so many is kept.
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        if width < 1 or capacity < 4:
            raise ValueError(
                f"width = {width}, capacity = {capacity}: must be >= 1 number and >= 4 rows"
            )
        self._capacity = capacity
        self._stamps = np.empty(min(1024, capacity), np.int64)
        self._rows = np.empty((len(self._stamps), width))
        self._clear()

    def _clear(self) -> None:
        self._size = self.taken = 0
        self.every = 1
        self._period = 0

    def __len__(self) -> int:
        return self._size

    @property
    def stamps(self) -> NDArray[np.int64]:
        """Stamps in ns, rising, shape (n,)."""
        return self._stamps[: self._size]

    @property
    def rows(self) -> NDArray[np.float64]:
        """Rows, shape (n, width)."""
        return self._rows[: self._size]

    def add(self, stamps: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Append a batch; of rows with the same stamp the first one stays.

        Args:
            stamps: ns, shape (n,).
            rows: shape (n, width).
        """
        back = np.flatnonzero(np.diff(stamps) < 0)
        if len(back):
            first = back[-1] + 1
            self._clear()
            stamps, rows = stamps[first:], rows[first:]
        elif len(stamps) and self._size and stamps[0] < self._stamps[self._size - 1]:
            self._clear()
        if self._size:
            new = stamps > self._stamps[self._size - 1]
            stamps, rows = stamps[new], rows[new]
        new = np.diff(stamps, prepend=-1) > 0
        self._append(stamps[new], rows[new])

    def _append(self, stamps: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        self.taken += len(stamps)
        if self.every > 1:
            kept = self._kept(stamps)
            stamps, rows = stamps[kept], rows[kept]
        end = self._size + len(stamps)
        if end > len(self._stamps):
            size = max(end, 2 * len(self._stamps))
            self._stamps = np.resize(self._stamps, size)
            self._rows = np.concatenate(
                [self.rows, np.empty((size - self._size, self._rows.shape[1]))]
            )
        self._stamps[self._size : end] = stamps
        self._rows[self._size : end] = rows
        self._size = end
        while self._size > self._capacity:
            self._thin()

    def _thin(self) -> None:
        if not self._period:
            self._period = max(int(np.median(np.diff(self.stamps))), 1)
        self.every *= 2
        kept = self._kept(self.stamps)
        if kept.all():
            # Stamps off the grid of their own period: any half is as good as the other.
            kept[1::2] = False
        size = int(kept.sum())
        self._stamps[:size] = self.stamps[kept]
        self._rows[:size] = self.rows[kept]
        self._size = size

    def _kept(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these are on the grid that is kept."""
        return (stamps + self._period // 2) // self._period % self.every == 0


# ---
# Which of a topic's numbered messages have come, and between which stamps some are missing.


class Arrivals:
    """Follows the field `count` of messages that a KeptTopic publishes.

    A count that does not rise is that of a writer that was started anew: all begins anew. A count
    of 0 is of a writer that does not count; nothing is known to be missing then.

    Attributes:
        newest: count of the newest message.
        lost: messages before it that have not come.
        gaps: [stamp before, stamp after], s, of each interval in which messages are missing; the
            first may begin at minus infinity.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.newest = self.lost = 0
        self.gaps: list[tuple[float, float]] = []
        self._stamp = -math.inf

    def add(self, counts: Sequence[int], stamps: NDArray[np.int64]) -> None:
        """Take in a batch: counts, and stamps in ns, both of n messages."""
        for count, stamp in zip(counts, (1e-9 * stamps).tolist(), strict=True):
            if count == 0:
                continue
            if count <= self.newest:
                self._clear()
            if count > self.newest + 1:
                self.lost += count - self.newest - 1
                self.gaps.append((self._stamp, stamp))
            self.newest, self._stamp = count, stamp

    def missing(self, told: int) -> int:
        """Messages that have not come, where the writer says that it has published so many."""
        return self.lost + max(told - self.newest, 0)

    def gaps_until(self, told: int) -> NDArray[np.float64]:
        """As `gaps`, s, shape (n, 2), with what is missing at the end: up to infinity."""
        gaps = [*self.gaps, (self._stamp, math.inf)] if told > self.newest else self.gaps
        return np.array(gaps, float).reshape(-1, 2)


# ---
# What a report remembers of an adaptive controller: its judgements, and what was true.

NANOSECONDS = 1_000_000_000
# Of diffbot_msgs/AdaptationStatus; `passed` comes last, there may be any number of gates.
FIELDS = ("state", "refused", "in_use", "offered", "offered_std", "lower", "upper", "follows")
COLUMNS = np.cumsum((1, 1, 4, 4, 4, 4, 4, 4))
ESTIMATE_CAPACITY = 50_000  # estimates: 2.7 hours at 5 Hz


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
            self._gates, self._status = gates, SampleBuffer(rows.shape[1], ESTIMATE_CAPACITY)
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


# Stamps go through floats in the states, ns.
TOLERANCE = 1000
# reference, odometry, wanted, velocity, command; see DriveRun. What is extra comes after it.
ROW = np.cumsum((3, 3, 2, 2, 2))


class DriveRecording:
    """Each status of a controller and each true pose, by stamp.

    Attributes:
        state: newest state of the controller; None before the first.
        start: stamp at which driving began, s; None before.
        arrivals: which messages on ~/status have come.
        peak_command: largest size of both that was commanded, also of rows thinned out, shape (2,).

    Args:
        fields: of the controller.
        capacity: rows kept, see SampleBuffer.
        truth_due: whether a simulator tells the true pose for each status.
    """

    def __init__(
        self, fields: StatusFields, capacity: int = CAPACITY, truth_due: bool = False
    ) -> None:
        self.truth_due = truth_due
        self.arrivals = Arrivals()
        self.fields = fields
        self.state: ControllerSample | None = None
        self.start: float | None = None
        self.peak_command = np.zeros(2)
        self.status = SampleBuffer(int(ROW[-1]) + sum(fields.extra.values()), capacity)
        self.truth = SampleBuffer(len(TRUTH), capacity)
        self.adaptation = AdaptationRecording()

    @property
    def peak_torque(self) -> float | None:
        """Largest |torque| of a wheel that was commanded, N m; None where velocities are."""
        return float(self.peak_command.max()) if self.fields.commanded is TORQUE else None

    @property
    def limits(self) -> tuple[float, float]:
        """Of what is commanded; 0 where unknown."""
        if self.fields.commanded is TORQUE:
            return (self.state.torque_limit,) * 2 if self.state else (0.0, 0.0)
        limits = self._extra(self.status.rows)["limits"]
        return tuple(limits[-1].tolist()) if len(limits) else (0.0, 0.0)

    @property
    def elapsed(self) -> float:
        """Robot time since driving began, s; 0 before."""
        return self.state.elapsed if self.state else 0.0

    def add_state(self, sample: ControllerSample) -> None:
        """Take in the newest state; the first one that drives says when driving began."""
        self.state = sample
        if sample.phase != WAITING and (sample.elapsed > 0.0 or self.start is None):
            self.start = sample.time - sample.elapsed

    def add_status(
        self,
        stamps: NDArray[np.int64],
        rows: NDArray[np.float64],
        counts: Sequence[int] | None = None,
    ) -> None:
        """Take in a batch.

        Args:
            stamps: ns, shape (n,).
            rows: values of `fields.names`, shape (n, columns).
            counts: number of each message, as its writer counts them; None: not told.
        """
        self.arrivals.add([0] * len(stamps) if counts is None else counts, stamps)
        if not self.fields.reference:
            rows = np.hstack([np.full((len(rows), 6), np.nan), rows])
        if len(rows):
            sizes = np.abs(rows[:, ROW[3] : ROW[4]]).max(axis=0)
            self.peak_command = np.maximum(self.peak_command, sizes)
        self.status.add(stamps, rows)

    def add_truth(self, stamps: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Take in a batch of true poses: values of TRUTH."""
        self.truth.add(stamps, rows)

    def run(self) -> DriveRun:
        """The run so far; status and truth are joined by equal stamp."""
        stamps, rows = self.status.stamps, self.status.rows
        first = 0
        if self.start is not None:
            first = np.searchsorted(stamps, round(self.start * NANOSECONDS) - TOLERANCE)
        stamps, rows = stamps[first:], rows[first:]
        start = round(self.start * NANOSECONDS) if self.start is not None else stamps[:1].sum()
        reference, odometry, wanted, velocity, command, _ = np.split(rows, ROW, axis=1)
        true = self._true_at(stamps)
        pose = np.column_stack([true[:, :2], 2.0 * np.arctan2(true[:, 2], true[:, 3])])
        return DriveRun(
            time=(stamps - start) / NANOSECONDS,
            reference=reference,
            odometry=odometry,
            true=pose,
            wanted=wanted,
            velocity=velocity,
            true_velocity=true[:, 4:],
            command=command,
            commanded=self.fields.commanded,
            extra=self._extra(rows),
            gaps=self.arrivals.gaps_until(self._told) - 1e-9 * start,
            truth_due=self.truth_due,
        )

    @property
    def _told(self) -> int:
        """Messages on ~/status so far, as the controller says."""
        return self.state.statuses if self.state else 0

    def missing(self) -> list[str]:
        """What a complete record of the run would hold and this one does not, in sentences."""
        run, arrivals, judged = self.run(), self.arrivals, self.adaptation.arrivals
        judgements = self.state.judgements if self.state else 0
        found = (
            (arrivals.missing(self._told), max(self._told, arrivals.newest), "status messages"),
            (run.untold_poses, len(run), "true poses (ground_truth)"),
            (judged.missing(judgements), max(judgements, judged.newest), "judged estimates"),
        )
        return [f"{lost} of {total} {what} did not come" for lost, total, what in found if lost]

    def _extra(self, rows: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        lengths = self.fields.extra
        parts = np.split(rows[:, ROW[-1] :], np.cumsum(list(lengths.values()))[:-1], axis=1)
        return dict(zip(lengths, parts, strict=False))

    def adaptation_run(self) -> AdaptationRun:
        """What became of live parameters so far."""
        return self.adaptation.run(self.start or 0.0, self.state.judgements if self.state else 0)

    def _true_at(self, stamps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rows of the truth with these stamps; NaN where there is none."""
        found = np.full((len(stamps), len(TRUTH)), np.nan)
        if not len(self.truth):
            return found
        at = np.searchsorted(self.truth.stamps, stamps)
        inside = np.minimum(at, len(self.truth) - 1)
        same = self.truth.stamps[inside] == stamps
        found[same] = self.truth.rows[inside[same]]
        return found
