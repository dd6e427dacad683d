# SPDX-License-Identifier: Apache-2.0
"""Rows in which a foreign node is the only one to command, and commands what nobody should."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from faults.process_attack import ENGINES, LASTING, Attack, Run, watchdog_row
from faults.process_nodes import CONTROLLERS
from faults.process_probe import Probe
from faults.row import Outcome, Promise, Row

GROUP = "Wrong commands, with the watchdog"
STEP = 0.04  # N m in a control period: within the rate limit, and near zero for a beginning
TORQUE = 0.3  # N m
PATIENCE = 5.0  # s of wall time


class ForeignCommander:
    """Answers each joint state with a torque that grows slowly, or with what it is told to say.

    Args:
        probe: says it.

    Attributes:
        wrong: said instead of a torque; None: nothing is wrong.
        silent: whether nothing is said.
        torque: said last, N m.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.wrong: Sequence[float] | None = None
        self.silent = False
        self.torque = 0.0
        probe.appear(CONTROLLERS)
        probe.answer = self._answer

    def _answer(self, _stamp: float) -> None:
        if self.silent:
            return
        if self.wrong is not None:
            self._probe.say(CONTROLLERS, self.wrong)
            return
        self.torque = min(self.torque + STEP, TORQUE)
        self._probe.say(CONTROLLERS, (self.torque, self.torque))

    def begin(self) -> bool:
        """Begin at zero; whether the wheels get the torque that it wants in the end."""
        self.torque, self.wrong, self.silent, since = 0.0, None, False, time.time()
        record = self._probe.record
        return self._probe.until(
            lambda: (TORQUE, TORQUE) in record.between(since, math.inf), PATIENCE
        )


def sends(wrong: Sequence[float] | None) -> Run:
    """Commands become wrong, or stop: zero; right ones pass again from zero on only."""

    def run(engine: str) -> Outcome:
        attack = Attack(engine, "")
        probe = attack.probe
        foreign = ForeignCommander(probe)
        attack.expect(foreign.begin(), "right commands do not pass")
        attack.begin()
        foreign.wrong, foreign.silent = wrong, wrong is None
        measured = attack.measure()
        # As a node that goes on after a hiccup: with the torque that it had.
        foreign.wrong, foreign.silent, since = None, False, time.time()
        blow = probe.record.measure(since, probe.hears_for(LASTING)).worst_torque
        attack.expect(blow == 0.0, f"{blow:.3g} N m passed at once after the fault")
        attack.expect(foreign.begin(), "right commands from zero on do not pass")
        attack.note("from zero on it passes again")
        probe.vanish()
        return attack.outcome(measured)

    return run


WRONG = {
    "1 value": (TORQUE,),
    "3 values": (TORQUE, TORQUE, TORQUE),
    "no value": (),
    "NaN": (math.nan, TORQUE),
    "infinity": (TORQUE, math.inf),
    "10 times the limit": (10.0, 10.0),
    "a jump of 4.3 N m": (TORQUE - 4.3, TORQUE - 4.3),
}
ROWS = (
    *(
        Row(GROUP, f"{name}, over DDS", Promise.ZERO, ENGINES, sends(wrong))
        for name, wrong in WRONG.items()
    ),
    watchdog_row(GROUP, "commands stop, over DDS", sends(None)),
)
