# SPDX-License-Identifier: Apache-2.0
"""What the suite cannot promise, measured: not rows of the table, as nobody keeps these."""

from __future__ import annotations

import signal

from faults.process_attack import LASTING, Attack
from faults.process_group import PATIENCE
from faults.process_record import Measured, largest


def watchdog_killed(engine: str) -> tuple[Measured, float]:
    """The watchdog dies by kill -9: the wheels keep the last torque until it is started again.

    Nobody is left who may send to the wheels. A driver that lets old commands go is the only help;
    ros2_control's forward controller does not.

    Returns:
        What the wheels got in the LASTING s after the kill, and the largest torque that acts once a
        watchdog that starts then has spoken, as a share of what the rate limit allows from zero on
        in two periods. As the joint states tell it: discovery may keep its first command from us.

    Raises:
        RuntimeError: the torque stays as it was.
    """
    attack = Attack(engine)
    graph, process = attack.graph, attack.graph.process("effort_watchdog")
    fault = attack.begin()
    process.signal(signal.SIGKILL)
    graph.spent = True
    alone = attack.probe.record.measure(fault, attack.probe.hears_for(LASTING))
    efforts = attack.probe.record.efforts
    held = efforts[-1]
    graph.start("effort_watchdog")
    if not attack.probe.until(lambda: efforts[-1] != held, PATIENCE):
        raise RuntimeError(f"no command within {PATIENCE:g} s:\n{graph.said()}")
    later = len(efforts) - next(n for n, effort in enumerate(reversed(efforts)) if effort == held)
    return alone, largest([efforts[later]]) / (2.0 * graph.rate * attack.probe.record.period)
