# SPDX-License-Identifier: Apache-2.0
"""Verdicts: what a check or a partner that is missing demands, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """What a check demands; a larger one demands more."""

    OK = 0
    """Nothing."""
    WAIT = 1
    """Commands, or the answer to a state, may not begin yet."""
    HOLD = 2
    """Zero until the next good state."""
    STOP = 3
    """Zero until somebody enables the node."""
    END = 4
    """Zero for ever: the node ends with status 1."""


@dataclass(frozen=True)
class Verdict:
    """The result of a check; it is true if something is wrong, so `a or b` is the first of two.

    `reason` is a sentence; empty if nothing must be done.
    """

    level: Level
    reason: str

    def __bool__(self) -> bool:
        """Whether anything must be done."""
        return self.level > 0

    def at(self, level: Level) -> Verdict:
        """Return a verdict of this reason at another level; itself if nothing must be done."""
        return Verdict(level, self.reason) if self and level is not self.level else self


GOOD = Verdict(Level.OK, "")
"""The verdict of a check to which nothing is wrong."""


def judged(level: Level, finding: str | None) -> Verdict:
    """Return GOOD without a finding."""
    return Verdict(level, finding) if finding else GOOD
