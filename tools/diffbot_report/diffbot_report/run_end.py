# SPDX-License-Identifier: Apache-2.0
"""Detection of the end of a run, and of how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from diffbot_report.sample_buffer import STAMP_TOLERANCE

# Status of the watched node, independent of ROS.

Four = tuple[float, float, float, float]
Pair = tuple[float, float]


class RunPhase(Enum):
    """Phase of the watched node; named like the constants of its messages."""

    WAITING = "waiting"
    EXCITING = "exciting"
    VERIFYING = "verifying"
    DRIVING = "driving"
    DONE = "done"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        return self in (RunPhase.DONE, RunPhase.STOPPED)


@dataclass(frozen=True)
class NodeState:
    """Status common to all watched nodes.

    Attributes:
        stamp: Robot time, ns.
        message: What the node waits for, or why the run stopped.
        elapsed: Robot time since excitation or driving began, s.
        duration: Robot time after which the run ends, s; 0: not fixed.
        refused: Number of joint states and inputs that were refused.
        statuses: Number of messages on its status topic; 0 if unknown.
    """

    stamp: int
    phase: RunPhase
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    refused: int = 0
    statuses: int = 0


@dataclass(frozen=True)
class IdentState(NodeState):
    """Status of the ident node.

    Attributes:
        velocity: [v in m/s, omega in rad/s].
        effort: Torques of the last control period, [left, right], N m.
        position, heading: By odometry since excitation began, [x, y], m, and rad.
        information: About K5..K8 since then, [achieved, predicted], bits; NaN: unknown.
        arena: [length along x, width along y], m, around the start; None: no arena.
        guarded: Number of control periods in which the speed guard acted.
        estimates: Number of estimates so far.
    """

    velocity: Pair = (0.0, 0.0)
    effort: Pair = (0.0, 0.0)
    position: Pair = (0.0, 0.0)
    heading: float = 0.0
    information: Pair = (math.nan, math.nan)
    arena: Pair | None = None
    guarded: int = 0
    estimates: int = 0


@dataclass(frozen=True)
class ControllerState(NodeState):
    """Status of a controller.

    Attributes:
        torque_limit: Of a wheel, N m.
        parameters: [K5, K6, K7, K8] in use; m, 1/m, 1/(kg m), 1/(kg m^2).
        judgements: Number of messages on ~/adaptation so far.
    """

    law: str = ""
    torque_limit: float = 0.0
    parameters: Four = (0.0, 0.0, 0.0, 0.0)
    parameters_source: str = ""
    judgements: int = 0


# Wall time to wait for the last result of a node that is done, s.
SETTLE_TIME = 1.0
# Wall time to wait for other explanations of an end, s: a signal reaches processes one by one.
EXPLANATION_TIME = 0.3
# Largest wall time that further messages may delay the end, s.
LONGEST_SETTLE_TIME = 10.0
# A run that ends this close to its duration is completed, s.
END_TOLERANCE = 0.1
# Last words of a node that received a signal.
SIGNAL_WORDS = ("interrupted", "SIGINT", "SIGTERM")


class Outcome(Enum):
    """How a run ended; stopped: by the user."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class Ending:
    """How a run ended, and why; the reason may be empty."""

    outcome: Outcome
    reason: str = ""


class RunEnd:
    """Determines at each poll whether the run of a node is over.

    `patience`: wall time to wait for the node to appear, s; 0: no limit.
    """

    def __init__(self, patience: float = 0.0, node: str = "ident") -> None:
        self._patience = patience
        self._node = node
        self._begin: float | None = None
        self._since: float | None = None
        self._publishers_seen = False

    def update(
        self,
        now: float,
        state: NodeState | None,
        newest: int | None,
        publishers: int,
        received: float = -math.inf,
    ) -> Ending | None:
        """Return the ending, or None while the run continues.

        Args:
            now: Wall time, s, monotonic.
            state: Latest state of the node; None before the first.
            newest: Stamp of its latest result, ns; None before the first.
            publishers: Number of publishers of its topics.
            received: Wall time of the latest message, s; an end waits while more arrive.
        """
        self._publishers_seen = self._publishers_seen or publishers > 0
        if self._begin is None:
            self._begin = now
        if self._never_appeared(now):
            return self._absent()
        vanished = self._publishers_seen and publishers == 0
        if not vanished and not (state and state.phase.ended):
            self._since = None
            return None
        if self._since is None:
            self._since = now
        if state is not None and state.phase is RunPhase.DONE:
            quiet = now - max(self._since, received) >= SETTLE_TIME
            settled = quiet or now - self._since >= LONGEST_SETTLE_TIME
            complete = newest is not None and newest >= state.stamp - STAMP_TOLERANCE
            return Ending(Outcome.COMPLETED) if complete or settled else None
        return None if now - self._since < EXPLANATION_TIME else self._ended_by_itself(state)

    def interrupted(
        self,
        now: float,
        state: NodeState | None,
        publishers: int,
        failures: Sequence[str] = (),
        silent: bool = False,
        reported: bool = False,
    ) -> Ending:
        """Return the ending after a signal from the user, or from a launch that ends a failed run.

        Args:
            now, state, publishers: See update.
            failures: Failed processes of the launch, each "name: reason".
            reported: Whether the launch reports failures: a run without any was stopped by the
                user.
            silent: Whether the node has sent nothing since the signal.
        """
        self._publishers_seen = self._publishers_seen or publishers > 0
        if self._never_appeared(now):
            return self._absent()
        if state is not None and state.phase is RunPhase.DONE:
            return Ending(Outcome.COMPLETED)
        stopped = state is not None and state.phase is RunPhase.STOPPED
        ending = self._ended_by_itself(state) if publishers == 0 or stopped else None
        if stopped and ending is not None and ending.outcome is Outcome.FAILED:
            # Its own reason is more specific than that of another failure.
            return self.explained(ending, failures)
        if failures:
            return Ending(Outcome.FAILED, _ended_early(failures))
        if reported and state is None:
            return Ending(Outcome.STOPPED, "interrupted before it began")
        if ending is not None:
            # The last status can be lost with its publisher; then the launch knows better.
            unexplained = reported and ending.outcome is Outcome.FAILED
            return Ending(Outcome.STOPPED, "interrupted") if unexplained else ending
        if silent and state is not None and state.phase is not RunPhase.WAITING:
            return Ending(
                Outcome.FAILED,
                f"the {self._node} node sent nothing more and did not confirm the stop: it was "
                "killed or hangs",
            )
        return Ending(Outcome.STOPPED, "interrupted")

    def explained(self, ending: Ending, failures: Sequence[str]) -> Ending:
        """Return a failed ending with the cause that another process of the launch has told."""
        if ending.outcome is not Outcome.FAILED or not self._had_cause(failures):
            return ending
        return Ending(Outcome.FAILED, _ended_early(failures))

    def _had_cause(self, failures: Sequence[str]) -> bool:
        name, _, why = failures[0].partition(": ") if failures else ("", "", "")
        return bool(why) and not name.startswith(f"{self._node}-")

    def _never_appeared(self, now: float) -> bool:
        waited = 0.0 if self._begin is None else now - self._begin
        return not self._publishers_seen and 0.0 < self._patience < waited

    def _absent(self) -> Ending:
        return Ending(Outcome.FAILED, f"no {self._node} node appeared within {self._patience:g} s")

    def _ended_by_itself(self, state: NodeState | None) -> Ending:
        node = f"the {self._node} node"
        if state is None:
            return Ending(
                Outcome.FAILED,
                f"{node} did not begin: not started, or inputs missing (see its lines above)",
            )
        if state.phase is RunPhase.STOPPED:
            by_user = any(word in state.message for word in SIGNAL_WORDS)
            outcome = Outcome.STOPPED if by_user else Outcome.FAILED
            return Ending(outcome, state.message or f"{node} stopped")
        at_end = 0.0 < state.duration <= state.elapsed + END_TOLERANCE
        if at_end and state.phase is not RunPhase.VERIFYING:
            return Ending(Outcome.COMPLETED)
        end = f" of {state.duration:.1f} s" if state.duration > 0.0 else ""
        reason = f"{node} ended after {state.elapsed:.1f} s{end} without giving a reason"
        return Ending(Outcome.FAILED, reason)


def _ended_early(failures: Sequence[str]) -> str:
    parts = [failure.partition(": ") for failure in failures]
    words = "; ".join(said for _, _, said in parts if said)
    names = ", ".join(name for name, _, _ in parts)
    if all(name.endswith(")") for name, _, _ in parts):  # not a sentence, as of the launch's guard
        names = f"{names} ended before the run did"
    return names + (f": {words}" if words else "")
