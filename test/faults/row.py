# SPDX-License-Identifier: Apache-2.0
"""One row of the fault table: a fault, its promise, and whether the promise was kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

LONGEST_TIME_TO_ZERO = 0.1
"""From a fault to zero on the wheels, s of robot time."""
WATCHDOG_TIME_TO_ZERO = 0.15
"""The same where it is the watchdog that sends the zero, as the controller is dead."""
WIRING_TIME_TO_ZERO = 0.5
"""The same for torque on the wrong wheel, or the wrong way round: it first has to move the robot
further than friction, a slope, a delay or a wrong mass can explain."""
ROUNDING = 1e-9  # relative rounding error of a time or a torque


class Promise(Enum):
    """Promise for a fault; the value is the text in the table."""

    ZERO = "zero torque"
    """The wheels get zero in time, see Row.longest."""
    DRIVES_ON = "drives on"
    """The fault is not dangerous: the robot goes on, inside all limits."""
    REFUSES = "does not start"
    """No torque ever; the message names what is wrong."""


@dataclass(frozen=True)
class Outcome:
    """Effect of a fault.

    Attributes:
        time_to_zero: Robot time from the fault until the robot holds zero, s; the longest of
            several faults in one row. None: not applicable, or zero never arrived.
        worst_torque: Largest magnitude of a wheel torque after the fault began, N m; NaN if one was
            not finite.
        limit: Largest torque that may be commanded, N m.
        problems: Other broken promises, a sentence each; empty: none.
        detail: Additional measurements, for the table.
        unit: Unit of torque and limit: N m; "of limit" (shares) for nodes that command velocities.
    """

    time_to_zero: float | None
    worst_torque: float
    limit: float
    problems: tuple[str, ...] = ()
    detail: str = ""
    unit: str = "N m"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a row on one engine.

    Attributes:
        row: The row.
        engine: Engine that it was run on.
        outcome: Effect of the fault; None if the row itself failed to run.
        problems: Reasons for failure, a sentence each; empty: it passes.
    """

    row: Row
    engine: str
    outcome: Outcome | None
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the promise was kept."""
        return not self.problems


@dataclass(frozen=True)
class Row:
    """A fault and its promise.

    Attributes:
        group: Kind of fault.
        name: The fault and the affected node; unique within the table.
        promise: The promise.
        engines: Physics engines that it is run with.
        run: Creates the fault on an engine and returns its effect.
        longest: Largest time to zero, s, for a row that promises it.
    """

    group: str
    name: str
    promise: Promise
    engines: tuple[str, ...]
    run: Callable[[str], Outcome]
    longest: float = LONGEST_TIME_TO_ZERO

    def judged(self, engine: str) -> Verdict:
        """Run the row on an engine and judge it; a row that raises fails."""
        try:
            outcome = self.run(engine)
        except Exception as error:
            return Verdict(
                self, engine, None, (f"the row ended by {type(error).__name__}: {error}",)
            )
        return Verdict(self, engine, outcome, problems(self.promise, outcome, self.longest))


def problems(
    promise: Promise, outcome: Outcome, longest: float = LONGEST_TIME_TO_ZERO
) -> tuple[str, ...]:
    """Return why an outcome breaks a promise, a sentence each; all verdicts are made here.

    Args:
        promise: The promise.
        outcome: Effect of the fault.
        longest: Largest time to zero, s.
    """
    result = list(outcome.problems)
    worst, limit = outcome.worst_torque, outcome.limit
    if not (math.isfinite(limit) and limit > 0.0):
        result.append(
            f"limit = {limit} {outcome.unit}: must be finite and > 0; the row measures nothing"
        )
    if not worst <= limit * (1.0 + ROUNDING):
        result.append(f"worst torque {worst:.4g} {outcome.unit}, limit {limit:.4g} {outcome.unit}")
    if promise is Promise.ZERO:
        result += _late(outcome.time_to_zero, longest)
    if promise is Promise.REFUSES and worst != 0.0:
        result.append(f"torque of {worst:.4g} {outcome.unit}, though nothing may be commanded")
    return tuple(result)


def _late(time_to_zero: float | None, longest: float) -> list[str]:
    if time_to_zero is None:
        return ["the wheels never got zero"]
    if not 0.0 <= time_to_zero <= longest * (1.0 + ROUNDING):
        milliseconds, limit = 1e3 * time_to_zero, 1e3 * longest
        return [f"zero after {milliseconds:.4g} ms, limit {limit:.4g} ms"]
    return []
