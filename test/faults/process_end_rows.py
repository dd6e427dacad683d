# SPDX-License-Identifier: Apache-2.0
"""Rows in which a commanding process ends, hangs or restarts."""

from __future__ import annotations

import signal
import time

from faults.process_attack import ENGINES, Attack, Run, watchdog_row
from faults.process_failing_law import FAILURE
from faults.row import Outcome, Promise, Row

GROUP = "Ends and restarts"
LEAVING = 3.0  # s of wall time for a node to end after a signal
HANGING = 0.6  # s of wall time for which a process hangs: longer than any timeout


def ended_by(number: signal.Signals, node: str = "backstep_controller", status: int = 0) -> Run:
    """A node is asked to end, and sends zero before it ends."""

    def run(engine: str) -> Outcome:
        attack = Attack(engine)
        process = attack.graph.process(node)
        fault = attack.begin()
        process.signal(number)
        attack.expect(
            process.wait(LEAVING), f"{node} has not ended {LEAVING:g} s after {number.name}"
        )
        attack.note(f"ended after {1e3 * (time.time() - fault):.0f} ms")
        attack.expect(
            process.status == status, f"{node} ended with status {process.status}, not {status}"
        )
        return attack.outcome(attack.measure())

    return run


def killed(driver: str) -> Run:
    """A commanding node is killed with SIGKILL; the watchdog sends zero in its place."""

    def run(engine: str) -> Outcome:
        attack = Attack(engine, driver)
        attack.begin()
        attack.driver.signal(signal.SIGKILL)
        attack.graph.spent = True
        measured = attack.measure()
        attack.expect_words("effort_watchdog", "no command")
        return attack.outcome(measured)

    return run


def hangs(engine: str) -> Outcome:
    """A controller hangs, and later continues with joint states that have become old."""
    attack = Attack(engine)
    attack.begin()
    attack.driver.signal(signal.SIGSTOP)
    measured = attack.measure(HANGING)
    awake = time.time()
    attack.driver.signal(signal.SIGCONT)
    attack.expect_gentle(awake)
    return attack.outcome(measured)


def law_raises(engine: str) -> Outcome:
    """The law raises an exception: zero, and status 1."""
    attack = Attack(engine, "failing_controller")
    attack.begin()
    attack.driver.signal(signal.SIGUSR1)
    attack.expect(attack.driver.wait(LEAVING), "the controller has not ended")
    attack.expect(attack.driver.status == 1, f"status {attack.driver.status}, not 1")
    measured = attack.measure()
    attack.expect_words("failing_controller", FAILURE)
    return attack.outcome(measured)


def restarted(engine: str) -> Outcome:
    """A restarted controller begins at zero, within the rate limit."""
    attack = Attack(engine)
    fault = attack.begin()
    attack.driver.signal(signal.SIGTERM)
    attack.expect(attack.driver.wait(LEAVING), "the controller has not ended")
    attack.measure(0.0)
    attack.graph.start("backstep_controller")
    zero = time.time()
    attack.expect_gentle(zero)
    attack.note(f"driven again after {time.time() - fault:.1f} s")
    return attack.outcome(attack.probe.record.measure(fault, time.time()), has_zero=False)


def _row(name: str, run: Run, promise: Promise = Promise.ZERO) -> Row:
    return Row(GROUP, name, promise, ENGINES, run)


ROWS = (
    _row("SIGINT of the controller", ended_by(signal.SIGINT)),
    _row("SIGTERM of the controller", ended_by(signal.SIGTERM)),
    _row("SIGHUP of the controller", ended_by(signal.SIGHUP)),
    _row("exception inside the law", law_raises),
    watchdog_row(GROUP, "kill -9 of the controller", killed("backstep_controller")),
    watchdog_row(GROUP, "kill -9 of ident in mid-excitation", killed("ident")),
    watchdog_row(GROUP, "the controller hangs, and goes on", hangs),
    _row("the controller is restarted", restarted, Promise.DRIVES_ON),
    _row("SIGTERM of the watchdog", ended_by(signal.SIGTERM, "effort_watchdog")),
)
