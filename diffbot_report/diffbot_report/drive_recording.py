# SPDX-License-Identifier: Apache-2.0
"""What a report remembers of a driving run, and the run as arrays for metrics and pictures."""

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
    SampleBuffer,
    Stamps,
    TrueParameters,
)

Columns = NDArray[np.float64]

# Columns of a status: reference, odometry, wanted, velocity, command; what is extra comes after.
STATUS_ENDS = np.cumsum((3, 3, 2, 2, 2))
# Columns of a judgement, see JUDGEMENT; the gates come after.
JUDGEMENT_ENDS = np.cumsum((1, 1, 4, 4, 4, 4, 4, 4))
JUDGEMENT_CAPACITY = 50_000  # 2.7 hours at 5 Hz


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


@dataclass(frozen=True)
class AdaptationRun:
    """Judgements of an adaptive run, n of them, in time; rows of four are [K5, K6, K7, K8].

    Attributes:
        time: stamps of the estimates, s since driving began, shape (n,).
        state: WAITING 0, FOLLOWING 1 or FROZEN 2, shape (n,).
        refused: estimates refused so far, shape (n,).
        in_use: shape (n, 4).
        offered: shape (n, 4).
        offered_std: standard deviations of it, infinite where unknown, shape (n, 4).
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
        true_parameters: what a simulator told.
    """

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
        """Take in a batch.

        Args:
            gates: names, m of them.
            stamps: ns, shape (n,).
            rows: values of JUDGEMENT, shape (n, 26 + m).
            counts: number of each message, as its writer counts them; None: not told.
        """
        self.arrivals.add([0] * len(stamps) if counts is None else counts, stamps)
        if gates != self._gates:
            self._gates, self._buffer = gates, SampleBuffer(rows.shape[1], JUDGEMENT_CAPACITY)
        self._buffer.add(stamps, rows)

    def run(self, start: int, told: int = 0) -> AdaptationRun:
        """The run so far.

        Args:
            start: stamp at which driving began, ns.
            told: judgements that the controller has published.
        """
        state, refused, in_use, offered, offered_std, lower, upper, follows, passed = np.split(
            self._buffer.rows, JUDGEMENT_ENDS, axis=1
        )
        true_time, true = self.true_parameters.since(start)
        return AdaptationRun(
            time=(self._buffer.stamps - start) / NANOSECONDS,
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
            lost=self.arrivals.missing(told),
            has_last=told <= self.arrivals.newest,
        )


class DriveRecording:
    """Each status of a controller and each true pose, by stamp.

    Attributes:
        fields: as below.
        state: newest state of the controller; None before the first.
        start: stamp at which driving began, ns; None before.
        arrivals: which messages on ~/status have come.
        peak_command: largest size of both that was commanded, also of rows thinned out, shape (2,).
        status: rows of `fields.names`, the reference and the odometry always there.
        truth: rows of TRUTH.
        adaptation: what became of live parameters.

    Args:
        fields: of the controller's status.
        capacity: rows kept, see SampleBuffer.
        truth_due: whether a simulator tells the true pose for each status.
    """

    def __init__(
        self, fields: StatusFields, capacity: int = CAPACITY, truth_due: bool = False
    ) -> None:
        self.truth_due = truth_due
        self.arrivals = Arrivals()
        self.fields = fields
        self.state: ControllerState | None = None
        self.start: int | None = None
        self.peak_command = np.zeros(2)
        self.status = SampleBuffer(int(STATUS_ENDS[-1]) + sum(fields.extra.values()), capacity)
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
        """Take in the newest state; the first one that drives says when driving began."""
        self.state = state
        if state.phase is not RunPhase.WAITING and (state.elapsed > 0.0 or self.start is None):
            self.start = state.stamp - round(state.elapsed * NANOSECONDS)

    def add_status(
        self,
        stamps: Stamps,
        rows: Rows,
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
            sizes = np.abs(rows[:, STATUS_ENDS[3] : STATUS_ENDS[4]]).max(axis=0)
            self.peak_command = np.maximum(self.peak_command, sizes)
        self.status.add(stamps, rows)

    def add_truth(self, stamps: Stamps, rows: Rows) -> None:
        """Take in a batch of true poses: values of TRUTH."""
        self.truth.add(stamps, rows)

    def run(self) -> DriveRun:
        """The run so far; status and truth are joined by equal stamp."""
        stamps, rows, start = self.status.stamps, self.status.rows, self.start
        if start is not None:
            first = int(np.searchsorted(stamps, start - STAMP_TOLERANCE))
            stamps, rows = stamps[first:], rows[first:]
        elif len(stamps):
            start = int(stamps[0])
        start = start or 0
        reference, odometry, wanted, velocity, command, _ = np.split(rows, STATUS_ENDS, axis=1)
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

    def _extra(self, rows: Rows) -> dict[str, Columns]:
        lengths = self.fields.extra
        parts = np.split(rows[:, STATUS_ENDS[-1] :], np.cumsum(list(lengths.values()))[:-1], axis=1)
        return dict(zip(lengths, parts, strict=False))

    def adaptation_run(self) -> AdaptationRun:
        """What became of live parameters so far."""
        return self.adaptation.run(self.start or 0, self.state.judgements if self.state else 0)

    def _true_at(self, stamps: Stamps) -> Rows:
        """Rows of the truth with these stamps; NaN where there is none."""
        found = np.full((len(stamps), len(TRUTH)), np.nan)
        if not len(self.truth):
            return found
        at = np.searchsorted(self.truth.stamps, stamps)
        inside = np.minimum(at, len(self.truth) - 1)
        same = self.truth.stamps[inside] == stamps
        found[same] = self.truth.rows[inside[same]]
        return found
