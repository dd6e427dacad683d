# SPDX-License-Identifier: Apache-2.0
"""Data that a report keeps of a driving run, and the run as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_report.controller_topics import TORQUE, TRUTH, Commanded, StatusFields
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import (
    CAPACITY,
    NANOSECONDS,
    STAMP_TOLERANCE,
    Arrivals,
    Rows,
    RunClock,
    SampleBuffer,
    Stamps,
    TrueParameters,
)

Columns = NDArray[np.float64]

# Ends of the columns of a status, and of JUDGEMENT; extras, and gates, follow.
STATUS_ENDS = np.cumsum((3, 3, 2, 2, 2))
JUDGEMENT_ENDS = np.cumsum((1, 1, 4, 4, 4, 4, 4, 4))
JUDGEMENT_CAPACITY = 50_000  # 2.7 hours at 5 Hz


@dataclass(frozen=True)
class DriveRun:
    """Samples of a run at the n control instants; NaN where a value is unknown.

    Attributes:
        time: Since driving began, s, increasing, shape (n,).
        reference: Pose, m, m, rad, shape (n, 3); NaN if only velocities are commanded.
        odometry, true: Pose as the controller uses it, and of the simulated robot, (n, 3).
        wanted, velocity: Desired and measured [v, omega], m/s and rad/s, (n, 2).
        true_velocity: That of the simulated robot, (n, 2).
        command: For the period that begins, (n, 2): torques, N m, or [v, omega].
        extra: Further arrays, by the names of StatusFields.extra, each (n, length).
        gaps: Intervals in which samples are missing, s, shape (m, 2); may be infinite.
        truth_due: Whether a simulator should have published each true pose.
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
        """Whether no sample (`true`: nor true pose) is missing between two times, s."""
        if ((self.gaps[:, 0] < end) & (self.gaps[:, 1] > begin)).any():
            return False
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        return not (true and self.truth_due) or bool(np.isfinite(self.true[inside]).all())

    @property
    def untold_poses(self) -> int:
        """Number of true poses that are expected but missing."""
        return int((~np.isfinite(self.true).all(axis=1)).sum()) if self.truth_due else 0

    @property
    def has_pose_reference(self) -> bool:
        return len(self) > 0 and bool(np.isfinite(self.reference).all(axis=1).any())

    @property
    def has_truth(self) -> bool:
        return len(self) > 0 and bool(np.isfinite(self.true).all(axis=1).any())

    @property
    def pose(self) -> Columns:
        """The true pose or, if unknown, that by odometry, shape (n, 3)."""
        return self.true if self.has_truth else self.odometry

    @property
    def known_poses(self) -> NDArray[np.intp]:
        """Indices at which `pose` is known."""
        return np.flatnonzero(np.isfinite(self.pose).all(axis=1))

    @property
    def best_velocity(self) -> Columns:
        """The true velocity or, if unknown, the controller's, shape (n, 2)."""
        return self.true_velocity if self.has_truth else self.velocity

    def errors(self, pose: Columns, reference: Columns) -> TrackingErrors | None:
        """Return the errors where both are known, or None if nowhere."""
        known = np.isfinite(pose).all(axis=1) & np.isfinite(reference).all(axis=1)
        if not known.any():
            return None
        return TrackingErrors.between(self.time[known], pose[known], reference[known])

    @property
    def true_errors(self) -> TrackingErrors | None:
        return self.errors(self.true, self.reference)

    @property
    def odometry_errors(self) -> TrackingErrors | None:
        return self.errors(self.odometry, self.reference)

    @property
    def drift(self) -> TrackingErrors | None:
        """Differences between the true pose and the one by odometry."""
        return self.errors(self.true, self.odometry)


@dataclass(frozen=True)
class AdaptationRun:
    """The n judgements of an adaptive run; rows of four are [K5, K6, K7, K8].

    Attributes:
        time: Stamps of the estimates, s since driving began, shape (n,).
        state: An AdaptationState each; `refused`: estimates refused so far, shape (n,).
        in_use, offered: Parameters, (n, 4); `offered_std`: infinite if unknown.
        lower, upper: The allowed band, shape (n, 4).
        follows: Whether each parameter follows the estimate, shape (n, 4).
        passed: Whether each of the m gates let the estimate pass, shape (n, m).
        true_time, true: Times from which true parameters (k, 4) are valid, s, shape (k,).
        lost: Number of judgements that were not received; `has_last`: whether the last was.
    """

    time: Columns
    state: Columns
    refused: Columns
    in_use: Columns
    offered: Columns
    offered_std: Columns
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

    def true_steps(self, index: int, end: float) -> tuple[Columns, Columns]:
        """Return times, s, from 0 to `end`, from which a true parameter has the returned values."""
        if not len(self.true):
            return np.empty(0), np.empty(0)
        times = np.append(np.clip(self.true_time, 0.0, end), end)
        return times, np.append(self.true[:, index], self.true[-1, index])

    @property
    def changes(self) -> list[float]:
        """Times at which the true parameters changed while driving, s."""
        return [
            float(time)
            for time, before, after in zip(
                self.true_time[1:], self.true[:-1], self.true[1:], strict=True
            )
            if time > 0.0 and not np.array_equal(before, after)
        ]


class AdaptationRecording:
    """Collects judgements, and true parameters of a simulator."""

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.true_parameters = TrueParameters()
        self._gates: tuple[str, ...] = ()
        self._buffer = SampleBuffer(int(JUDGEMENT_ENDS[-1]))

    def add(
        self,
        gates: tuple[str, ...],
        stamps: Stamps,
        rows: Rows,
        counts: Sequence[int] | None = None,
    ) -> None:
        """Add stamps, ns, (n,), rows of JUDGEMENT for m gates, (n, 26 + m), and counts if known."""
        self.arrivals.add([0] * len(stamps) if counts is None else counts, stamps)
        if gates != self._gates:
            self._gates, self._buffer = gates, SampleBuffer(rows.shape[1], JUDGEMENT_CAPACITY)
        self._buffer.add(stamps, rows)

    def run(self, clock: RunClock, reported: int = 0) -> AdaptationRun:
        """Return the run so far; `reported`: judgements that the controller has published."""
        state, refused, in_use, offered, offered_std, lower, upper, follows, passed = np.split(
            self._buffer.rows, JUDGEMENT_ENDS, axis=1
        )
        true_time, true = self.true_parameters.since(clock)
        return AdaptationRun(
            time=clock.times(self._buffer.stamps),
            state=state[:, 0],
            refused=refused[:, 0],
            in_use=in_use,
            offered=offered,
            offered_std=offered_std,
            lower=lower,
            upper=upper,
            follows=follows > 0.5,
            gates=self._gates,
            passed=passed > 0.5,
            true_time=true_time,
            true=true,
            lost=self.arrivals.missing(reported),
            has_last=reported <= self.arrivals.newest,
        )


class DriveRecording:
    """Each status of a controller and each true pose, by stamp.

    Attributes:
        peak_command: Largest magnitudes of both commands, including thinned rows, shape (2,).
        status: Rows of `fields.names`, always with reference and odometry.
        truth: Rows of TRUTH; due if a simulator publishes one for each status.
    """

    def __init__(
        self, fields: StatusFields, capacity: int = CAPACITY, truth_due: bool = False
    ) -> None:
        self.truth_due = truth_due
        self.arrivals = Arrivals()
        self.fields = fields
        self.state: ControllerState | None = None
        self.clock = RunClock()
        self.peak_command = np.zeros(2)
        self.status = SampleBuffer(int(STATUS_ENDS[-1]) + sum(fields.extra.values()), capacity)
        self.truth = SampleBuffer(len(TRUTH), capacity)
        self.adaptation = AdaptationRecording()

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of the two commands; 0 if unknown."""
        if self.fields.commanded is TORQUE:
            limit = self.state.torque_limit if self.state else 0.0
            return limit, limit
        if not len(self.status):
            return 0.0, 0.0
        first, second = self._extra(self.status.rows[-1:])["limits"][0].tolist()
        return first, second

    @property
    def elapsed(self) -> float:
        """Robot time since driving began, s; 0 before."""
        return self.state.elapsed if self.state else 0.0

    def add_state(self, state: ControllerState) -> None:
        """Store the latest state; the first driving one determines when driving began."""
        self.state = state
        if state.phase is not RunPhase.WAITING and (
            state.elapsed > 0.0 or self.clock.start is None
        ):
            self.clock.add(state.stamp, state.elapsed)

    def add_status(
        self,
        stamps: Stamps,
        rows: Rows,
        counts: Sequence[int] | None = None,
    ) -> None:
        """Add stamps, ns, (n,), rows of `fields.names`, (n, columns), and counts if known."""
        self.arrivals.add([0] * len(stamps) if counts is None else counts, stamps)
        if not self.fields.reference:
            rows = np.hstack([np.full((len(rows), 6), np.nan), rows])
        if len(rows):
            sizes = np.abs(rows[:, STATUS_ENDS[3] : STATUS_ENDS[4]]).max(axis=0)
            self.peak_command = np.maximum(self.peak_command, sizes)
        self.status.add(stamps, rows)

    def add_truth(self, stamps: Stamps, rows: Rows) -> None:
        """Add a batch of true poses: values of TRUTH."""
        self.truth.add(stamps, rows)

    def run(self) -> DriveRun:
        """Return the run so far; status and truth are joined by equal stamps."""
        stamps, rows, clock = self.status.stamps, self.status.rows, self.clock
        if clock.start is not None:
            first = int(np.searchsorted(stamps, clock.start - STAMP_TOLERANCE))
            stamps, rows = stamps[first:], rows[first:]
        elif len(stamps):
            clock = RunClock()
            clock.add(int(stamps[0]), 0.0)
        reference, odometry, wanted, velocity, command, _ = np.split(rows, STATUS_ENDS, axis=1)
        true = self._true_at(stamps)
        pose = np.column_stack([true[:, :2], 2.0 * np.arctan2(true[:, 2], true[:, 3])])
        return DriveRun(
            time=clock.times(stamps),
            reference=reference,
            odometry=odometry,
            true=pose,
            wanted=wanted,
            velocity=velocity,
            true_velocity=true[:, 4:],
            command=command,
            commanded=self.fields.commanded,
            extra=self._extra(rows),
            gaps=clock.times(self.arrivals.gaps_until(self._published) * NANOSECONDS),
            truth_due=self.truth_due,
        )

    @property
    def _published(self) -> int:
        """Number of messages that the controller reports on ~/status."""
        return self.state.statuses if self.state else 0

    def missing(self) -> list[str]:
        """Return sentences on what is missing from a complete recording."""
        run, arrivals, judged = self.run(), self.arrivals, self.adaptation.arrivals
        judgements = self.state.judgements if self.state else 0
        result = (
            (
                arrivals.missing(self._published),
                max(self._published, arrivals.newest),
                "status messages",
            ),
            (run.untold_poses, len(run), "true poses (ground_truth)"),
            (judged.missing(judgements), max(judgements, judged.newest), "judged estimates"),
        )
        return [f"{lost} of {total} {what} not received" for lost, total, what in result if lost]

    def _extra(self, rows: Rows) -> dict[str, Columns]:
        lengths = self.fields.extra
        parts = np.split(rows[:, STATUS_ENDS[-1] :], np.cumsum(list(lengths.values()))[:-1], axis=1)
        return dict(zip(lengths, parts, strict=False))

    def adaptation_run(self) -> AdaptationRun:
        """Return the history of the live parameters so far."""
        return self.adaptation.run(self.clock, self.state.judgements if self.state else 0)

    def _true_at(self, stamps: Stamps) -> Rows:
        """Return the truth at these stamps; NaN where there is none."""
        result = np.full((len(stamps), len(TRUTH)), np.nan)
        if not len(self.truth):
            return result
        at = np.searchsorted(self.truth.stamps, stamps)
        inside = np.minimum(at, len(self.truth) - 1)
        same = self.truth.stamps[inside] == stamps
        result[same] = self.truth.rows[inside[same]]
        return result
