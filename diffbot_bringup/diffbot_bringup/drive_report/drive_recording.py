"""What a report remembers of a driving run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.drive_report.adaptation_recording import AdaptationRecording, AdaptationRun
from diffbot_bringup.drive_report.controller_sample import ControllerSample
from diffbot_bringup.drive_report.controller_topics import TORQUE, TRUTH, StatusFields
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.sample_buffer import CAPACITY, SampleBuffer
from diffbot_bringup.report.arrivals import Arrivals
from diffbot_bringup.report.samples import WAITING

NANOSECONDS = 1_000_000_000
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
