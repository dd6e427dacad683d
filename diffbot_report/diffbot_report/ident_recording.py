# SPDX-License-Identifier: Apache-2.0
"""What a report remembers of an identification run, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.torque.estimate import Estimate, EstimateState
from diffbot_report.run_end import IdentState, Pair, RunPhase
from diffbot_report.sample_buffer import (
    NANOSECONDS,
    STAMP_TOLERANCE,
    Rows,
    SampleBuffer,
    TrueParameters,
)

Times = NDArray[np.float64]

# More points than this cannot be told apart in a picture.
POINTS = 1500
# Robot time at the start of the excitation that is kept sample by sample, s.
OPENING = 10.0


class VerificationVerdict(Enum):
    """Whether a held-out motion has verified the parameters; named as in DynamicParameters.msg."""

    NOT_VERIFIED = "not_verified"
    VERIFIED = "verified"
    REFUTED = "refuted"


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
class VerificationResult:
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

    @property
    def decided(self) -> bool:
        """Whether it says anything; of a motion that was too short there are no errors."""
        return self.passed or all(map(math.isfinite, self.at_horizon.identified))

    @property
    def verdict(self) -> VerificationVerdict:
        """What it says; nothing is refuted where it is not decided."""
        if not self.decided:
            return VerificationVerdict.NOT_VERIFIED
        return VerificationVerdict.VERIFIED if self.passed else VerificationVerdict.REFUTED


class IdentRecording:
    """Series of K5..K8, their variances, velocities and torques over robot time.

    Stamps go in as ns, and times come out in s since the start of the excitation. Ask `wants_…`
    before unpacking a message: at 40 times real time only every n-th is needed.

    Args:
        capacity: rows kept of each series, >= 4; see SampleBuffer.
        truth_due: whether a simulator tells the true K5..K8.

    Attributes:
        estimate: the newest, kept or not; None before the first.
        state: newest state of the ident node; None before the first.
        verification: what a held-out motion said; None before it has.
        start: stamp at which the excitation began, ns; None before.
        true_parameters: K5..K8 that a simulator told.
        statuses, estimates: messages that have come, kept or not.
        newest: stamp of the newest estimate, ns; None before the first.
    """

    def __init__(self, capacity: int = 4096, truth_due: bool = False) -> None:
        self._truth_due = truth_due
        self.estimate: Estimate | None = None
        self.state: IdentState | None = None
        self.verification: VerificationResult | None = None
        self.start: int | None = None
        self.true_parameters = TrueParameters()
        self.statuses = self.estimates = 0
        self.newest: int | None = None
        self._verdict = VerificationVerdict.NOT_VERIFIED
        self._estimated: int | None = None  # Stamp of `estimate`, ns.
        self._excited: int | None = None  # Stamp of the last state that was exciting, ns.
        self._parameters = SampleBuffer(8, capacity)  # K5..K8, their variances
        self._motion = SampleBuffer(8, capacity)  # velocity, effort, position, information
        self._opening = SampleBuffer(4, capacity)  # velocity, effort
        self._verifying = SampleBuffer(2, capacity)  # position
        self._held_out = SampleBuffer(4, capacity)  # velocity, effort, each state

    @property
    def elapsed(self) -> float:
        """Robot time since excitation began, s; 0 before."""
        return self.state.elapsed if self.state else 0.0

    @property
    def verdict(self) -> VerificationVerdict:
        """What a held-out motion says of the newest estimate, by itself or by the estimate."""
        if self.verification is not None:
            return self.verification.verdict
        return self._verdict if self.estimate else VerificationVerdict.NOT_VERIFIED

    def missing(self) -> list[str]:
        """What a complete record of the run would hold and this one does not, in sentences."""
        state = self.state
        if state is None:
            return []
        found = [
            f"{told - come} of {told} {what} did not come"
            for told, come, what in (
                (state.statuses, self.statuses, "status messages"),
                (state.estimates, self.estimates, "estimates"),
            )
            if told > come
        ]
        verified = self.has_last and self.verdict is not VerificationVerdict.NOT_VERIFIED
        if verified and self.verification is None:
            found.append("the verification did not come")
        if self._truth_due and not len(self.true_parameters):
            found.append("the true K5 to K8 (ground_truth/dynamic_parameters) did not come")
        return found

    @property
    def has_last(self) -> bool:
        """Whether the last estimate has come; it has the stamp of the state that ends the run."""
        state = self.state
        if state is None or not state.estimates or self.estimates >= state.estimates:
            return True
        newest = self.newest
        return state.phase.ended and newest is not None and newest >= state.stamp - STAMP_TOLERANCE

    def wants_estimate(self, stamp: int) -> bool:
        """Whether an estimate with this stamp (ns) is worth unpacking for the pictures."""
        return self._parameters.wants(stamp)

    def add_estimate(
        self,
        stamp: int,
        estimate: Estimate,
        verdict: VerificationVerdict = VerificationVerdict.NOT_VERIFIED,
    ) -> None:
        """Take in the newest estimate, with its stamp (ns); of an invalid one no numbers."""
        if estimate.state is EstimateState.INVALID:
            estimate = estimate.without_numbers()
        self.estimate, self._verdict, self._estimated = estimate, verdict, stamp
        # A verification leaves the estimate as it is.
        if self.state is None or self.state.phase is RunPhase.EXCITING:
            self._parameters.take(stamp, (*estimate.values, *estimate.variances))

    def wants_state(self, stamp: int) -> bool:
        """Whether a state with this stamp (ns) is worth unpacking for the pictures."""
        wanted = self._motion.wants(stamp) and self._verifying.wants(stamp)
        held_out = self.state is not None and self.state.phase is RunPhase.VERIFYING
        return wanted or held_out or self._in_opening(stamp)

    def add_state(self, state: IdentState) -> None:
        """Take in the newest state; the first one that is exciting fixes the time axis."""
        self.state, stamp = state, state.stamp
        if state.phase is RunPhase.VERIFYING:
            self._verifying.take(stamp, state.position)
            self._held_out.take(stamp, (*state.velocity, *state.effort))
        if state.phase is not RunPhase.EXCITING:
            return
        self.start = stamp - round(state.elapsed * NANOSECONDS)
        self._excited = stamp
        # A known duration gives an even spacing from the start; without one, thinning does it.
        if not len(self._motion) and 0.0 < state.duration < math.inf:
            for buffer in (self._motion, self._parameters, self._verifying):
                buffer.interval = state.duration / POINTS
        row = (*state.velocity, *state.effort)
        self._motion.take(stamp, (*row, *state.position, *state.information))
        if self._in_opening(stamp):
            self._opening.take(stamp, row)

    def finish(self) -> None:
        """Keep the newest estimate, so that the curves end where the excitation ended."""
        if self.estimate is None or self._estimated is None:
            return
        # Not before the last row, nor far behind the end of the excitation: a verification, which
        # leaves the estimate as it is, may have followed.
        last, stamp = self._parameters.last, self._estimated
        if self._excited is not None:
            stamp = min(stamp, self._excited)
        elif last is not None:
            stamp = last
        if last is not None:
            stamp = max(stamp, last)
        self._parameters.finish(stamp, (*self.estimate.values, *self.estimate.variances))

    def _in_opening(self, stamp: int) -> bool:
        end = round(OPENING * NANOSECONDS) + STAMP_TOLERANCE
        return self.start is None or stamp - self.start <= end

    def parameters(self) -> tuple[Times, Rows, Rows]:
        """Time (n,), s, values (n, 4) and variances (n, 4) of K5..K8 since excitation began."""
        times, rows = self._parameters.since(self.start)
        return times, rows[:, :4], rows[:, 4:]

    def motion(self) -> tuple[Times, Rows]:
        """Time (n,), s, and [v, omega, left, right torque] (n, 4) of the whole run."""
        times, rows = self._motion.since(self.start)
        return times, rows[:, :4]

    def path(self) -> tuple[Rows, Rows]:
        """Places [x, y] by odometry, m, while exciting (n, 2) and while verifying (m, 2)."""
        return self._motion.since(self.start)[1][:, 4:6], self._verifying.rows

    def information(self) -> tuple[Times, Rows]:
        """Time (n,), s, and [achieved, predicted] information (n, 2), bits; NaN where unknown."""
        times, rows = self._motion.since(self.start)
        return times, rows[:, 6:8]

    def opening(self) -> tuple[Times, Rows]:
        """As `motion`, each state of the first 10 s."""
        return self._opening.since(self.start)

    def held_out(self) -> tuple[Times, Rows]:
        """As `motion`, each state of the motion that verifies."""
        return self._held_out.since(self.start)

    def truth(self) -> tuple[Times, Rows]:
        """Time (m,), s, from which on the true K5..K8 (m, 4) hold; m = 0 when unknown."""
        return self.true_parameters.since(self.start or 0)


# What a picture of the estimates shows of them.

# The first 15 % of a run hold the transient from the start value 0.
SETTLED = 0.15
# Noise-free estimates differ in the last digits only; a range below this share would magnify that.
LEAST_SPAN = 0.005
# Variances fall by orders of magnitude in the first samples.
EARLY = 0.02


def estimate_limits(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    sigma: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> tuple[float, float] | None:
    """(low, high) that shows the settled estimate, its ± 2 sigma band and the true values.

    What comes before 15 % of the run is left to run out of the picture.

    Args:
        times: (n,), s, ascending.
        values: estimates, (n,).
        sigma: standard deviations, (n,), may be infinite.
        truth: true values that the picture shows, (m,), m >= 0.

    Returns:
        None when nothing is finite.
    """
    if not len(times):
        return None
    settled = times >= times[0] + SETTLED * (times[-1] - times[0])
    spread = np.where(np.isfinite(sigma), 2.0 * sigma, 0.0)
    shown = np.concatenate([(values - spread)[settled], (values + spread)[settled], truth])
    shown = shown[np.isfinite(shown)]
    if not len(shown):
        return None
    low, high = float(shown.min()), float(shown.max())
    least = LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    margin = 0.12 * (high - low) + max(0.0, 0.5 * (least - (high - low)))
    return low - margin, high + margin


def variance_limits(
    times: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """(low, high) for a logarithmic axis; what comes before 2 % of the run may run out of it.

    Args:
        times: (n,), s, ascending, n >= 1.
        variances: (n,), finite and > 0.
    """
    shown = variances[times >= times[0] + EARLY * (times[-1] - times[0])]
    low, high = float(shown.min()), float(shown.max())
    return low / 2.0, max(2.0 * high, 10.0 * low)
