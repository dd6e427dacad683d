# SPDX-License-Identifier: Apache-2.0
"""Rows in which the sources of a controller's inputs end or restart."""

from __future__ import annotations

import signal
import time

from faults.process_attack import ENGINES, Attack, watchdog_row
from faults.process_record import ZERO
from faults.row import Outcome, Promise, Row

RESTART = 10.0  # s of wall time for a simulator to start


def reference_dies(engine: str) -> Outcome:
    """The publisher of references is killed in mid-run."""
    attack = Attack(engine)
    attack.begin()
    attack.graph.process("trajectory_publisher").signal(signal.SIGKILL)
    measured = attack.measure()
    attack.expect_words("backstep_controller", "the newest reference is")
    return attack.outcome(measured)


def robot_dies(engine: str) -> Outcome:
    """The simulator is killed in mid-run: zero, with a logged reason, and no node crashes."""
    attack = Attack(engine)
    attack.begin()
    attack.graph.process("simulator").signal(signal.SIGKILL)
    measured = attack.measure()
    attack.expect_words("backstep_controller", "joint_states")
    for name in ("backstep_controller", "effort_watchdog", "trajectory_publisher"):
        process = attack.graph.process(name)
        attack.expect(process.running, f"{name} ended with status {process.status}")
    attack.note("without a robot's time: wall time")
    return attack.outcome(measured)


def robot_restarts(engine: str) -> Outcome:
    """The simulator is restarted, so that time jumps back: zero, then the robot is driven."""
    attack = Attack(engine)
    record, graph = attack.probe.record, attack.graph
    graph.end("simulator")
    attack.measure()
    reported, begun = len(record.reported), time.time()
    graph.start("simulator")
    attack.expect(
        attack.probe.until(lambda: len(record.reported) > reported + 1, RESTART),
        "no joint states again",
    )
    attack.fault = record.reported[reported] if len(record.reported) > reported else time.time()
    attack.expect_gentle(attack.fault)
    # The controller may receive from the new simulator, and answer, before the probe does.
    commands = record.between(begun, time.time())
    attack.expect(commands[:1] == [ZERO], f"begins with {commands[:1]} N m instead of zero")
    attack.note(f"driven again after {time.time() - attack.fault:.1f} s")
    return attack.outcome(record.measure(attack.fault, time.time()), has_zero=False)


ROWS = (
    Row("Silence", "kill -9 of trajectory_publisher", Promise.ZERO, ENGINES, reference_dies),
    watchdog_row("Silence", "kill -9 of the simulator", robot_dies),
    Row("Time", "the simulator is restarted", Promise.DRIVES_ON, ENGINES, robot_restarts),
)
