# SPDX-License-Identifier: Apache-2.0
"""Common code of rows with real processes: a driving graph, a fault, and its measured effect."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable

from faults.process_graph import PERIOD, ProcessGraph
from faults.process_record import Measured
from faults.row import WATCHDOG_TIME_TO_ZERO, Outcome, Promise, Row

ENGINES = ("ideal", "mujoco")
# Duration after which zero torque counts as permanent, s of wall time: longer than any timeout.
LASTING = 0.3
SAYING = 5.0  # s of wall time to wait for a log message; reminders are logged every 3 s
# Robot time by which a torque may be earlier than the rate limit allows, s. The base class limits
# the rate by the stamps of the states that it answers, and several states may arrive together. The
# watchdog tolerates three periods; one more, because a command is sent within its own period.
HURRY = 4.0 * PERIOD

Run = Callable[[str], Outcome]

_graphs: dict[str, ProcessGraph] = {}


def watchdog_row(group: str, name: str, run: Run) -> Row:
    """Make a row in which only the watchdog can send zero; its time limit differs."""
    return Row(group, name, Promise.ZERO, ENGINES, run, longest=WATCHDOG_TIME_TO_ZERO)


def shared(engine: str) -> ProcessGraph:
    """Return the graph of an engine; rows share it, so that it starts only once."""
    if engine in _graphs and _graphs[engine].spent:
        _graphs.pop(engine).close()
    if engine not in _graphs:
        _graphs[engine] = ProcessGraph(engine)
    return _graphs[engine]


def close() -> None:
    """End the shared graphs; the next row starts a new one."""
    while _graphs:
        _graphs.popitem()[1].close()


atexit.register(close)


class Attack:
    """One fault on a driving graph.

    Args:
        engine: Engine of the graph.
        driver: Node that drives the robot; empty: the robot stands.

    Attributes:
        graph: Graph under attack.
        driver: Process of the driving node, or of the watchdog without one.
        problems: Broken promises so far.
        details: Additional measurements.
        fault: Wall time of the fault, s.
    """

    def __init__(self, engine: str, driver: str = "backstep_controller") -> None:
        self.graph = shared(engine)
        self.graph.drive(driver)
        self.probe = self.graph.probe
        self.driver = self.graph.process(driver or "effort_watchdog")
        self.problems: list[str] = []
        self._places = {name: self.graph.process(name).place for name in self.graph.names}
        self.details: list[str] = []
        self.fault = self._begun = time.time()

    def begin(self) -> float:
        """Mark the start of the fault; return the wall time, s."""
        self.fault = time.time()
        return self.fault

    def expect(self, kept: object, otherwise: str) -> None:
        """Note a broken promise unless it is kept."""
        if not kept:
            self.problems.append(otherwise)

    def note(self, detail: str) -> None:
        """Note an additional measurement."""
        self.details.append(detail)

    def expect_words(self, node: str, words: str) -> None:
        """Expect these words in a node's log or diagnostics since the graph drove."""
        if not self.probe.until(lambda: words in self._said(node), SAYING):
            said = self._said(node).strip() or "nothing"
            self.problems.append(f"{node} does not say {words!r}; it says: {said}")

    def _said(self, node: str) -> str:
        log = self.graph.process(node).said(self._places.get(node, 0))
        diagnosed = self.probe.diagnosed
        texts = {text for wall, name, text in diagnosed if wall > self._begun and node in name}
        return "\n".join([log, *texts])

    def measure(self, lasting: float = LASTING) -> Measured:
        """Wait until zero has lasted, or should have; return the effect of the fault."""
        self.probe.until(self.is_zero, 0.5)
        return self.graph.probe.record.measure(self.fault, self.probe.hears_for(lasting))

    def is_zero(self) -> bool:
        """Whether the newest command to the wheels is zero and later than the fault."""
        record = self.probe.record
        return bool(record.sent) and record.sent[-1] > self.fault and not any(record.torques[-1])

    def expect_gentle(self, since: float) -> None:
        """Expect the robot to drive again, with torque from zero on and within the rate limit.

        Args:
            since: Wall time at which the torque was zero, s.
        """
        graph = self.graph
        driven, how = graph.regain()
        self.note(how)
        self.expect(driven, f"the robot is not driven again:\n{graph.said()}")
        hurry = self.probe.record.hurry(graph.rate, since, time.time())
        self.expect(
            hurry <= HURRY,
            f"torque changed {1e3 * hurry:.1f} ms sooner than {graph.rate:g} N m/s allow; "
            f"{1e3 * HURRY:g} ms are for messages that come together",
        )

    def outcome(self, measured: Measured, has_zero: bool = True) -> Outcome:
        """Return the outcome of the row."""
        limit = self.graph.limit
        if self.probe.odd:
            self.problems.append(f"the wheels were sent {self.probe.odd[-1]}")
            self.probe.odd.clear()
        return Outcome(
            measured.time_to_zero if has_zero else None,
            measured.worst_torque,
            limit,
            tuple(self.problems),
            "; ".join(self.details),
        )
