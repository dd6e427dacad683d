# SPDX-License-Identifier: Apache-2.0
"""Decides which torque commands are fit for the wheels; all others become zero.

It shares no code with the limiter of the commanding nodes, and does not clip: a command that needs
clipping shows that something is broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

Pair = tuple[float, float]

ZERO: Pair = (0.0, 0.0)
# Share of the limit within which commands must begin after a trip, or the robot would jerk.
NEAR_ZERO = 0.05


class WatchdogState(Enum):
    """How the watchdog treats commands."""

    WAITING = "waiting"  # no command has arrived yet
    PASSING = "passing"  # commands pass
    SILENT = "silent"  # commands have stopped
    TRIPPED = "tripped"  # zero is sent instead, until commands begin again near zero


class EffortWatchdog:
    """Passes commands [left, right] in N m while they are fit, and replaces them by zero otherwise.

    The rate is limited by a leaky bucket: a change costs the time that it takes at the rate limit,
    which the time since the last command pays, with up to `jitter` of saved time.

    Args:
        limit: Largest torque of either sign on a wheel, N m.
        rate: Largest change of a wheel's torque, N m/s.
        timeout: Age of the last command above which commands count as stopped, s.
        jitter: How much earlier than due a command may arrive, s: three control periods. More lets
            a jump pass.

    Attributes:
        passed: The last torque passed on, or the zero that replaced it, N m.
        reason: Why commands do not pass; empty while they pass.
        trips: How often something was refused, or silence ended a torque.

    Raises:
        ValueError: An argument is not finite and > 0.
    """

    def __init__(
        self, limit: float, rate: float, timeout: float = 0.1, jitter: float = 0.03
    ) -> None:
        settings = {"limit": limit, "rate": rate, "timeout": timeout, "jitter": jitter}
        for name, value in settings.items():
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} of the watchdog = {value}: must be finite and > 0")
        self._limit, self._rate, self._timeout, self._jitter = limit, rate, timeout, jitter
        self._near = NEAR_ZERO * limit
        self.passed = ZERO
        self.state = WatchdogState.WAITING
        self.reason = "no command received yet; start a controller"
        self.trips = 0
        self._kept = ""
        self._from_zero_only = True
        self._newest = 0.0  # time of the newest command, s
        self._saved = jitter  # unused time that a later early command may use, s

    def command(self, now: float, values: Sequence[float], unfit: str = "") -> Pair:
        """Return what to send to the wheels: the command itself, or zero if it is not fit.

        Args:
            now: The node's clock, s; 0 before the first clock message.
            values: Received; summed over the joints of each side.
            unfit: Why it is no command for this robot; empty if it is one.
        """
        # Time 0 means that no clock message has arrived yet, so the rate is unknown.
        unknown = self._newest == 0.0
        elapsed = self._timeout if unknown else min(max(now - self._newest, 0.0), self._timeout)
        self.look(now)
        self._newest = now
        why = self._kept or unfit or self._unfit(values)
        if not why and self._from_zero_only and max(map(abs, values)) > self._near:
            if self.state is WatchdogState.TRIPPED:
                return ZERO  # keep the reason of the trip
            why = f"commands begin with torque {list(values)} N m; restart or enable their sender"
        why = why or self._too_fast(values, elapsed)
        if why:
            return self._trip(why)
        self.passed = (values[0], values[1])
        self.state, self.reason, self._from_zero_only = WatchdogState.PASSING, "", False
        return self.passed

    @property
    def holds(self) -> bool:
        """Whether commands far from zero arrive but do not pass."""
        return self.state is WatchdogState.TRIPPED

    def look(self, now: float) -> Pair | None:
        """Return zero if commands have just stopped, else None. Call it about every 10 ms.

        After a clock was set back the last command counts as old.
        """
        if self.state is not WatchdogState.PASSING:
            return None
        if self._newest == 0.0:
            self._newest = now  # the command arrived before the first clock: its age begins now
        age = now - self._newest
        if 0.0 <= age <= self._timeout:
            return None
        # Silence after a zero cut nothing off: commands may resume freely.
        if self.passed != ZERO:
            self._from_zero_only = True
            self.trips += 1
        self.state, self.passed = WatchdogState.SILENT, ZERO
        self.reason = (
            f"no command for {age:.3f} s, limit {self._timeout:g} s: zero torque; check why "
            "the controller stopped"
        )
        return ZERO

    def hold(self, why: str) -> Pair | None:
        """Let nothing pass while `why` is not empty; return zero if that is new, else None."""
        is_new = why not in ("", self._kept)
        self._kept = why
        return self._trip(why) if is_new else None

    def _trip(self, why: str) -> Pair:
        self.trips += self.state is not WatchdogState.TRIPPED
        self.state, self.passed, self._from_zero_only = WatchdogState.TRIPPED, ZERO, True
        self.reason = f"{why}; zero torque until commands begin within {self._near:g} N m of zero"
        return ZERO

    def _unfit(self, values: Sequence[float]) -> str:
        """Why a command is unfit regardless of earlier ones; empty if it is fit."""
        if len(values) != 2:
            return f"command of {len(values)} values: must be 2 torques [left, right] in N m"
        said = f"torque {list(values)} N m"
        if not all(map(math.isfinite, values)):
            return f"{said}: must be finite; check the controller's inputs"
        if max(map(abs, values)) > self._limit:
            return f"{said}: limit {self._limit:g} N m; lower the controller's torque_limit"
        return ""

    def _too_fast(self, values: Sequence[float], elapsed: float) -> str:
        """Why a command, `elapsed` s after the last one, changes too fast; empty if it does not."""
        if not any(values):
            values = self.passed  # zero is always allowed at once, and costs nothing
        change = max(abs(new - old) for new, old in zip(values, self.passed, strict=True))
        left = elapsed + self._saved - change / self._rate
        if left < 0.0:
            return (
                f"torque changed by {change:g} N m in {elapsed:g} s: limit {self._rate:g} N m/s "
                f"with {self._saved:g} s to spare; lower the controller's gains"
            )
        self._saved = min(left, self._jitter)
        return ""
