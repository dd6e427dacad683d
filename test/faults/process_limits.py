# SPDX-License-Identifier: Apache-2.0
"""Measurements of what the suite cannot promise; these are not rows of the table."""

from __future__ import annotations

import signal

from faults.process_attack import LASTING, Attack
from faults.process_group import PATIENCE
from faults.process_record import Measured, largest


def watchdog_killed(engine: str) -> tuple[Measured, float]:
    """The watchdog is killed with kill -9: the wheels keep the last torque until it restarts.

    No node is left that may command the wheels. Only a driver that drops old commands helps;
    ros2_control's forward controller does not drop them.

    Returns:
        The commands to the wheels in the LASTING s after the kill, and the largest torque that acts
        after the first command of a newly started watchdog, relative to what the rate limit allows
        from zero in two periods. Taken from the joint states, because discovery may hide the first
        command from the probe.

    Raises:
        RuntimeError: The torque does not change.
    """
    attack = Attack(engine)
    graph, process = attack.graph, attack.graph.process("effort_watchdog")
    fault = attack.begin()
    process.signal(signal.SIGKILL)
    graph.spent = True
    alone = attack.probe.record.measure(fault, attack.probe.hears_for(LASTING))
    efforts = attack.probe.record.efforts
    kept = efforts[-1]
    graph.start("effort_watchdog")
    if not attack.probe.until(lambda: efforts[-1] != kept, PATIENCE):
        raise RuntimeError(f"no command within {PATIENCE:g} s:\n{graph.said()}")
    later = len(efforts) - next(n for n, effort in enumerate(reversed(efforts)) if effort == kept)
    return alone, largest([efforts[later]]) / (2.0 * graph.rate * attack.probe.record.period)
