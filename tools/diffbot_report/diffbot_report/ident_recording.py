# SPDX-License-Identifier: Apache-2.0
"""Data that a report keeps of an identification run, in bounded memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.verification import Verification, VerificationState
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import (
    NANOSECONDS,
    STAMP_TOLERANCE,
    Rows,
    RunClock,
    SampleBuffer,
    TrueParameters,
)

Times = NDArray[np.float64]

# Points that can be distinguished in a picture.
POINTS = 1500
# Time at the start with every sample, s.
BEGINNING = 10.0


class IdentRecording:
    """K5..K8, their variances, velocities and torques over robot time.

    Stamps are added in ns; times are returned in s since the excitation began. Check `wants_…`
    before deserialising a message.

    Attributes:
        statuses, estimates: Number of messages received, kept or not.
        newest: Stamp of the latest estimate, ns; None before the first.
    """

    def __init__(self, capacity: int = 4096, truth_due: bool = False) -> None:
        self._truth_due = truth_due
        self.estimate: Estimate | None = None
        self.state: IdentState | None = None
        self.verification: Verification | None = None
        self.clock = RunClock()
        self.true_parameters = TrueParameters()
        self.statuses = self.estimates = 0
        self.newest: int | None = None
        self._verdict = VerificationState.NOT_VERIFIED
        self._estimated: int | None = None  # stamp of `estimate`, ns
        self._excited: int | None = None  # stamp of the last exciting state, ns
        self._parameters = SampleBuffer(8, capacity)  # columns: K5..K8, their variances
        self._motion = SampleBuffer(8, capacity)  # columns: velocity, effort, position, information
        self._warm_up = SampleBuffer(4, capacity)  # columns: velocity, effort
        self._verifying = SampleBuffer(2, capacity)  # columns: position
        # Velocity, effort, heading of every state.
        self._held_out = SampleBuffer(5, capacity)

    @property
    def elapsed(self) -> float:
        """Robot time since the excitation began, s; 0 before."""
        return self.state.elapsed if self.state else 0.0

    @property
    def verdict(self) -> VerificationState:
        """Verdict of a held-out motion on the latest estimate, from either message."""
        if self.verification is not None:
            return self.verification.state
        return self._verdict if self.estimate else VerificationState.NOT_VERIFIED

    def missing(self) -> list[str]:
        """Return sentences on what is missing from a complete recording."""
        state = self.state
        if state is None:
            return []
        results = [
            f"{reported - come} of {reported} {what} not received"
            for reported, come, what in (
                (state.statuses, self.statuses, "status messages"),
                (state.estimates, self.estimates, "estimates"),
            )
            if reported > come
        ]
        verified = self.has_last and self.verdict is not VerificationState.NOT_VERIFIED
        if verified and self.verification is None:
            results.append("the verification was not received")
        if self._truth_due and not len(self.true_parameters):
            results.append("the true K5 to K8 (ground_truth/dynamic_parameters) were not received")
        return results

    @property
    def has_last(self) -> bool:
        """Whether the estimate with the stamp of the state at the end was received."""
        state = self.state
        if state is None or not state.estimates or self.estimates >= state.estimates:
            return True
        newest = self.newest
        return state.phase.ended and newest is not None and newest >= state.stamp - STAMP_TOLERANCE

    def wants_estimate(self, stamp: int) -> bool:
        """Whether the pictures need an estimate with this stamp (ns)."""
        return self._parameters.wants(stamp)

    def add_estimate(
        self,
        stamp: int,
        estimate: Estimate,
        verdict: VerificationState = VerificationState.NOT_VERIFIED,
    ) -> None:
        """Store the latest estimate with its stamp, ns; an invalid one without its numbers."""
        if estimate.state is EstimateState.INVALID:
            estimate = estimate.without_numbers()
        self.estimate, self._verdict, self._estimated = estimate, verdict, stamp
        if self.state is None or self.state.phase is RunPhase.EXCITING:
            self._parameters.take(stamp, (*estimate.values, *estimate.variances))

    def wants_state(self, stamp: int) -> bool:
        """Whether the pictures need a state with this stamp (ns)."""
        wanted = self._motion.wants(stamp) and self._verifying.wants(stamp)
        held_out = self.state is not None and self.state.phase is RunPhase.VERIFYING
        return wanted or held_out or self._at_beginning(stamp)

    def add_state(self, state: IdentState) -> None:
        """Store the latest state; the first exciting one determines the time axis."""
        self.state, stamp = state, state.stamp
        if state.phase is RunPhase.VERIFYING:
            self._verifying.take(stamp, state.position)
            self._held_out.take(stamp, (*state.velocity, *state.effort, state.heading))
        if state.phase is not RunPhase.EXCITING:
            return
        self.clock.add(stamp, state.elapsed)
        self._excited = stamp
        # Without a known duration the buffer thins itself.
        if not len(self._motion) and 0.0 < state.duration < math.inf:
            for buffer in (self._motion, self._parameters, self._verifying):
                buffer.interval = state.duration / POINTS
        row = (*state.velocity, *state.effort)
        self._motion.take(stamp, (*row, *state.position, *state.information))
        if self._at_beginning(stamp):
            self._warm_up.take(stamp, row)

    def finish(self) -> None:
        """Keep the latest estimate, so that curves end where the excitation ended."""
        if self.estimate is None or self._estimated is None:
            return
        # A verification may have followed.
        last, stamp = self._parameters.last, self._estimated
        if self._excited is not None:
            stamp = min(stamp, self._excited)
        elif last is not None:
            stamp = last
        if last is not None:
            stamp = max(stamp, last)
        self._parameters.finish(stamp, (*self.estimate.values, *self.estimate.variances))

    def _at_beginning(self, stamp: int) -> bool:
        end = round(BEGINNING * NANOSECONDS) + STAMP_TOLERANCE
        start = self.clock.start
        return start is None or stamp - start <= end

    def parameters(self) -> tuple[Times, Rows, Rows]:
        """Return times (n,), s, K5..K8 (n, 4) and their variances (n, 4)."""
        times, rows = self._parameters.since(self.clock)
        return times, rows[:, :4], rows[:, 4:]

    def motion(self) -> tuple[Times, Rows]:
        """Return times (n,), s, and [v, omega, left, right torque] (n, 4)."""
        times, rows = self._motion.since(self.clock)
        return times, rows[:, :4]

    def path(self) -> tuple[Rows, Rows]:
        """Return places [x, y] by odometry, m, while exciting (n, 2) and verifying (m, 2)."""
        return self._motion.since(self.clock)[1][:, 4:6], self._verifying.rows

    def information(self) -> tuple[Times, Rows]:
        """Return times (n,), s, and [achieved, predicted] information (n, 2), bits."""
        times, rows = self._motion.since(self.clock)
        return times, rows[:, 6:8]

    def beginning(self) -> tuple[Times, Rows]:
        """Return the same as `motion` for each state of the first 10 s."""
        return self._warm_up.since(self.clock)

    def held_out(self) -> tuple[Times, Rows]:
        """Return the same as `motion`, and headings, (n, 5), while verifying."""
        return self._held_out.since(self.clock)

    def truth(self) -> tuple[Times, Rows]:
        """Return times (m,), s, from which the true K5..K8 (m, 4) are valid."""
        return self.true_parameters.since(self.clock)


# Axis limits of pictures of the estimates.

# Part of a run with the transient from 0; least relative span; part in which variances fall fast.
SETTLED = 0.15
LEAST_SPAN = 0.005
EARLY = 0.02


def estimate_limits(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    sigma: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> tuple[float, float] | None:
    """Return (low, high) around the settled estimates ± 2 sigma (may be infinite) and the truth.

    Of n estimates at increasing times, s, the first 15 % may lie outside; None: nothing to show.
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
    """Return (low, high) of a logarithmic axis of variances > 0; the first 2 % may lie outside."""
    shown = variances[times >= times[0] + EARLY * (times[-1] - times[0])]
    low, high = float(shown.min()), float(shown.max())
    return low / 2.0, max(2.0 * high, 10.0 * low)
