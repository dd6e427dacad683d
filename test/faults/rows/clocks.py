# SPDX-License-Identifier: Apache-2.0
"""Stamps that go back, jump, stop, repeat or arrive out of order."""

from __future__ import annotations

from dataclasses import replace

from diffbot_sim.faults.fault import Fault
from faults.row import Outcome, Promise
from faults.rows.making import borne, lasting, one_by_one, rows
from faults.scene import DRIVERS, FAULT, VELOCITY_DRIVERS, Scene, Subject

GROUP = "Time"
STAMP = ("header.stamp",)


def _once(offset: float):
    def run(subject: Subject, engine: str) -> Outcome:
        attack = {"kind": "wrong", "fields": STAMP, "offset": offset}
        # After one stamp that is ahead, the next looks late: allow time to continue.
        return one_by_one(subject, engine, subject.states, [(f"{offset} s", attack)] * 2, 0.3)

    return run


def _from_then_on(offset: float):
    def run(subject: Subject, engine: str) -> Outcome:
        fault = Fault(subject.states, "wrong", FAULT, fields=STAMP, offset=offset)
        with Scene(subject, engine, faults=(fault,)) as scene:
            # The node answers the jump itself.
            scene.advance(FAULT + 0.005)
            return scene.zero(FAULT - 1e-6, FAULT + 0.005)

    return run


def _frozen(subject: Subject, engine: str) -> Outcome:
    fault = Fault(subject.states, "stuck", FAULT, 0.3, fields=STAMP, stamps="old")
    return lasting(subject, engine, 0.3, fault)


def _twice(subject: Subject, engine: str) -> Outcome:
    fault = Fault(subject.states, "intermittent", FAULT, 0.5, probability=1.0, copies=2)
    return borne(subject, engine, 0.5, 0.3, fault)


def _out_of_order(subject: Subject, engine: str) -> Outcome:
    # One state arrives 12 ms late, after its successor: the stamps go back for one message.
    fault = Fault(subject.states, "delayed", FAULT - 0.002, 0.004, delay=0.012, overtake=True)
    with Scene(subject, engine, faults=(fault,)) as scene:
        scene.advance(FAULT + 0.014)
        outcome = scene.zero(FAULT + 0.012 - 1e-6, FAULT + 0.014)
        scene.advance(FAULT + 0.5)
        after = scene.on(FAULT)
        result = (*outcome.problems, *after.problems)
        return replace(after, time_to_zero=outcome.time_to_zero, problems=result)


ALL = (*DRIVERS, *VELOCITY_DRIVERS)
ROWS = (
    *rows(GROUP, "one stamp 0.5 s back", Promise.ZERO, ALL, _once(-0.5)),
    *rows(GROUP, "one stamp 10 s ahead", Promise.ZERO, ALL, _once(10.0)),
    *rows(GROUP, "stamps 0.5 s back from then on", Promise.ZERO, ALL, _from_then_on(-0.5)),
    *rows(GROUP, "stamps 10 s ahead from then on", Promise.ZERO, ALL, _from_then_on(10.0)),
    *rows(GROUP, "stamps stand still, dt 0", Promise.ZERO, ALL, _frozen),
    *rows(GROUP, "each state twice", Promise.DRIVES_ON, ALL, _twice),
    *rows(GROUP, "one state after its successor", Promise.ZERO, ALL, _out_of_order),
)
