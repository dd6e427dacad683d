# SPDX-License-Identifier: Apache-2.0
"""The faults of a rehearsal's robot, and what mends each."""

from __future__ import annotations

from enum import Enum


class RehearsalFault(str, Enum):
    """What is wrong with the robot; `mending` says what is done about it."""

    NONE = "none"
    SWAPPED = "swapped"
    REVERSED = "reversed"
    DEAD = "dead"
    STUCK = "stuck"
    AMPERE = "ampere"
    NAMES = "names"
    LATE = "late"
    NO_TIMEOUT = "no_timeout"
    SECOND = "second"
    """Another node publishes commands, too."""

    @property
    def mending(self) -> str:
        """What mends it, a sentence without its point; empty for no fault."""
        return _MENDING.get(self, "")


_MENDING = {
    RehearsalFault.SWAPPED: "the order of the motors in its driver is changed",
    RehearsalFault.REVERSED: "the left motor's direction in its driver is changed",
    RehearsalFault.DEAD: "the right motor's cable is plugged in",
    RehearsalFault.STUCK: "the left encoder's cable is plugged in",
    RehearsalFault.AMPERE: "its driver reports N m",
    RehearsalFault.NAMES: "its driver uses the joint names of the robot's file",
    RehearsalFault.LATE: "its clock is set",
    RehearsalFault.NO_TIMEOUT: "its driver gets a timeout of 0.5 s",
    RehearsalFault.SECOND: "the other node that publishes commands is ended",
}
