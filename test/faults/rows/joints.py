# SPDX-License-Identifier: Apache-2.0
"""Joint states with missing, reordered, extra or duplicate joints, or short arrays."""

from __future__ import annotations

from diffbot_sim.faults.fault import Fault
from faults.row import Outcome, Promise
from faults.rows.making import borne, lasting, rows
from faults.scene import DRIVERS, FAULT, Subject

GROUP = "Joints"


def _arrays(kind: str, index: int = 0, fields: tuple[str, ...] = ()):
    return Fault("joint_states", "wrong", FAULT, 0.3, arrays=kind, index=index, fields=fields)


def _stopped_by(fault: Fault):
    def run(subject: Subject, engine: str) -> Outcome:
        return lasting(subject, engine, 0.25, fault)

    return run


def _borne(fault: Fault):
    def run(subject: Subject, engine: str) -> Outcome:
        return borne(subject, engine, 0.3, 0.3, fault)

    return run


ROWS = (
    *rows(GROUP, "other order", Promise.DRIVES_ON, DRIVERS, _borne(_arrays("reversed"))),
    *rows(GROUP, "an unknown joint more", Promise.DRIVES_ON, DRIVERS, _borne(_arrays("extra"))),
    *rows(GROUP, "left wheel missing", Promise.ZERO, DRIVERS, _stopped_by(_arrays("missing"))),
    *rows(GROUP, "right wheel missing", Promise.ZERO, DRIVERS, _stopped_by(_arrays("missing", 1))),
    *rows(GROUP, "left wheel twice", Promise.ZERO, DRIVERS, _stopped_by(_arrays("duplicated"))),
    *rows(GROUP, "short arrays", Promise.ZERO, DRIVERS, _stopped_by(_arrays("short"))),
    *rows(
        GROUP,
        "empty array of angles",
        Promise.ZERO,
        DRIVERS,
        _stopped_by(_arrays("empty", fields=("position",))),
    ),
    *rows(GROUP, "empty message", Promise.ZERO, DRIVERS, _stopped_by(_arrays("empty"))),
)
