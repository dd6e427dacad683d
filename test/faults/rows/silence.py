# SPDX-License-Identifier: Apache-2.0
"""Joint states, references and estimates that stop, and messages that are lost or late."""

from __future__ import annotations

from dataclasses import replace

from diffbot_sim.faults.fault import Fault
from faults.robots import PERIOD
from faults.row import Outcome, Promise
from faults.rows.making import EVERYWHERE, INSTANT, borne, lasting, rows, worst_of
from faults.scene import (
    BACKSTEP,
    DRIVERS,
    FAULT,
    IDENT,
    LINEARIZING,
    POSE,
    TRACKING,
    VELOCITY_DRIVERS,
    Scene,
    Subject,
)

GROUP = "Silence"
LOSS = "Loss and delay"
FOLLOWERS = (BACKSTEP, POSE, LINEARIZING, TRACKING)
# A node starts at any time: phases of its timeout checks relative to the states, s.
PHASES = (0.0, 0.0021, 0.0047, 0.0083, 0.0119)
SECONDS = 0.3  # duration of the faults, s
AHEAD, FAR_AHEAD = 0.1, 0.5  # lead of the references' clock, s: tolerated; too large


def _states_stop(subject: Subject, engine: str) -> Outcome:
    cases = []
    for phase in PHASES if engine == "ideal" else PHASES[:1]:
        # The fault begins with the last received state.
        start = FAULT + INSTANT
        fault = Fault(subject.states, "off", start, SECONDS)
        with Scene(subject, engine, faults=(fault,), phase=phase) as scene:
            scene.advance(FAULT + SECONDS)
            outcome = scene.zero(start, FAULT + SECONDS)
            if phase == 0.0:
                scene.advance(FAULT + SECONDS + 0.4)
                cases.append(("going on", _goes_on(scene, outcome)))
            cases.append((f"watch {1e3 * phase:g} ms later", outcome))
    return worst_of(cases)


def _goes_on(scene: Scene, outcome: Outcome) -> Outcome:
    return replace(scene.on(FAULT), time_to_zero=outcome.time_to_zero)


def _driver_leaves(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine) as scene:
        scene.advance(FAULT + INSTANT)
        scene.robot.driver = lambda message: ()
        scene.robot.states.destroy()
        scene.advance(FAULT + SECONDS)
        return scene.zero(FAULT + INSTANT, FAULT + SECONDS)


def _references_stop(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine) as scene:
        scene.advance(FAULT + 0.5 * PERIOD + INSTANT)  # a reference has just arrived
        scene.source.stop()
        since = scene.bus.time
        scene.advance(FAULT + SECONDS)
        return scene.zero(since, FAULT + SECONDS, "reference")


def _early(subject: Subject, ahead: float) -> Fault:
    """Return a fault: the clock of the references' publisher is ahead by a time, s."""
    return Fault(subject.references[0], "wrong", fields=("header.stamp",), offset=ahead)


def _early_references_stop(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine, faults=(_early(subject, AHEAD),)) as scene:
        scene.advance(FAULT + 0.5 * PERIOD + INSTANT)
        scene.source.stop()
        since = scene.bus.time
        scene.advance(FAULT + SECONDS)
        return scene.zero(since, FAULT + SECONDS, "no reference received for")


def _far_ahead(subject: Subject, engine: str) -> Outcome:
    with Scene(subject, engine, faults=(_early(subject, FAR_AHEAD),)) as scene:
        scene.advance(FAULT)
        scene.source.stop()
        scene.advance(FAULT + 2.0 * FAR_AHEAD)
        return scene.refused("the newest reference is", "ahead of", status=None)


def _late(delay: float):
    def run(subject: Subject, engine: str) -> Outcome:
        return lasting(
            subject, engine, SECONDS, Fault(subject.states, "delayed", FAULT, delay=delay)
        )

    return run


def _borne(kind: str, seconds: float = 0.6, after: float = 0.5, **settings):
    def run(subject: Subject, engine: str) -> Outcome:
        fault = Fault(subject.states, kind, FAULT, seconds, **settings)
        return borne(subject, engine, seconds, after, fault)

    return run


BOTH = (IDENT, BACKSTEP)
ROWS = (
    *rows(
        GROUP, "states stop", Promise.ZERO, (*DRIVERS, *VELOCITY_DRIVERS), _states_stop, EVERYWHERE
    ),
    *rows(GROUP, "the driver leaves", Promise.ZERO, BOTH, _driver_leaves),
    *rows(GROUP, "references stop", Promise.ZERO, FOLLOWERS, _references_stop),
    *rows(
        GROUP,
        "references ahead of time, then they stop",
        Promise.ZERO,
        FOLLOWERS,
        _early_references_stop,
    ),
    *rows(
        GROUP,
        "references far ahead of time, then they stop",
        Promise.REFUSES,
        FOLLOWERS,
        _far_ahead,
        ("ideal",),
    ),
    *rows(
        LOSS,
        "10 % of the states lost",
        Promise.DRIVES_ON,
        (*DRIVERS, *VELOCITY_DRIVERS),
        _borne("intermittent", probability=0.1),
    ),
    *rows(
        LOSS,
        "50 % of the states lost",
        Promise.DRIVES_ON,
        (*DRIVERS, *VELOCITY_DRIVERS),
        _borne("intermittent", probability=0.5),
    ),
    *rows(
        LOSS,
        "bursts of 5 states lost, 30 %",
        Promise.DRIVES_ON,
        DRIVERS,
        _borne("intermittent", probability=0.3, burst=5),
    ),
    *rows(
        LOSS,
        "states 20 ms late",
        Promise.DRIVES_ON,
        DRIVERS,
        _borne("delayed", delay=0.02),
    ),
    *rows(
        LOSS,
        "states up to 40 ms late, at random",
        Promise.DRIVES_ON,
        BOTH,
        _borne("delayed", jitter=0.04),
    ),
    *rows(LOSS, "states 100 ms late", Promise.ZERO, BOTH, _late(0.1)),
    *rows(LOSS, "states 200 ms late", Promise.ZERO, DRIVERS, _late(0.2)),
)
