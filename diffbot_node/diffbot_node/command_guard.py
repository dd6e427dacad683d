"""When a robot may be commanded, and what of a wanted command goes out; knows no ROS.

    WAITING --begin--> HOLDING <--apply, hold--> ACTIVE
       ^                 ^  |                      |
       |              enable stop, press           |
       |                 |  v                      |
       +---enable----- STOPPED <----stop, press----+        any --end--> ENDED

WAITING sends nothing, ACTIVE what the limiter allows, all others zero. HOLDING goes on by itself
with the next good state, STOPPED only when somebody enables it. docs/safety.md says more.
"""

from __future__ import annotations

from enum import Enum

from diffbot_node.limiters import Pair, PairLimiter


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


# ---
# What the stamps of a robot's states tell: the period between two, and how old the newest is.

# Clocks that differ by less at the first state are one clock, or synchronised ones, s.
SAME_CLOCK = 1.0
# Two clocks may go apart by this share of time: small computers without a quartz do by 2 %.
DRIFT = 0.03
# How much earlier than due a state may come without losing its share of the rate, s: three control
# periods of 10 ms, as the watchdog lets pass.
JITTER = 0.03


class StateAge:
    """Says of each stamp whether the state may be answered, and how far commands may change.

    A state is too old when the node's clock is ahead of its stamp by more than the limit, where the
    two agreed at the first state, or by that much more than it was at the best of times, whatever
    the clocks say.

    Args:
        limit: longest age of a state when it comes, and longest period between two, s, > 0.
        name: of a state, for messages.

    Attributes:
        newest: the newest stamp, s; None before the first.
        period: between the last two stamps, s; 0 at the first, and where `problem` is not empty.
            Less for states that come earlier after the last ones than their stamps say: what may
            change by so much a period must not do so faster because states come together.
        problem: why the newest state may not be answered; empty otherwise.
        same_clock: whether stamps and the node's clock agreed at the first state; None before it.
    """

    def __init__(self, limit: float, name: str = "state") -> None:
        self._limit = limit
        self._name = name
        self.newest: float | None = None
        self.period = 0.0
        self.problem = ""
        self.same_clock: bool | None = None
        self._came = 0.0  # by the node's clock, s
        self._least = 0.0  # by how much the node's clock is ahead of a stamp at the least, s
        self._saved = JITTER  # s

    def take(self, stamp: float, now: float, simulated: bool = False) -> None:
        """Take the stamp of a state that came.

        Args:
            stamp: s.
            now: the node's clock, s.
            simulated: whether that is a simulator's. It stands still between its messages, which
                come late at times: when a state came is not known then, only whether it is old.
        """
        last, self.newest = self.newest, stamp
        ahead = now - stamp
        if last is None:
            self.same_clock = abs(ahead) < SAME_CLOCK
            self._came, self._least = now, ahead
        elapsed, self._came = max(0.0, now - self._came), now
        step = 0.0 if last is None else stamp - last
        self.problem = self._step_problem(step, last)
        if self.problem:
            self._least = ahead  # a clock that was set is another clock
        self._least = min(self._least + DRIFT * elapsed, ahead)
        behind = 0.0 if simulated else ahead - self._least
        self.problem = self.problem or self._age_problem(ahead, behind)
        time = self._saved + elapsed
        self.period = 0.0 if self.problem else step if simulated else min(step, time)
        self._saved = min(JITTER, time - self.period)

    def _step_problem(self, step: float, last: float | None) -> str:
        if step < 0.0:
            return (
                f"the stamp of a {self._name} is {-step:.3f} s before the last one: stamps must "
                "rise; check the clock of the driver, or that only one driver runs"
            )
        if step > self._limit:
            return (
                f"no {self._name} for {step:.3f} s by the stamps ({last:.3f} s was the last one), "
                f"limit {self._limit:g} s; check the driver, or raise input_timeout for a slow one"
            )
        return ""

    def _age_problem(self, age: float, behind: float) -> str:
        if self.same_clock and age > self._limit:
            return (
                f"a {self._name} came {age:.3f} s after its stamp, limit {self._limit:g} s; check "
                "the network and the load of the computers, and that their clocks agree"
            )
        if behind > self._limit:
            return (
                f"a {self._name} came {behind:.3f} s later after its stamp than others did, limit "
                f"{self._limit:g} s; check the network and the load of the computers; in a "
                "simulation set use_sim_time"
            )
        return ""
