# SPDX-License-Identifier: Apache-2.0
"""Detects states of a robot that are too old to be answered, and that none arrives any more."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arc_odometry.joints import seldom
from diffbot_description.spoken import one
from diffbot_node.verdicts import GOOD, Level, Verdict, judged

if TYPE_CHECKING:
    from diffbot_node.robot_messages import NodeClock

# Clocks that differ by less at the first state count as synchronised, s.
SAME_CLOCK = 1.0
# Largest relative drift of clocks; small computers without a quartz drift by 2 %.
DRIFT = 0.03
# How much earlier than due a state may arrive, s.
JITTER = 0.03
# A simulator without any message for so long has gone, s of wall time; one without time is paused.
LONGEST_PAUSE = 3.0
# A later answer, s, follows a motion under an older torque, of which WheelWatch allows five steps.
LATE_ANSWER = 0.03


class StateAge:
    """Decides from its stamp whether a state may be answered, and how far commands may change.

    Too old is a state if the node's clock leads its stamp by more than the limit, where both agreed
    at the first state; in any case if this lead exceeds the smallest one so far by the limit.
    `limit`, s, > 0, is also the longest period between two states.

    Attributes:
        newest: The newest stamp, s; None before the first.
        period: Time between the last two stamps, s; 0 at the first state and with a `problem`;
            shorter for a burst of states, which must not change the command faster than its rate
            limit.
        problem: Why the newest state may not be answered; empty otherwise.
        same_clock: Whether stamps and the node's clock agreed at the first state.
        lateness: How much longer the newest state took than the fastest so far, s; 0 if simulated.
    """

    def __init__(self, limit: float, name: str = "state") -> None:
        self._limit = limit
        self._name, self._one = name, one(name)
        self.newest: float | None = None
        self.period = 0.0
        self.problem = ""
        self.same_clock: bool | None = None
        self.lateness = 0.0
        self._came = 0.0  # arrival of the newest state by the node's clock, s
        self._least = 0.0  # smallest lead of the node's clock over a stamp, s
        self._saved = JITTER  # unused time that a later early state may use, s

    def take(self, stamp: float, now: float, simulated: bool = False) -> None:
        """Process the stamp of a state, s, that arrived when the node's clock showed `now`, s.

        `simulated`: the clock stands still between its messages, so that only old states are seen.
        """
        last, self.newest = self.newest, stamp
        ahead = now - stamp
        if last is None:
            self.same_clock = abs(ahead) < SAME_CLOCK
            self._came, self._least = now, ahead
        elapsed, self._came = max(0.0, now - self._came), now
        step = 0.0 if last is None else stamp - last
        self.problem = self._step_problem(step, stamp - step)
        if self.problem:
            self._least = ahead  # a clock may have been set: earlier leads do not count
        self._least = min(self._least + DRIFT * elapsed, ahead)
        self.lateness = 0.0 if simulated else ahead - self._least
        self.problem = self.problem or self._age_problem(ahead, self.lateness)
        available = self._saved + elapsed
        self.period = 0.0 if self.problem else step if simulated else min(step, available)
        self._saved = min(JITTER, available - self.period)

    def _step_problem(self, step: float, last: float) -> str:
        if step < 0.0:
            return (
                f"the stamp of {self._one} is {-step:.3f} s before the last one: stamps must "
                "increase; check the driver's clock, and that only one driver runs"
            )
        if step > self._limit:
            return seldom(self._name, step, last, self._limit)
        return ""

    def _age_problem(self, age: float, behind: float) -> str:
        if self.same_clock and age > self._limit:
            return (
                f"{self._one} arrived {age:.3f} s after its stamp, limit {self._limit:g} s; "
                "check the network and the load of the computers, and that their clocks agree"
            )
        if behind > self._limit:
            return (
                f"{self._one} arrived {behind:.3f} s later after its stamp than others, limit "
                f"{self._limit:g} s; check the network and the load of the computers; in a "
                "simulation set use_sim_time"
            )
        return ""


class StateClock:
    """Records when the newest state arrived, and detects when it has become too old.

    Ages are by the node's clock: a simulator slower than real time is no fault. Wall time shows
    when a simulator has gone. `limit`, s, > 0: see StateAge; `heard`: wall time of the last
    message, s.
    """

    def __init__(self, clock: NodeClock, limit: float, name: str) -> None:
        self.stamps = StateAge(limit, name)
        self.heard = time.monotonic()
        self._clock, self._limit, self._name, self._one = clock, limit, name, one(name)
        self._came = 0.0  # time of the last state by the node's clock, s

    @property
    def began(self) -> bool:
        return self.stamps.newest is not None

    def hear(self) -> None:
        self.heard = time.monotonic()

    def take(self, stamp: float) -> None:
        """Process a new state with this stamp, s."""
        now, simulated = self._clock.now(), self._clock.is_simulated
        # A simulator's clock is behind its state when the clock's message is late.
        self._came = max(now, stamp) if simulated else now
        self.stamps.take(stamp, self._came, simulated)

    def age(self) -> float:
        """Return the time since the newest state arrived, s.

        After a clock was set back the state counts as old; a simulator's clock may be behind.
        """
        age = self._clock.now() - self._came
        return max(age, 0.0) if self._clock.is_simulated else abs(age)

    def problem(self) -> Verdict:
        return judged(Level.HOLD, self.stamps.problem or self._answered_late())

    def answer_is_late(self) -> bool:
        """Whether the answer to the newest state acts too late to tell its effect."""
        return self.stamps.lateness + self.age() > LATE_ANSWER

    def _answered_late(self) -> str:
        age = self.age()
        if age <= self._limit:
            return ""
        return (
            f"no answer to {self._one} within {age:.3f} s, limit {self._limit:g} s; "
            "check the node that sends its input"
        )

    def silence(self, lock_step: bool = False) -> Verdict:
        """Whether the robot counts as silent; in `lock_step` only the simulator's clock counts."""
        age, limit = self.age(), f"{self._limit} s"
        unheard = time.monotonic() - self.heard
        if self._clock.is_simulated and unheard > LONGEST_PAUSE and not lock_step:
            age, limit = unheard, f"{LONGEST_PAUSE:g} s of wall time, even if the simulator pauses"
        elif age <= self._limit:
            return GOOD
        return Verdict(Level.HOLD, f"no {self._name} for {age:.3f} s, limit {limit}")
