# SPDX-License-Identifier: Apache-2.0
"""Findings of a check: what was seen, why it matters, and what to type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from diffbot_description.command_kind import CommandKind


class Severity(IntEnum):
    """How much a finding matters; a larger one matters more."""

    NOTE = 1
    """Good to know."""
    WARNING = 2
    """A run may start, and may stop or be less precise."""
    FAULT = 3
    """The tasks that need this part do not work."""


class Part(Enum):
    """A part of a robot's interface that tasks need, and its name."""

    WHEELS = "joint states"
    SPEEDS = "wheel speeds"
    EFFORTS = "wheel efforts"
    TORQUE_COMMANDS = "torque commands"
    ODOMETRY = "odometry"
    VELOCITY_COMMANDS = "velocity commands"
    SENSOR = "gyro or pose"
    DESCRIPTION = "description"
    CONTROLLERS = "controllers"
    MACHINE = "this computer"


COMMANDS = {
    CommandKind.EFFORT: Part.TORQUE_COMMANDS,
    CommandKind.VELOCITY: Part.VELOCITY_COMMANDS,
}
"""The part that takes the commands of each kind."""


class RobotTask(Enum):
    """A task, the commands that it sends (None: either), and the parts that it needs besides."""

    IDENTIFY_TORQUE = (
        "ident, torque",
        CommandKind.EFFORT,
        (Part.WHEELS, Part.SPEEDS, Part.EFFORTS),
    )
    DRIVE_TORQUE = ("drive, torque", CommandKind.EFFORT, (Part.WHEELS, Part.SPEEDS))
    IDENTIFY_VELOCITY = ("ident, velocity", CommandKind.VELOCITY, (Part.ODOMETRY,))
    DRIVE_VELOCITY = ("drive, velocity", CommandKind.VELOCITY, (Part.ODOMETRY,))
    CALIBRATE = ("calibrate", None, (Part.SENSOR,))

    def __init__(self, label: str, kind: CommandKind | None, parts: tuple[Part, ...]) -> None:
        self.label, self.kind, self.parts = label, kind, parts

    def needs(self, kind: CommandKind, recorded: bool = False) -> tuple[Part, ...]:
        """Return the parts that it needs of a robot of this kind, with what it commands.

        A recorded torque robot needs no commands: its joint states have the efforts.
        """
        measured = self.parts
        if self is RobotTask.CALIBRATE:
            wheels = Part.ODOMETRY if kind is CommandKind.VELOCITY else Part.WHEELS
            measured = (*self.parts, wheels)
        commands = COMMANDS[self.kind or kind]
        if recorded and (self is RobotTask.CALIBRATE or commands is Part.TORQUE_COMMANDS):
            return measured
        return (*measured, commands)


@dataclass(frozen=True)
class CheckFinding:
    """Something to know before a run.

    Attributes:
        what: What was seen, a sentence.
        why: Why it matters.
        line: What to type, in a shell or in a file; empty if that cannot be said.
    """

    severity: Severity
    part: Part
    what: str
    why: str
    line: str = ""

    def plain(self) -> dict[str, str]:
        return {
            "severity": self.severity.name.lower(),
            "part": self.part.value,
            "what": self.what,
            "why": self.why,
            "line": self.line,
        }
