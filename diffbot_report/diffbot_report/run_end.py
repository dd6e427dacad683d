"""When a run is over and how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from diffbot_report.ident_recording import DONE, STAMP_TOLERANCE, STOPPED, VERIFYING, WAITING

COMPLETED = "completed"
FAILED = "failed"

# Wall time to wait for the last result once the node says that it is done, s.
SETTLE = 1.0
# Wall time to wait for what else explains an end: a signal reaches the processes of a launch one
# after the other, and the last messages may still be on their way. s.
GRACE = 0.3
# Wall time in all that more messages may keep it waiting, s.
LONGEST_SETTLE = 10.0
# A run that ends this close to its duration ran to its end, s of robot time.
END_TOLERANCE = 0.1


class NodeState(Protocol):
    """What the node that is watched says about itself, such as a StatusSample.

    Attributes:
        time: stamp in robot time, s.
        phase: one of samples' phases.
        message: what is waited for, or why the run stopped.
        elapsed: robot time since the run began, s.
        duration: robot time after which it ends by itself, s; 0 means never, or for another reason.
    """

    time: float
    phase: str
    message: str
    elapsed: float
    duration: float


@dataclass(frozen=True)
class Ending:
    """How a run ended: outcome "completed", "stopped" (by the user) or "failed", and why."""

    outcome: str
    reason: str = ""


class RunEnd:
    """Judges from what is known at each poll whether the run is over.

    Args:
        patience: wall time to wait for the node to appear, s; 0: for ever.
        node: name of the node that is watched.
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
        status: NodeState | None,
        newest: float | None,
        publishers: int,
        interrupted: bool = False,
        received: float = -math.inf,
        failures: Sequence[str] = (),
        silent: bool = False,
    ) -> Ending | None:
        """The ending, or None while the run goes on.

        Args:
            now: wall time, s, monotonic.
            status: newest state of the node; None before the first.
            newest: stamp of its newest result, s; None before the first.
            publishers: publishers of its topics now.
            interrupted: whether a signal ends this process.
            received: wall time at which the newest message came, s; while more come, an end waits.
            failures: processes of the launch that have failed, where somebody tells.
            silent: with interrupted: nothing has come from the node since the signal.
        """
        self._publishers_seen = self._publishers_seen or publishers > 0
        if self._begin is None:
            self._begin = now
        if not self._publishers_seen and 0.0 < self._patience < now - self._begin:
            return Ending(FAILED, f"no {self._node} node appeared within {self._patience:g} s")
        phase = status.phase if status else None
        if interrupted:
            return self._interrupted(status, publishers, failures, silent)
        vanished = self._publishers_seen and publishers == 0
        if not vanished and phase not in (DONE, STOPPED):
            self._since = None
            return None
        if self._since is None:
            self._since = now
        settled = now - max(self._since, received) >= SETTLE or now - self._since >= LONGEST_SETTLE
        if phase == DONE:
            complete = newest is not None and newest >= status.time - STAMP_TOLERANCE
            return Ending(COMPLETED) if complete or settled else None
        if now - self._since < GRACE:
            return None
        return self._ended_by_itself(status)

    def _interrupted(
        self, status: NodeState | None, publishers: int, failures: Sequence[str], silent: bool
    ) -> Ending:
        """A signal is the user's, or that of a launch that ends what is left of a failed run."""
        if status is not None and status.phase == DONE:
            return Ending(COMPLETED)
        ending = None
        if publishers == 0 or (status is not None and status.phase == STOPPED):
            ending = self._ended_by_itself(status)
        # What the node says of itself tells more than that it, or another one, has failed.
        says = status is not None and status.phase == STOPPED and ending.outcome == FAILED
        if failures and not says:
            return Ending(FAILED, f"failed in this run: {', '.join(failures)}")
        if ending is not None:
            return ending
        if silent and status is not None and status.phase not in (DONE, STOPPED, WAITING):
            return Ending(
                FAILED,
                f"the {self._node} node said nothing more, not even that it was told to end: it "
                "was killed or hangs",
            )
        return Ending(STOPPED, "interrupted")

    def _ended_by_itself(self, status: NodeState | None) -> Ending:
        node = f"the {self._node} node"
        if status is None:
            return Ending(FAILED, f"{node} did not start, or left before it said anything")
        if status.phase == STOPPED:
            return self._stopped(status.message)
        at_end = 0.0 < status.duration <= status.elapsed + END_TOLERANCE
        if at_end and status.phase != VERIFYING:
            return Ending(COMPLETED)
        end = f" of {status.duration:.1f} s" if status.duration > 0.0 else ""
        return Ending(FAILED, f"{node} left after {status.elapsed:.1f} s{end} without saying why")

    def _stopped(self, message: str) -> Ending:
        """A signal that reached the node, perhaps it alone, is a user's stop."""
        by_user = any(name in message for name in ("interrupted", "SIGINT", "SIGTERM"))
        outcome = STOPPED if by_user else FAILED
        return Ending(outcome, message or f"the {self._node} node stopped")
