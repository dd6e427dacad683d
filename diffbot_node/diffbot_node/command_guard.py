"""What of a wanted command goes out: limits in size and rate, and when there may be any.

PairLimiter keeps commands inside their limits; CommandGuard is the state machine that decides
whether they are more than zero:

    WAITING --begin--> HOLDING <--apply, hold--> ACTIVE
       ^                 ^  |                      |
       |              enable stop, press           |
       |                 |  v                      |
       +---enable----- STOPPED <----stop, press----+        any --end--> ENDED

WAITING sends nothing, ACTIVE what the limiter allows, all others zero. HOLDING goes on by itself
with the next good state, STOPPED only when somebody enables it. docs/safety.md says more. Nothing
here knows ROS.
"""

from __future__ import annotations

import math
from enum import Enum

Pair = tuple[float, float]


class PairLimiter:
    """Keeps a pair of commands finite, and each inside its own limit and rate limit.

    Args:
        what: the quantity, for messages, such as "torque".
        unit: of the pair, for messages, such as "N m".
        limits: largest size of each, > 0, in its unit.
        rates: largest change of each, > 0, in its unit per s; infinite for none.

    Attributes:
        command: what was allowed last.
        unit: of the pair.

    Raises:
        ValueError: a limit is outside its range.
    """

    def __init__(
        self, what: str, unit: str, limits: Pair, rates: Pair = (math.inf, math.inf)
    ) -> None:
        for limit in limits:
            if not (math.isfinite(limit) and limit > 0.0):
                raise ValueError(f"{what} limit = {limit} {unit}: must be finite and > 0")
        for rate in rates:
            if not rate > 0.0:
                raise ValueError(f"{what} rate limit = {rate} {unit} per s: must be > 0")
        self._what, self.unit = what, unit
        self.limits = limits
        self.rates = rates
        self.command: Pair = (0.0, 0.0)

    def apply(self, wanted: Pair, period: float) -> Pair:
        """The allowed command nearest to the wanted one, `period` s after the last one.

        Raises:
            ValueError: a wanted value or the period is not finite, there are not two values, or
                the period is negative. The command is zero then and has to be sent.
        """
        if len(wanted) != 2:
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)}: must be 2 values; zero is commanded instead"
            )
        if not (all(map(math.isfinite, wanted)) and math.isfinite(period) and period >= 0.0):
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)} {self.unit} for a period of {period} s: must be "
                "finite; zero is commanded instead"
            )
        steps = (rate * period if period > 0.0 else 0.0 for rate in self.rates)
        first, second = (
            max(-limit, min(limit, max(last - step, min(last + step, value))))
            for last, value, limit, step in zip(
                self.command, wanted, self.limits, steps, strict=True
            )
        )
        self.command = (first, second)
        return self.command

    def stop(self) -> Pair:
        """Zero at once: safety knows no rate limit."""
        self.command = (0.0, 0.0)
        return self.command


class TorqueLimiter(PairLimiter):
    """Keeps wheel torques [left, right] finite and inside a limit and a rate limit.

    Args:
        limit: largest torque of either sign on a wheel, N m, > 0.
        rate: largest change of a wheel's torque, N m/s, > 0; infinite for none.
    """

    def __init__(self, limit: float, rate: float = math.inf) -> None:
        super().__init__("torque", "N m", (limit, limit), (rate, rate))

    @property
    def limit(self) -> float:
        """Largest torque of either sign, N m."""
        return self.limits[0]

    @property
    def torque(self) -> tuple[float, float]:
        """What was allowed last, [left, right], N m."""
        return self.command


class GuardState(Enum):
    """Where a commanding node is; the values are what `diagnostics` says."""

    WAITING = "waiting"
    ACTIVE = "active"
    HOLDING = "holding"
    STOPPED = "stopped"
    ENDED = "ended"


class CommandGuard:
    """The state machine of a commanding node.

    Args:
        limiter: of the commands.

    Attributes:
        state: where it is.
        reason: why nothing but zero is commanded; empty while ACTIVE.
        silent: whether it holds because nothing comes, rather than something wrong.
        pressed: why the emergency stop counts as pressed; empty while it does not.
        began: whether there was anything to command: the robot and all else was there once.
    """

    def __init__(self, limiter: PairLimiter) -> None:
        self._limiter = limiter
        self.began = False
        self.state = GuardState.WAITING
        self.reason = "nothing has come yet"
        self.silent = False
        self.pressed = ""

    @property
    def command(self) -> Pair:
        """What was allowed last; zero unless ACTIVE."""
        return self._limiter.command

    @property
    def may_command(self) -> bool:
        """Whether a good state may be answered by more than zero."""
        return self.state not in (GuardState.STOPPED, GuardState.ENDED)

    def begin(self) -> None:
        """All that is needed is there, and the first state has come."""
        self.began = True
        if self.state is GuardState.WAITING:
            self._enter(GuardState.HOLDING, "the first state has come")

    def apply(self, wanted: Pair, period: float) -> Pair:
        """Answer a good state: the allowed command nearest to the wanted one.

        Args:
            wanted: by the law.
            period: since the last good state, s, >= 0; 0 allows no change.

        Raises:
            ValueError: the wanted command or the period is not finite, or the period is negative;
                `hold` is to be called with the reason.
        """
        if not self.may_command:
            return self._limiter.stop()
        command = self._limiter.apply(wanted, period)
        self._enter(GuardState.ACTIVE, "")
        return command

    def hold(self, reason: str, silent: bool = False) -> Pair:
        """Zero until the next good state; returns it.

        Args:
            reason: a sentence.
            silent: nothing came, rather than something wrong.
        """
        if self.may_command:
            self._enter(GuardState.HOLDING, reason)
            self.silent = silent
        return self._limiter.stop()

    def stop(self, reason: str) -> Pair:
        """Zero until `enable`; returns it. The first reason stays."""
        if self.may_command:
            self._enter(GuardState.STOPPED, reason)
        return self._limiter.stop()

    def press(self, reason: str) -> Pair:
        """The emergency stop is pressed: zero, and no `enable` before `release`; returns it."""
        if self.reason == self.pressed:
            self.reason = reason
        self.pressed = reason
        return self.stop(reason)

    def release(self) -> None:
        """The emergency stop is released; zero goes on until `enable`."""
        if self.pressed and self.reason == self.pressed:
            self.reason = f"{self.pressed}, released since: enable to go on"
        self.pressed = ""

    def enable(self) -> str:
        """Leave STOPPED; returns why that is refused, empty where it is not."""
        if self.state is GuardState.ENDED:
            return self.reason
        if self.pressed:
            return f"{self.pressed}: release it first"
        if self.state is GuardState.STOPPED:
            after = GuardState.HOLDING if self.began else GuardState.WAITING
            self._enter(after, "enabled; the next good state is answered")
        return ""

    def end(self, reason: str) -> Pair:
        """Zero for ever; returns it."""
        if self.state is not GuardState.ENDED:
            self._enter(GuardState.ENDED, reason)
        return self._limiter.stop()

    def _enter(self, state: GuardState, reason: str) -> None:
        self.state, self.reason, self.silent = state, reason, False
