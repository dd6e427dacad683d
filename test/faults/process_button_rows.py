# SPDX-License-Identifier: Apache-2.0
"""Rows in which people stop the robot, and rows with a second commanding node."""

from __future__ import annotations

import time

from faults.process_attack import ENGINES, LASTING, Attack, Run
from faults.process_nodes import CONTROLLERS, WHEELS
from faults.process_record import largest
from faults.row import Outcome, Promise, Row

ENABLE = "backstep_controller/enable"
FOREIGN = (0.5, 0.5)  # N m; very different from the controller's torque in its circle


def emergency_stop(engine: str) -> Outcome:
    """Pressed: zero, and not enableable; released: still zero; enabled: continues from zero."""
    attack = Attack(engine)
    probe = attack.probe
    attack.fault = probe.press(True)
    attack.measure()
    enabled, why = probe.ask(ENABLE, True)
    attack.expect(not enabled, "it can be enabled while the emergency stop is held")
    attack.expect("emergency stop" in why, f"the refusal does not say why: {why!r}")
    probe.press(False)
    measured = probe.record.measure(attack.fault, probe.hears_for(LASTING))
    _enable(attack)
    return attack.outcome(measured)


def disabled(engine: str) -> Outcome:
    """`~/enable` false: zero until true."""
    attack = Attack(engine)
    stopped, why = attack.probe.ask(ENABLE, False)
    attack.fault = attack.probe.asked
    attack.expect(stopped, f"it cannot be stopped: {why}")
    measured = attack.measure()
    _enable(attack)
    return attack.outcome(measured)


def _enable(attack: Attack) -> None:
    """Enable again after the others have left; the torque must begin at zero."""
    since, probe = time.time(), attack.probe
    probe.until(lambda: probe.commanders(CONTROLLERS) == probe.commanders(WHEELS) == 1, 10.0)
    enabled, why = probe.ask(ENABLE, True)
    attack.expect(enabled, f"it cannot be enabled again: {why}")
    attack.expect_gentle(since)


def second_controller(engine: str) -> Outcome:
    """A second controller does not start; the first one stops, because another node may command."""
    attack = Attack(engine)
    probe, graph = attack.probe, attack.graph
    heard = probe.listen(CONTROLLERS)
    first = set(heard)
    attack.begin()
    second = graph.start("second_controller")
    attack.expect_words("backstep_controller", "other node")
    noticed = time.time()
    attack.expect(probe.until(attack.is_zero, LASTING), "the first one drives on")
    probe.hears_for(LASTING)
    attack.expect(attack.is_zero(), "the first one goes on")
    attack.expect_words("second_controller", "other node")
    attack.expect(second.running, f"the second one ended with status {second.status}")
    torques = [torque for sender, sent in heard.items() if sender not in first for torque in sent]
    graph.leave("second_controller")
    _enable(attack)
    attack.note(f"the first one stops {noticed - attack.fault:.1f} s after the second's start")
    return Outcome(
        None, largest(torques), graph.limit, tuple(attack.problems), "; ".join(attack.details)
    )


def foreign(topic: str, torque: tuple[float, float] | None) -> Run:
    """Another publisher appears on a command topic, and commands, or is only present."""

    def run(engine: str) -> Outcome:
        attack = Attack(engine)
        probe = attack.probe
        probe.appear(topic)
        attack.begin()
        if torque is not None:
            probe.answer = lambda stamp: probe.say(topic, torque)
        measured = attack.measure()
        probe.vanish()
        _enable(attack)
        return attack.outcome(measured)

    return run


STOP, FIGHT = "Emergency stop", "Two controllers"
ROWS = (
    Row(STOP, "pressed, released and enabled over DDS", Promise.ZERO, ENGINES, emergency_stop),
    Row(STOP, "~/enable false and true over DDS", Promise.ZERO, ENGINES, disabled),
    Row(FIGHT, "a second controller in mid-run", Promise.REFUSES, ENGINES, second_controller),
    Row(
        FIGHT, "a foreign node commands, too", Promise.ZERO, ENGINES, foreign(CONTROLLERS, FOREIGN)
    ),
    Row(FIGHT, "a foreign node on the wheels' topic", Promise.ZERO, ENGINES, foreign(WHEELS, None)),
)
