"""What the suite cannot promise, measured: not rows of the table, as nobody keeps these."""

from __future__ import annotations

import signal

from diffbot_bringup.faults.process_attack import LASTING, Attack
from diffbot_bringup.faults.process_record import Measured


def watchdog_killed(engine: str) -> tuple[Measured, Measured]:
    """The watchdog dies by kill -9: the wheels keep the last torque until it is started again.

    Nobody is left who may send to the wheels. A driver that lets old commands go is the only help;
    ros2_control's forward controller does not.

    Returns:
        What the wheels got in the LASTING s after the kill, and from the kill until a watchdog that
        was started at once has been there for as long.
    """
    attack = Attack(engine)
    graph, process = attack.graph, attack.graph.process("effort_watchdog")
    fault = attack.begin()
    process.signal(signal.SIGKILL)
    graph.spent = True
    alone = attack.probe.record.measure(fault, attack.probe.hears_for(LASTING))
    graph.start("effort_watchdog")
    attack.probe.until(attack.is_zero, 5.0)
    return alone, attack.probe.record.measure(fault, attack.probe.hears_for(LASTING))
