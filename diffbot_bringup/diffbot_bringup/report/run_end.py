"""When an identification run is over and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_bringup.report.samples import DONE, STOPPED, StatusSample
from diffbot_bringup.report.series import STAMP_TOLERANCE

COMPLETED = "completed"
FAILED = "failed"

# Wall time to wait for the last estimate once the ident node says that it is done, s.
SETTLE = 1.0
# Wall time to wait for what else explains an end: a signal reaches the processes of a launch one
# after the other, and the last messages may still be on their way. s.
GRACE = 0.3
# A run that ends this close to its duration ran to its end, s of robot time.
END_TOLERANCE = 0.1


@dataclass(frozen=True)
class Ending:
    """How a run ended: outcome "completed", "stopped" (by the user) or "failed", and why."""

    outcome: str
    reason: str = ""


class RunEnd:
    """Judges from what is known at each poll whether the run is over."""

    def __init__(self, patience: float = 0.0) -> None:
        """`patience` is the wall time to wait for the ident node to appear, s; 0: for ever."""
        self._patience = patience
        self._begin: float | None = None
        self._since: float | None = None
        self._publishers_seen = False

    def update(
        self,
        now: float,
        status: StatusSample | None,
        parameters_time: float | None,
        publishers: int,
        interrupted: bool = False,
    ) -> Ending | None:
        """The ending, or None while the run goes on.

        Args:
            now: wall time, s, monotonic.
            status: newest status; None before the first.
            parameters_time: stamp of the newest estimate, s; None before the first.
            publishers: publishers of the ident node's topics now.
            interrupted: whether the user ended this process by a signal.
        """
        self._publishers_seen = self._publishers_seen or publishers > 0
        if self._begin is None:
            self._begin = now
        if not self._publishers_seen and 0.0 < self._patience < now - self._begin:
            return Ending(FAILED, f"no ident node appeared within {self._patience:g} s")
        phase = status.phase if status else None
        if interrupted:
            return _interrupted(status, publishers)
        vanished = self._publishers_seen and publishers == 0
        if not vanished and phase not in (DONE, STOPPED):
            self._since = None
            return None
        if self._since is None:
            self._since = now
        waited = now - self._since
        if phase == DONE:
            last = status.time - STAMP_TOLERANCE
            complete = parameters_time is not None and parameters_time >= last
            return Ending(COMPLETED) if complete or waited >= SETTLE else None
        if waited < GRACE:
            return None
        return _ended_by_itself(status)


def _interrupted(status: StatusSample | None, publishers: int) -> Ending:
    """A signal is the user's, unless the ident node says or shows that it failed."""
    if status is not None and status.phase == DONE:
        return Ending(COMPLETED)
    if publishers == 0 or (status is not None and status.phase == STOPPED):
        return _ended_by_itself(status)
    return Ending(STOPPED, "interrupted by the user")


def _ended_by_itself(status: StatusSample | None) -> Ending:
    if status is None:
        return Ending(FAILED, "the ident node did not start, or left before it said anything")
    if status.phase == STOPPED:
        return _stopped(status.message)
    if 0.0 < status.duration <= status.elapsed + END_TOLERANCE:
        return Ending(COMPLETED)
    return Ending(
        FAILED,
        f"the ident node left after {status.elapsed:.1f} s of {status.duration:.1f} s "
        "without saying why",
    )


def _stopped(message: str) -> Ending:
    """A signal that reached the ident node, perhaps it alone, is a user's stop."""
    by_user = any(name in message for name in ("interrupted", "SIGINT", "SIGTERM"))
    return Ending(STOPPED if by_user else FAILED, message or "the ident node stopped")
