"""What the stamps of a robot's states tell: the period between two, and how old the newest is."""

from __future__ import annotations

# Clocks that differ by less at the first state are one clock, or synchronised ones, s.
SAME_CLOCK = 1.0


class StateAge:
    """Says of each stamp whether the state may be answered.

    Args:
        limit: longest age of a state when it comes, and longest period between two, s, > 0.
        name: of a state, for messages.

    Attributes:
        newest: the newest stamp, s; None before the first.
        period: between the last two stamps, s; 0 at the first, and where `problem` is not empty.
        problem: why the newest state may not be answered; empty otherwise.
        same_clock: whether stamps and the node's clock agreed at the first state; None before it.
            The age is not known where they did not.
    """

    def __init__(self, limit: float, name: str = "state") -> None:
        self._limit = limit
        self._name = name
        self.newest: float | None = None
        self.period = 0.0
        self.problem = ""
        self.same_clock: bool | None = None

    def take(self, stamp: float, now: float) -> None:
        """Take the stamp of a state, s, that came when the node's clock showed `now`, s."""
        last, self.newest = self.newest, stamp
        if self.same_clock is None:
            self.same_clock = abs(now - stamp) < SAME_CLOCK
        step = 0.0 if last is None else stamp - last
        self.problem = self._step_problem(step, last) or self._age_problem(now - stamp)
        self.period = 0.0 if self.problem else step

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

    def _age_problem(self, age: float) -> str:
        if self.same_clock and age > self._limit:
            return (
                f"a {self._name} came {age:.3f} s after its stamp, limit {self._limit:g} s; check "
                "the network and the load of the computers, and that their clocks agree"
            )
        return ""
