# SPDX-License-Identifier: Apache-2.0
"""What of a wanted command goes out, and which states may be answered by one; knows no ROS.

PairLimiter keeps commands inside their limits. StateAge and StateClock know when a state is too old
to be answered. CommandGuard is the state machine that decides whether commands are more than zero:

    WAITING --begin--> HOLDING <--apply, hold--> ACTIVE
       ^                 ^  |                      |
       |              enable stop, press           |
       |                 |  v                      |
       +---enable----- STOPPED <----stop, press----+        any --end--> ENDED

WAITING sends nothing, ACTIVE what the limiter allows, all others zero. HOLDING goes on by itself
with the next good state, STOPPED only when somebody enables it. docs/safety.md says more.
"""

from __future__ import annotations

import math
import time
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffbot_node.robot_messages import NodeClock

Pair = tuple[float, float]
# Clocks that differ by less at the first state are one clock, or synchronised ones, s.
SAME_CLOCK = 1.0
# Two clocks may go apart by this share of time: small computers without a quartz do by 2 %.
DRIFT = 0.03
# How much earlier than due a state may come without losing its share of the rate, s: three control
# periods of 10 ms, as the watchdog lets pass.
JITTER = 0.03
# A simulator's clock stands while it is paused, or slow; after so long without a word of it, s of
# wall time, it has gone.
LONGEST_PAUSE = 3.0


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
        available = self._saved + elapsed
        self.period = 0.0 if self.problem else step if simulated else min(step, available)
        self._saved = min(JITTER, available - self.period)

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


class StateClock:
    """Knows when the newest state came, and says when it has become too old.

    Ages go by the node's clock, which is the simulator's where there is one: a robot time that
    stands still lets no robot run away, and a simulator slower than real time is no fault. One that
    is paused says so again and again; where it has gone, wall time tells.

    Args:
        clock: of the node.
        limit: longest age of a state, s, > 0; see StateAge.
        name: of a state, for messages.

    Attributes:
        stamps: what the states' stamps tell.
        heard: when anything came from the robot, wall time, s.
    """

    def __init__(self, clock: NodeClock, limit: float, name: str) -> None:
        self.stamps = StateAge(limit, name)
        self.heard = time.monotonic()
        self._clock, self._limit, self._name = clock, limit, name
        self._came = 0.0  # s of the node's clock

    @property
    def began(self) -> bool:
        """Whether a first state has come."""
        return self.stamps.newest is not None

    def hear(self) -> None:
        """Something has come from the robot, good or not."""
        self.heard = time.monotonic()

    def take(self, stamp: float) -> None:
        """A new state has come, with this stamp, s."""
        now, simulated = self._clock.now(), self._clock.is_simulated
        # A simulator's clock that is behind its state is a message that is late.
        self._came = max(now, stamp) if simulated else now
        self.stamps.take(stamp, self._came, simulated)

    def age(self) -> float:
        """Time since the newest state came, s.

        A clock that was set back hides it: that counts as old. A simulator's clock that is behind
        is a message that is late; when it was set back, so were the stamps of its states.
        """
        age = self._clock.now() - self._came
        return max(age, 0.0) if self._clock.is_simulated else abs(age)

    def problem(self) -> str:
        """Why the newest state may not be answered now; empty when it may."""
        return self.stamps.problem or self._answered_late()

    def _answered_late(self) -> str:
        """Why an answer that was waited for comes too late; empty when it does not."""
        age = self.age()
        if age <= self._limit:
            return ""
        return (
            f"the answer to a {self._name} was awaited for {age:.3f} s, limit {self._limit:g} s; "
            "see who sends what it needs"
        )

    def silence(self) -> str:
        """Why the robot counts as silent, with its silence and the limit; empty if it does not."""
        age, limit = self.age(), f"{self._limit} s"
        unheard = time.monotonic() - self.heard
        if self._clock.is_simulated and unheard > LONGEST_PAUSE:
            age, limit = unheard, f"{LONGEST_PAUSE:g} s of wall time, whatever the simulator's is"
        elif age <= self._limit:
            return ""
        return f"no {self._name} for {age:.3f} s, limit {limit}"
