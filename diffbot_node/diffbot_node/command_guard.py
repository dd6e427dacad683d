# SPDX-License-Identifier: Apache-2.0
"""Decides how much of a desired command is sent; knows no ROS.

CommandGuard follows the stop state machine (stop_states.py).
"""

from __future__ import annotations

import math

from diffbot_node.stop_states import GuardState, Sends, StopEvent, after

Pair = tuple[float, float]


class PairLimiter:
    """Keeps a pair of commands finite, and each inside its own limit and rate limit.

    `what` and `unit` of the pair are for messages; limits, > 0, and rates, > 0 per s, may be
    infinite only for the latter. `command` is the last allowed one.
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
        """Return the allowed command nearest to the desired one, `period` s after the last one.

        Raises:
            ValueError: A number is not finite, the period negative, or there are not two values:
                the command is zero, and the caller must send it.
        """
        if len(wanted) != 2:
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)}: must be 2 values; zero is commanded instead"
            )
        first, second = wanted
        finite = math.isfinite(first) and math.isfinite(second) and math.isfinite(period)
        if not (finite and period >= 0.0):
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)} {self.unit} for a period of {period} s: must be "
                "finite; zero is commanded instead"
            )
        self.command = self._allowed(0, first, period), self._allowed(1, second, period)
        return self.command

    def _allowed(self, index: int, value: float, period: float) -> float:
        last, limit = self.command[index], self.limits[index]
        step = self.rates[index] * period if period > 0.0 else 0.0
        return max(-limit, min(limit, max(last - step, min(last + step, value))))

    def stop(self) -> Pair:
        """Return and store a zero command at once, regardless of the rate limit."""
        self.command = (0.0, 0.0)
        return self.command


class TorqueLimiter(PairLimiter):
    """Keeps wheel torques [left, right], N m, inside a limit and a rate limit, N m/s, each > 0."""

    def __init__(self, limit: float, rate: float = math.inf) -> None:
        super().__init__("torque", "N m", (limit, limit), (rate, rate))

    @property
    def limit(self) -> float:
        return self.limits[0]

    @property
    def torque(self) -> tuple[float, float]:
        """The last allowed torques [left, right], N m."""
        return self.command


class CommandGuard:
    """The stop state machine of a commanding node, its limiter, and why it is where it is.

    Attributes:
        reason: Why only zero is commanded; empty while ACTIVE.
        pressed: Why the emergency stop counts as pressed; empty while it does not.
    """

    def __init__(self, limiter: PairLimiter) -> None:
        self._limiter = limiter
        self.state = GuardState.WAITING
        self.reason = "nothing received yet"
        self.pressed = ""

    @property
    def command(self) -> Pair:
        """The last allowed command; zero unless ACTIVE."""
        return self._limiter.command

    @property
    def began(self) -> bool:
        """Whether the first state has arrived with all that is needed to command the robot."""
        return self.state.sends in (Sends.LAW, Sends.ZERO)

    @property
    def stopped(self) -> bool:
        """Whether it waits for somebody to enable it."""
        return self.state.label == GuardState.STOPPED.label

    @property
    def ended(self) -> bool:
        return self.state.label == GuardState.ENDED.label

    @property
    def may_command(self) -> bool:
        return not (self.stopped or self.ended)

    def begin(self) -> None:
        self._take(StopEvent.STATE, "received the first state")

    def apply(self, wanted: Pair, period: float) -> Pair:
        """Return the answer to a good state, `period` s, >= 0, after the last one.

        Where PairLimiter raises a ValueError the caller must `hold`.
        """
        moves = after(self.state, StopEvent.ANSWER) is GuardState.ACTIVE
        command = self._limiter.apply(wanted, period) if moves else self._limiter.stop()
        self._take(StopEvent.ANSWER, "")
        return command

    def hold(self, reason: str, silent: bool = False) -> Pair:
        """Command zero until the next good state, and return it; `silent`: no state arrived."""
        self._take(StopEvent.SILENCE if silent else StopEvent.REFUSAL, reason)
        if self.state in (GuardState.HOLDING, GuardState.SILENT):
            self.reason = reason
        return self._limiter.stop()

    def stop(self, reason: str) -> Pair:
        """Command zero until `enable`; the first reason is kept."""
        self._take(StopEvent.STOP, reason)
        return self._limiter.stop()

    def press(self, reason: str) -> Pair:
        """Command zero, and no `enable` before `release`."""
        if self.reason == self.pressed:
            self.reason = reason
        self.pressed = reason
        self._take(StopEvent.PRESS, reason)
        return self._limiter.stop()

    def release(self) -> None:
        """Keep zero until `enable`."""
        if self.pressed and self.reason == self.pressed:
            self.reason = f"{self.pressed} (released since); call ~/enable to continue"
        self.pressed = ""
        self._take(StopEvent.RELEASE, self.reason)

    def enable(self) -> str:
        """Leave STOPPED; return why that is refused, empty if it is not."""
        self._take(StopEvent.ENABLE, "enabled; commands from the next good state on")
        if self.ended:
            return self.reason
        return f"{self.pressed}: release it first" if self.pressed else ""

    def end(self, reason: str) -> Pair:
        """Command zero for ever."""
        self._take(StopEvent.END, reason)
        return self._limiter.stop()

    def _take(self, event: StopEvent, reason: str) -> None:
        """Change the state; the reason is that of the first event with this label."""
        before, self.state = self.state, after(self.state, event)
        if self.state.label != before.label:
            self.reason = reason
