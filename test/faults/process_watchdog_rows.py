# SPDX-License-Identifier: Apache-2.0
"""Rows in which a foreign node is the only commanding one, and sends invalid commands."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from faults.process_attack import ENGINES, LASTING, Attack, Run, watchdog_row
from faults.process_nodes import CONTROLLERS
from faults.process_probe import Probe
from faults.row import Outcome, Promise, Row

GROUP = "Wrong commands, with the watchdog"
STEP = 0.04  # N m per control period: within the rate limit, and small enough for a start near zero
TORQUE = 0.3  # N m
PATIENCE = 5.0  # s of wall time


class ForeignCommander:
    """Answers each joint state with a slowly growing torque, or with a given wrong command.

    Args:
        probe: Probe that publishes the commands.

    Attributes:
        wrong: Wrong command to publish instead of the torque; None: none.
        silent: Whether it publishes nothing.
        torque: Last published torque, N m.
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
        """Start at zero; return whether the wheels finally get the torque TORQUE."""
        self.torque, self.wrong, self.silent, since = 0.0, None, False, time.time()
        record = self._probe.record
        return self._probe.until(
            lambda: (TORQUE, TORQUE) in record.between(since, math.inf), PATIENCE
        )


def sends(wrong: Sequence[float] | None) -> Run:
    """Commands become wrong, or stop: zero; valid commands pass again only from zero on."""

    def run(engine: str) -> Outcome:
        attack = Attack(engine, "")
        probe = attack.probe
        foreign = ForeignCommander(probe)
        attack.expect(foreign.begin(), "right commands do not pass")
        attack.begin()
        foreign.wrong, foreign.silent = wrong, wrong is None
        measured = attack.measure()
        # As a node that resumes after an interruption: with its previous torque.
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
