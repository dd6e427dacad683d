"""What a report remembers of an identification run, in bounded memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.report.samples import (
    DONE,
    EXCITING,
    NOT_VERIFIED,
    STOPPED,
    VERIFYING,
    ParameterSample,
    StatusSample,
    VerificationSample,
)
from diffbot_bringup.report.series import STAMP_TOLERANCE, Series

# More points than this cannot be told apart in a picture.
POINTS = 1500
# Robot time at the start of the excitation that is kept sample by sample, s.
OPENING = 10.0


class IdentRecording:
    """Series of K5..K8, their variances, velocities and torques over robot time.

    Times go in as stamps and come out relative to the start of the excitation. Ask `wants_…`
    before unpacking a message: at 40 times real time only every n-th is needed.

    Attributes:
        latest: newest estimate, kept or not; None before the first.
        status: newest status; None before the first.
        verification: what a held-out motion said; None before it has.
        start: stamp at which the excitation began, s; None before.
        statuses, estimates: messages that have come, kept or not.
        newest: stamp of the newest estimate, s; None before the first.

    Args:
        capacity: rows kept of each series, >= 4; see Series.
        truth_due: whether a simulator tells the true K5..K8.
    """

    def __init__(self, capacity: int = 4096, truth_due: bool = False) -> None:
        self._truth_due = truth_due
        self.latest: ParameterSample | None = None
        self.status: StatusSample | None = None
        self.verification: VerificationSample | None = None
        self.start: float | None = None
        self.statuses = self.estimates = 0
        self.newest: float | None = None
        self._excited = -math.inf  # Stamp of the last status that was exciting, s.
        self._parameters = Series(8, capacity)
        self._motion = Series(8, capacity)
        self._verifying = Series(2, capacity)
        self._opening = Series(4, capacity)
        self._truth = Series(4, capacity)

    @property
    def elapsed(self) -> float:
        """Robot time since excitation began, s; 0 before."""
        return self.status.elapsed if self.status else 0.0

    def missing(self) -> list[str]:
        """What a complete record of the run would hold and this one does not, in sentences."""
        status = self.status
        if status is None:
            return []
        found = [
            f"{told - come} of {told} {what} did not come"
            for told, come, what in (
                (status.count, self.statuses, "status messages"),
                (status.estimates, self.estimates, "estimates"),
            )
            if told > come
        ]
        verdict = self.latest.verification if self.has_last and self.latest else NOT_VERIFIED
        if verdict != NOT_VERIFIED and self.verification is None:
            found.append("the verification did not come")
        if self._truth_due and not len(self._truth):
            found.append("the true K5 to K8 (ground_truth/dynamic_parameters) did not come")
        return found

    @property
    def has_last(self) -> bool:
        """Whether the last estimate has come; it has the stamp of the status that ends the run."""
        status = self.status
        if status is None or not status.estimates or self.estimates >= status.estimates:
            return True
        ended = status.phase in (DONE, STOPPED)
        return ended and self.newest is not None and self.newest >= status.time - STAMP_TOLERANCE

    def wants_parameters(self, time: float) -> bool:
        """Whether an estimate with this stamp (s) is worth unpacking for the pictures."""
        return self._parameters.accepts(time)

    def add_parameters(self, sample: ParameterSample) -> None:
        """Take in the newest estimate."""
        self.latest = sample
        # A verification leaves the estimate as it is.
        learning = self.status is None or self.status.phase == EXCITING
        if learning and self._parameters.accepts(sample.time):
            self._parameters.add(sample.time, (*sample.values, *sample.variances))

    def wants_status(self, time: float) -> bool:
        """Whether a status with this stamp (s) is worth unpacking for the pictures."""
        wanted = self._motion.accepts(time) and self._verifying.accepts(time)
        return wanted or self._in_opening(time)

    def add_status(self, sample: StatusSample) -> None:
        """Take in the newest status; the first one that is exciting fixes the time axis."""
        self.status = sample
        if sample.phase == VERIFYING and self._verifying.accepts(sample.time):
            self._verifying.add(sample.time, sample.position)
        if sample.phase != EXCITING:
            return
        self.start = sample.time - sample.elapsed
        self._excited = sample.time
        # A known duration gives an even spacing from the start; without one, thinning does it.
        if not len(self._motion) and 0.0 < sample.duration < math.inf:
            self._motion.interval = self._parameters.interval = sample.duration / POINTS
            self._verifying.interval = self._motion.interval
        row = (*sample.velocity, *sample.effort)
        if self._motion.accepts(sample.time):
            self._motion.add(sample.time, (*row, *sample.position, *sample.information))
        if self._in_opening(sample.time):
            self._opening.add(sample.time, row)

    def add_truth(self, time: float, values: tuple[float, float, float, float]) -> None:
        """Take in the robot's true [K5, K6, K7, K8] from this stamp (s) on.

        A new set during the run (a payload) is a step of the true values.
        """
        self._truth.add(time, values)

    def finish(self) -> None:
        """Keep the newest estimate, so that the curves end where the excitation ended."""
        if self.latest is None:
            return
        sample = self.latest
        # Not before the last row, nor far behind the end of the excitation: a verification, which
        # leaves the estimate as it is, may have followed.
        time = max(min(sample.time, self._excited), self._parameters.last)
        time = time if time > -math.inf else sample.time
        self._parameters.add(time, (*sample.values, *sample.variances))

    def _in_opening(self, time: float) -> bool:
        return self.start is None or time - self.start <= OPENING + STAMP_TOLERANCE

    def parameters(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Time (n,), s, values (n, 4) and variances (n, 4) of K5..K8 since excitation began."""
        times, rows = self._since_start(self._parameters)
        return times, rows[:, :4], rows[:, 4:]

    def motion(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Time (n,), s, and [v, omega, left, right torque] (n, 4) of the whole run."""
        times, rows = self._since_start(self._motion)
        return times, rows[:, :4]

    def path(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places [x, y] by odometry, m, while exciting (n, 2) and while verifying (m, 2)."""
        return self._since_start(self._motion)[1][:, 4:6], self._verifying.arrays()[1]

    def information(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Time (n,), s, and [achieved, predicted] information (n, 2), bits; NaN where unknown."""
        times, rows = self._since_start(self._motion)
        return times, rows[:, 6:8]

    def opening(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As `motion`, each status of the first 10 s."""
        return self._since_start(self._opening)

    def truth(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Time (m,), s, from which on the true K5..K8 (m, 4) hold; m = 0 when unknown."""
        times, rows = self._truth.arrays()
        return times - (self.start or 0.0), rows

    def last_truth(self) -> tuple[float, float, float, float] | None:
        """The true [K5, K6, K7, K8] at the end of the run; None when unknown."""
        _, rows = self._truth.arrays()
        return tuple(rows[-1].tolist()) if len(rows) else None

    def _since_start(self, series: Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        times, rows = series.arrays()
        if self.start is None:
            return times[:0], rows[:0]
        since = times - self.start >= -STAMP_TOLERANCE
        return times[since] - self.start, rows[since]
