# SPDX-License-Identifier: Apache-2.0
"""Which wheel torques are fit to be passed on to the wheels; whatever is not becomes zero.

It shares nothing with the limiter of the nodes that command, and does not repair what they say: a
command of theirs that a limiter would have to clip shows that something is broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

Pair = tuple[float, float]

ZERO: Pair = (0.0, 0.0)
# After a trip commands begin again within this share of the limit: what would pass at once while a
# controller still asks for a torque would be a blow to the robot.
NEAR_ZERO = 0.05


class WatchdogState(Enum):
    """What becomes of commands."""

    WAITING = "waiting"  # none has come yet
    PASSING = "passing"  # they pass
    SILENT = "silent"  # they have stopped
    TRIPPED = "tripped"  # zero is said instead, until they begin again near zero


class EffortWatchdog:
    """Passes commands [left, right] in N m while they are fit, and says zero otherwise.

    The rate is measured as a leaky bucket does it: a change costs the time that it takes at the
    rate limit; the time since the last command pays for it, and up to `jitter` is saved. So a
    command may be early or late by `jitter`, and no change is faster than the rate for longer.

    Args:
        limit: largest torque of either sign on a wheel, N m.
        rate: largest change of a wheel's torque, N m/s.
        timeout: age of a command at which commands have stopped, s.
        jitter: how much earlier than due a command may arrive, s. The default is three control
            periods of 10 ms: for commands that arrive together, and a simulator's clock that
            arrives after the command. More would let a jump pass.

    Attributes:
        passed: what was passed on last, or zero in its place, N m.
        state: what becomes of commands.
        reason: why they do not pass, with value, limit and advice; empty while they pass.
        trips: how often something was refused, or a torque ended by silence.

    Raises:
        ValueError: an argument is not finite and > 0.
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
        self.reason = "no command has come yet; start a controller"
        self.trips = 0
        self._held = ""
        self._from_zero_only = True
        self._newest = 0.0  # time of the newest command, s
        self._saved = jitter  # s

    def command(self, now: float, values: Sequence[float], unfit: str = "") -> Pair:
        """What to send to the wheels instead of a command: itself, or zero when it is not fit.

        Args:
            now: the node's clock, s; 0 before a clock was heard.
            values: the command, as it came; of several joints of a side their sum.
            unfit: why it is no command of this robot; empty when it is one.
        """
        # Time 0 means that no clock was heard yet, and nothing can be said of the rate.
        unknown = self._newest == 0.0
        elapsed = self._timeout if unknown else min(max(now - self._newest, 0.0), self._timeout)
        self.look(now)
        self._newest = now
        why = self._held or unfit or self._unfit(values)
        if not why and self._from_zero_only and max(map(abs, values)) > self._near:
            if self.state is WatchdogState.TRIPPED:
                return ZERO  # what made it trip is still the reason to know
            why = f"torque {list(values)} N m comes first; restart or enable its sender"
        why = why or self._too_fast(values, elapsed)
        if why:
            return self._trip(why)
        self.passed = (values[0], values[1])
        self.state, self.reason, self._from_zero_only = WatchdogState.PASSING, "", False
        return self.passed

    @property
    def holds(self) -> bool:
        """Whether commands that are far from zero do not pass, though they come."""
        return self.state is WatchdogState.TRIPPED

    def look(self, now: float) -> Pair | None:
        """Zero when commands have just stopped; else None. To be called every 10 ms or so.

        A clock that was set back hides how old the last command is: that counts as old.
        """
        if self.state is not WatchdogState.PASSING:
            return None
        if self._newest == 0.0:
            self._newest = now  # no clock was heard when it came: its age begins now
        age = now - self._newest
        if 0.0 <= age <= self._timeout:
            return None
        # After a zero of the controller's own it may go on as it likes: nothing was cut off.
        if self.passed != ZERO:
            self._from_zero_only = True
            self.trips += 1
        self.state, self.passed = WatchdogState.SILENT, ZERO
        self.reason = (
            f"no command for {age:.3f} s, limit {self._timeout:g} s: zero torque; see why the "
            "controller stopped"
        )
        return ZERO

    def hold(self, why: str) -> Pair | None:
        """Let nothing pass while `why` is not empty; returns zero when that is new, else None."""
        is_new = why not in ("", self._held)
        self._held = why
        return self._trip(why) if is_new else None

    def _trip(self, why: str) -> Pair:
        self.trips += self.state is not WatchdogState.TRIPPED
        self.state, self.passed, self._from_zero_only = WatchdogState.TRIPPED, ZERO, True
        self.reason = f"{why}; zero torque until commands begin within {self._near:g} N m of zero"
        return ZERO

    def _unfit(self, values: Sequence[float]) -> str:
        """Why a command is unfit whatever came before; empty when it is fit."""
        if len(values) != 2:
            return f"command of {len(values)} values: must be 2 torques [left, right] in N m"
        said = f"torque {list(values)} N m"
        if not all(map(math.isfinite, values)):
            return f"{said}: must be finite; see what the controller was fed with"
        if max(map(abs, values)) > self._limit:
            return f"{said}: limit {self._limit:g} N m; lower the controller's torque_limit"
        return ""

    def _too_fast(self, values: Sequence[float], elapsed: float) -> str:
        """Why a fit command is too fast, `elapsed` s after the last one; empty when it is not."""
        if not any(values):
            values = self.passed  # zero is welcome at once, and costs nothing
        change = max(abs(new - old) for new, old in zip(values, self.passed, strict=True))
        left = elapsed + self._saved - change / self._rate
        if left < 0.0:
            return (
                f"torque changed by {change:g} N m in {elapsed:g} s: limit {self._rate:g} N m/s "
                f"with {self._saved:g} s to spare; lower the controller's gains"
            )
        self._saved = min(left, self._jitter)
        return ""
