# SPDX-License-Identifier: Apache-2.0
"""People and programs that stop a robot: emergency stop, ~/enable, other commanding nodes."""

from __future__ import annotations

from dataclasses import replace

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from faults.row import Outcome, Promise
from faults.rows.making import EVERYWHERE, INSTANT, rows
from faults.scene import (
    BACKSTEP,
    DRIVERS,
    FAULT,
    IDENT,
    LINEARIZING,
    VELOCITY_DRIVERS,
    Scene,
    Subject,
)

BUTTON = "Emergency stop"
RIVALS = "Two controllers"
TRIAL = "Trial gains"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOPIC = "emergency_stop"
ALL = (*DRIVERS, *VELOCITY_DRIVERS)
BOTH = (IDENT, BACKSTEP)


def enable(scene: Scene, on: bool) -> bool:
    """Call `~/enable`; return whether it succeeded."""
    return scene.bus.call(f"{scene.subject.name}/enable", SetBool.Request(data=on)).success


def _with(outcome: Outcome, scene: Scene, results: list[str]) -> Outcome:
    after = scene.on(FAULT)
    problems = (*outcome.problems, *results, *after.problems)
    return replace(after, time_to_zero=outcome.time_to_zero, problems=problems)


def _pressed(qos: QoSProfile | int):
    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine) as scene:
            results = []
            scene.advance(FAULT)
            scene.bus.publish(TOPIC, Bool(data=True), qos)
            scene.advance(FAULT + 0.2)
            if enable(scene, True):
                results.append("enabled while the emergency stop is held")
            scene.advance(FAULT + 0.3)
            scene.bus.publish(TOPIC, Bool(data=False), qos)
            scene.advance(FAULT + 0.5)
            outcome = scene.zero(FAULT, FAULT + 0.5)
            if not enable(scene, True):
                results.append("not enabled after the release")
            scene.advance(FAULT + 1.5)
            return _with(outcome, scene, results)

    return run


def _pressed_before(subject: Subject, engine: str) -> Outcome:
    with _Early(subject, engine) as scene:
        scene.advance(FAULT)
        return scene.refused("emergency stop", status=None)


class _Early(Scene):
    """The emergency stop is pressed, and latched, before the node starts."""

    def _build(self) -> None:
        self.bus.publish(TOPIC, Bool(data=True), LATCHED)
        super()._build()


def _unheard(subject: Subject, engine: str) -> Outcome:
    """The emergency stop's topic stops, although a message is required every 0.05 s."""
    with Scene(subject, engine, emergency_stop_timeout=0.05) as scene:
        while scene.bus.time < FAULT - INSTANT:
            scene.bus.publish(TOPIC, Bool(data=False))
            scene.advance(scene.bus.time + 0.02)
        since = scene.bus.time - 0.02
        scene.advance(FAULT + 0.3)
        return scene.zero(since, FAULT + 0.3)


def _disabled(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine) as scene:
        results = []
        scene.advance(FAULT)
        if not enable(scene, False):
            results.append("~/enable with false was refused")
        scene.advance(FAULT + 0.3)
        outcome = scene.zero(FAULT, FAULT + 0.3)
        if not enable(scene, True):
            results.append("not enabled again")
        scene.advance(FAULT + 1.3)
        return _with(outcome, scene, results)


def _not_enabled(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine, enabled=False) as scene:
        scene.advance(FAULT)
        return scene.refused("disabled", status=None)


def _rival(subject: Subject, engine: str) -> Outcome:
    """Another publisher of commands appears in mid-run, and leaves."""
    with Scene(subject, engine) as scene:
        results = []
        scene.advance(FAULT)
        taken = "cmd_vel" if subject.takes_velocity else "effort_controller/commands"
        kind = next(iter(scene.bus.publishers(f"/{taken}"))).msg_type
        rival = scene.bus.publisher(kind, taken)
        scene.advance(FAULT + 0.2)
        if enable(scene, True):
            results.append("enabled while another node commands the robot")
        rival.destroy()
        scene.advance(FAULT + 0.4)
        outcome = scene.zero(FAULT, FAULT + 0.4)
        if not enable(scene, True):
            results.append("not enabled after the other node has left")
        scene.advance(FAULT + 1.4)
        return _with(outcome, scene, results)


def _second(subject: Subject, engine: str) -> Outcome:
    """A second controller of the suite starts on the same robot: both command zero."""
    other = BACKSTEP if subject is not BACKSTEP else LINEARIZING
    with Scene(subject, engine) as scene:
        scene.advance(FAULT)
        scene.add(other.kind())
        scene.advance(FAULT + 0.5)
        return scene.zero(FAULT, FAULT + 0.5)


def _aborted(interrupted: bool):
    """A test of manual gains is aborted in the middle of a step."""

    def run(subject: Subject, engine: str) -> Outcome:
        with Scene(subject, engine, speed=2.0, settling_time=0.02, damping=0.5) as scene:
            scene.advance(FAULT + 0.003)
            since = scene.bus.time
            if interrupted:
                scene.bus.interrupt(scene.member)
            else:
                enable(scene, False)
            scene.advance(since + 0.3)
            return scene.zero(since, since + 0.3)

    return run


def _law_fails(subject: Subject, engine: str) -> Outcome:
    def fail(sample: object) -> None:
        raise RuntimeError("a fault in the law")

    with Scene(subject, engine) as scene:
        scene.advance(FAULT - 0.005)
        scene.member.node.on_sample = fail
        scene.advance(FAULT + 0.3)
        outcome = scene.zero(FAULT - INSTANT, FAULT + 0.3, "RuntimeError", "a fault in the law")
        if scene.member.status == 1:
            return outcome
        text = f"status {scene.member.status} after an exception, must be 1"
        return replace(outcome, problems=(*outcome.problems, text))


ROWS = (
    *rows(BUTTON, "pressed, held, released", Promise.ZERO, ALL, _pressed(10), EVERYWHERE),
    *rows(BUTTON, "pressed, held, released, latched", Promise.ZERO, BOTH, _pressed(LATCHED)),
    *rows(BUTTON, "pressed before the start", Promise.REFUSES, BOTH, _pressed_before),
    *rows(BUTTON, "its topic falls silent", Promise.ZERO, BOTH, _unheard),
    *rows(BUTTON, "~/enable false, then true", Promise.ZERO, ALL, _disabled),
    *rows(BUTTON, "enabled = false at the start", Promise.REFUSES, ALL, _not_enabled),
    *rows(RIVALS, "another publisher of commands", Promise.ZERO, ALL, _rival),
    *rows(RIVALS, "a second controller is started", Promise.ZERO, BOTH, _second),
    *rows(TRIAL, "stopped by ~/enable in mid-step", Promise.ZERO, (LINEARIZING,), _aborted(False)),
    *rows(TRIAL, "interrupted in mid-step", Promise.ZERO, (LINEARIZING,), _aborted(True)),
    *rows("Ends and restarts", "exception inside the law", Promise.ZERO, ALL, _law_fails),
)
