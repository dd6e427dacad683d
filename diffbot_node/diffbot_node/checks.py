# SPDX-License-Identifier: Apache-2.0
"""The checks of a commanding node, in the order in which they are made.

docs/safety.md has the same table (a test); what each asks is in command_checks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from diffbot_node.verdicts import GOOD, Level, Verdict

Question = Callable[..., Verdict]


class Moment(Enum):
    """When checks are made, and of what."""

    MESSAGE = "each message"
    """Of an Arrival."""
    BEGIN = "until the first state"
    STATE = "each new state"
    """Of an Arrival."""
    INPUT = "before the law"
    """Of a sample."""
    MOTION = "before the law, when no input is missing"
    """Of a sample, the last command, and whether motion is to be compared anew."""
    ANSWER = "after the law"
    LOOK = "every 10 ms"
    """Of the sample that waits for its answer; None if none does."""


class Check(Enum):
    """Label, moment, and level of what a check demands if something is wrong."""

    SOURCES = ("second source", Moment.MESSAGE, Level.STOP)
    STAMP = ("stamp", Moment.MESSAGE, Level.HOLD)
    NEEDS = ("needs of the law", Moment.BEGIN, Level.WAIT)
    CLOCK = ("clock", Moment.BEGIN, Level.WAIT)
    STATES = ("states", Moment.BEGIN, Level.WAIT)
    OTHERS = ("other commander at the start", Moment.BEGIN, Level.WAIT)
    SUBSCRIBERS = ("subscribers", Moment.BEGIN, Level.WAIT)
    CONTENT = ("content", Moment.STATE, Level.HOLD)
    INPUT = ("input", Moment.INPUT, Level.WAIT)
    MOTION = ("motion of the wheels", Moment.MOTION, Level.STOP)
    AGE = ("age", Moment.ANSWER, Level.HOLD)
    DOUBT = ("doubtful source", Moment.ANSWER, Level.HOLD)
    ROBOT = ("robot", Moment.ANSWER, Level.HOLD)
    LAW = ("law", Moment.ANSWER, Level.HOLD)
    RIVALS = ("other commander", Moment.LOOK, Level.STOP)
    LEFT = ("partners that left", Moment.LOOK, Level.END)
    CROWD = ("other run", Moment.LOOK, Level.END)
    PATIENCE = ("patience", Moment.LOOK, Level.END)
    WATCHDOG = ("watchdog", Moment.LOOK, Level.STOP)
    STARTER = ("starter", Moment.LOOK, Level.STOP)
    SILENCE = ("silence", Moment.LOOK, Level.HOLD)

    def __init__(self, label: str, moment: Moment, level: Level) -> None:
        self.label, self.moment, self.level = label, moment, level


class Checklist:
    """Makes the checks in the order of Check; `stops_end`: nobody can enable the node again."""

    def __init__(self, questions: Mapping[Check, Question], stops_end: bool = False) -> None:
        def level(check: Check) -> Level:
            return Level.END if stops_end and check.level is Level.STOP else check.level

        self._questions = {
            moment: [
                (each, level(each), questions[each]) for each in Check if each.moment is moment
            ]
            for moment in Moment
        }

    def each(self, moment: Moment, *about: Any) -> Iterator[tuple[Check, Verdict]]:
        for check, level, question in self._questions[moment]:
            if verdict := question(*about):
                yield check, verdict.at(level)

    def first(self, moment: Moment, *about: Any) -> Verdict:
        for _, level, question in self._questions[moment]:
            verdict = question(*about)
            if verdict is not GOOD and verdict:  # the first comparison is the faster one
                return verdict.at(level)
        return GOOD
