"""What a report remembers of an identification run, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# ---
# What the ident node reports at one instant, free of ROS.

UNESTIMATED = "unestimated"
ESTIMATED = "estimated"
INVALID = "invalid"

WAITING = "waiting"
EXCITING = "exciting"
VERIFYING = "verifying"
DONE = "done"
STOPPED = "stopped"

NOT_VERIFIED = "not_verified"
VERIFIED = "verified"
REFUTED = "refuted"

Four = tuple[float, float, float, float]
Pair = tuple[float, float]
UNKNOWN: Pair = (math.nan, math.nan)


@dataclass(frozen=True)
class ParameterSample:
    """One estimate of K5..K8 of (41) of Lages (2017); units m, 1/m, 1/(kg m), 1/(kg m^2).

    Attributes:
        time: stamp in robot time, s.
        values: [K5, K6, K7, K8].
        variances: of the values, in their units squared; infinite where not identifiable.
        state: "unestimated", "estimated" or "invalid".
        reason: why the state is not "estimated".
        samples: control periods that the estimate rests on.
        residual_std: of [dv/dt in m/s^2, domega/dt in rad/s^2].
        covariance: of the values, 16 numbers row by row; None: only the variances are known.
        states: of each of K5..K8; None: all have the state of the set.
        reasons: why a parameter's state is not "estimated".
        warnings: what is odd though the values may be used.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; None where the
            estimator does not model it.
        friction_variances: of it, in its units squared; infinite where not identifiable.
        verification: "not_verified", "verified" or "refuted".
        coverage: share of the needed excitation that was seen for each of K5..K8, 0 to 1; None
            where unknown.
        residual_correlation: of [linear, angular] residuals, -1 to 1; NaN where unknown.
        torque_delay: control periods from a torque's report to its action; NaN where unknown.
    """

    time: float
    values: Four
    variances: Four
    state: str = ESTIMATED
    reason: str = ""
    samples: int = 0
    residual_std: Pair = (0.0, 0.0)
    covariance: tuple[float, ...] | None = None
    states: tuple[str, str, str, str] | None = None
    reasons: tuple[str, str, str, str] = ("", "", "", "")
    warnings: tuple[str, ...] = ()
    friction: Four | None = None
    friction_variances: Four = (math.inf, math.inf, math.inf, math.inf)
    verification: str = NOT_VERIFIED
    coverage: Four | None = None
    residual_correlation: Pair = UNKNOWN
    torque_delay: float = math.nan

    def covariance_matrix(self) -> NDArray[np.float64]:
        """Covariance of the values, (4, 4), in their units."""
        if self.covariance is None:
            return np.diag(self.variances)
        return np.array(self.covariance).reshape(4, 4)


@dataclass(frozen=True)
class StatusSample:
    """What the ident node is doing.

    Attributes:
        time: stamp in robot time, s.
        phase: "waiting", "exciting", "verifying", "done" or "stopped".
        message: what is waited for, or why the run stopped.
        elapsed: robot time since excitation began, s.
        duration: robot time after which excitation ends, s; 0 means never.
        velocity: body velocity [v in m/s, omega in rad/s].
        effort: torques that acted in the last control period, [left, right], N m.
        guarded: control periods in which the speed guard replaced the excitation.
        refused: joint states that were refused.
        position: by odometry since excitation began, [x, y], m.
        arena: [length along x, width along y], m, around where excitation began; None: no arena.
        information: about K5..K8 since excitation began, [achieved, predicted], bits; NaN where
            unknown.
        count: statuses so far, this one included; 0 where it is not told.
        estimates: estimates so far.
    """

    time: float
    phase: str
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    velocity: Pair = (0.0, 0.0)
    effort: Pair = (0.0, 0.0)
    guarded: int = 0
    refused: int = 0
    position: Pair = (0.0, 0.0)
    arena: Pair | None = None
    information: Pair = UNKNOWN
    count: int = 0
    estimates: int = 0


@dataclass(frozen=True)
class PredictionErrors:
    """Root mean square errors of predictions of [v in m/s, omega in rad/s].

    Attributes:
        identified: with the identified parameters.
        nominal: with the closed form of the robot's description; NaN where there is none.
        no_model: with no model, where the velocity stays.
    """

    identified: Pair
    nominal: Pair
    no_model: Pair


@dataclass(frozen=True)
class VerificationSample:
    """How well the identified parameters predict a motion that they were not identified from.

    Attributes:
        passed: whether they passed.
        reason: why they did not.
        duration: of the motion, s.
        horizon: time over which the longer predictions run, s.
        one_step: errors after one control period.
        at_horizon: errors at the end of the horizon.
    """

    passed: bool
    reason: str
    duration: float
    horizon: float
    one_step: PredictionErrors
    at_horizon: PredictionErrors


# ---
# A time series of bounded length for runs of unknown length.

# Stamps are double seconds, up to 2e9 s on a real robot, and so exact to 2e-7 s only.
STAMP_TOLERANCE = 1e-6


class Series:
    """Rows of numbers over time, thinned by a power of two when they exceed the capacity.

    Args:
        width: numbers in a row, >= 1.
        capacity: rows kept at most, >= 4; an odd one counts as one less.
        interval: shortest time between rows that `accepts` lets in, s, >= 0.

    Raises:
        ValueError: width or capacity too small, or the interval negative or not finite.
    """

    def __init__(self, width: int, capacity: int = 2048, interval: float = 0.0) -> None:
        if width < 1:
            raise ValueError(f"width = {width}: must be 1 or more numbers")
        if capacity < 4:
            raise ValueError(f"capacity = {capacity}: must be 4 or more rows")
        if not 0.0 <= interval < np.inf:
            raise ValueError(f"interval = {interval} s: must be finite and >= 0")
        self.interval = interval
        self._width = width
        # Thinning an even number leaves the next row one doubled interval away.
        self._capacity = capacity - capacity % 2
        self._times: list[float] = []
        self._rows: list[tuple[float, ...]] = []

    @property
    def last(self) -> float:
        """Time of the last row, s; minus infinity without one."""
        return self._times[-1] if self._times else -np.inf

    def __len__(self) -> int:
        return len(self._times)

    def accepts(self, time: float) -> bool:
        """Whether a row at this time (s) is wanted; cheap, so ask before unpacking a message."""
        if not self._times:
            return True
        step = time - self._times[-1]
        # A step back means that robot time was reset: the row starts the series anew.
        return step < 0.0 or step >= max(self.interval - STAMP_TOLERANCE, STAMP_TOLERANCE)

    def add(self, time: float, row: tuple[float, ...]) -> None:
        """Append a row at this time (s), whether or not `accepts` wants it.

        A row at the time of the last one replaces it; a row before it restarts the series.

        Raises:
            ValueError: the row has the wrong length.
        """
        if len(row) != self._width:
            raise ValueError(f"row of {len(row)} numbers: must have {self._width}")
        if self._times and time < self._times[-1]:
            self._times.clear()
            self._rows.clear()
        if self._times and time == self._times[-1]:
            self._rows[-1] = row
            return
        if len(self._times) >= self._capacity:
            self._thin()
        self._times.append(time)
        self._rows.append(row)

    def _thin(self) -> None:
        spacing = (self._times[-1] - self._times[0]) / (len(self._times) - 1)
        self.interval = 2.0 * max(self.interval, spacing)
        del self._times[1::2]
        del self._rows[1::2]

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times, shape (n,), s, and rows, shape (n, width), oldest first."""
        return np.array(self._times), np.array(self._rows).reshape(-1, self._width)


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
