"""The robot's time of messages that carry no stamp.

A recording says when a message was logged, in wall time. Messages with a stamp say their robot
time, which in a simulation runs at another pace. What has no stamp gets that of the newest stamped
message before it, plus the time that passed since, at the pace of the robot's clock.
"""

from __future__ import annotations

# Logged time over which the pace is measured, s; less is jitter.
SPAN = 0.5
# Stamped messages after which it is first known.
FIRST = 20
# Deviation of the pace from 1 beyond which a simulation does not run in real time.
REAL_TIME = 0.1
# A step of a stamp, beyond the time that passed, with which a clock was set, s.
JUMP = 1.0


class RobotClock:
    """Follows the stamps of one topic."""

    def __init__(self) -> None:
        self._logged = self._stamp = 0.0
        self._pace = 1.0
        self._count = 0
        self._anchor: tuple[float, float] | None = None
        self._first = (0.0, 0.0)

    @property
    def begun(self) -> bool:
        """Whether there was a stamp: from then on wall time is not the robot's time."""
        return self._count > 0

    @property
    def running(self) -> bool:
        """Whether the pace is known."""
        return self._count >= FIRST

    def stamped(self, logged: float, stamp: float) -> None:
        """A message with a stamp was logged; both in s."""
        passed = logged - self._logged
        jumped = stamp < self._stamp or abs(stamp - self._stamp - passed) > JUMP
        self._count += 1
        self._logged, self._stamp = logged, stamp
        if self._anchor is None or jumped:
            self._anchor = self._first = (logged, stamp)
        elif self._count == FIRST or logged - self._anchor[0] > SPAN:
            passed = max(logged - self._anchor[0], 1e-9)
            self._pace = (stamp - self._anchor[1]) / passed
            self._anchor = (logged, stamp)

    def time(self, logged: float) -> float:
        """Robot time of a message that was logged at this time, s; the clock must be running."""
        # Over all, as a simulator now and then runs in real time for a while.
        passed = max(self._logged - self._first[0], 1e-9)
        if abs((self._stamp - self._first[1]) / passed - 1.0) > REAL_TIME:
            # A simulator that waits for answers: what comes now answers the newest stamp.
            return self._stamp
        return self._stamp + max(0.0, logged - self._logged) * self._pace
