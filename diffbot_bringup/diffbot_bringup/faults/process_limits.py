"""What the suite cannot promise, measured: not rows of the table, as nobody keeps these."""

from __future__ import annotations

import signal

from diffbot_bringup.faults.process_attack import LASTING, Attack
from diffbot_bringup.faults.process_group import PATIENCE
from diffbot_bringup.faults.process_record import Measured, Pair


def watchdog_killed(engine: str) -> tuple[Measured, Pair]:
    """The watchdog dies by kill -9: the wheels keep the last torque until it is started again.

    Nobody is left who may send to the wheels. A driver that lets old commands go is the only help;
    ros2_control's forward controller does not.

    Returns:
        What the wheels got in the LASTING s after the kill, and what a watchdog that starts then
        sends first, N m. Later it passes on what the controller wants, from zero on.

    Raises:
        RuntimeError: it sends nothing.
    """
    attack = Attack(engine)
    graph, process = attack.graph, attack.graph.process("effort_watchdog")
    fault = attack.begin()
    process.signal(signal.SIGKILL)
    graph.spent = True
    alone = attack.probe.record.measure(fault, attack.probe.hears_for(LASTING))
    heard = len(attack.probe.record.sent)
    graph.start("effort_watchdog")
    if not attack.probe.until(lambda: len(attack.probe.record.sent) > heard, PATIENCE):
        raise RuntimeError(f"no command within {PATIENCE:g} s:\n{graph.said()}")
    return alone, attack.probe.record.torques[heard]
