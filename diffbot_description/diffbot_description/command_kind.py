# SPDX-License-Identifier: Apache-2.0
"""The kind of command that a robot's driver takes, and what a robot file states of it."""

from __future__ import annotations

from enum import Enum


class CommandKind(str, Enum):
    """Value of `drive.command` in a robot file."""

    EFFORT = "effort"
    """Torque of each wheel, on effort_controller/commands."""
    VELOCITY = "velocity"
    """Velocity of the body, on cmd_vel."""


def stated_kind(content: object) -> CommandKind | None:
    """Return `drive.command` in the content of a robot file; None if it states none that exists."""
    drive = content.get("drive") if isinstance(content, dict) else None
    stated = drive.get("command") if isinstance(drive, dict) else None
    return next((kind for kind in CommandKind if kind.value == stated), None)
