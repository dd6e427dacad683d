# SPDX-License-Identifier: Apache-2.0
"""A robot described by hand: the numbers that a person measures, and the file made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffbot_check.robot_draft import content_of, meaning_of
from diffbot_description import Robot
from diffbot_description.assumed_parts import with_assumed_parts
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import save_robot
from diffbot_description.robot_parsing import robot_from

ALWAYS = {
    "wheels.radius": 0.05,
    "wheels.separation": 0.3,
    "body.shape.front": 0.15,
    "body.shape.rear": -0.15,
    "body.shape.width": 0.25,
    "body.shape.top": 0.15,
    "limits.linear_velocity": 0.3,
    "limits.angular_velocity": 1.0,
}
"""Numbers of each robot, with those that the form begins with."""
OF_KIND: dict[CommandKind, dict[str, float]] = {
    CommandKind.VELOCITY: {},
    CommandKind.EFFORT: {"body.mass": 5.0, "wheels.mass": 0.3, "limits.torque": 0.5},
}
JOINTS = {"joints.left": "left_wheel_joint", "joints.right": "right_wheel_joint"}
KIND = "drive.command"
LONGEST_NAME = 100


def form_of() -> list[dict[str, Any]]:
    """Return the fields of the form: name, meaning, first value, and kind of robot or None."""
    fields = [
        {"name": name, "meaning": meaning_of(name), "value": value, "kind": kind}
        for kind, values in ((None, ALWAYS), *((k.value, v) for k, v in OF_KIND.items()))
        for name, value in values.items()
    ]
    names = [
        {"name": name, "meaning": f"joint of the {name[7:]} wheel", "value": value, "kind": None}
        for name, value in JOINTS.items()
    ]
    return [*fields, *names]


@dataclass(frozen=True)
class RobotNumbers:
    """Numbers and names by their field in a robot file; what is not given is assumed."""

    kind: CommandKind = CommandKind.VELOCITY
    values: Mapping[str, float | str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RobotNumbers:
        """Return those of a form; ValueError says what is wrong with a field."""
        kinds = {each.value: each for each in CommandKind}
        stated = values.get(KIND)
        if stated not in kinds:
            raise ValueError(f"{KIND} must be one of {', '.join(kinds)}")
        kind = kinds[stated]
        needed = {**ALWAYS, **OF_KIND[kind], **JOINTS}
        if unknown := values.keys() - needed - {KIND}:
            raise ValueError(f"{min(unknown)[:40]!r} is no field of the form")
        read: dict[str, float | str] = {}
        for name, first in needed.items():
            value = values.get(name)
            if isinstance(first, str):
                if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
                    raise ValueError(f"{name}: type the joint's name")
            elif not isinstance(value, float) or not math.isfinite(value):
                raise ValueError(f"{name}: type a number ({meaning_of(name)})")
            read[name] = value
        return cls(kind, read)

    def robot(self, path: Path) -> Robot:
        """Return the robot, as its file at `path` would describe it; else ValueError."""
        content = content_of(self.kind, self.values)
        return robot_from(with_assumed_parts(content, path), path)

    def written(self, path: Path) -> Path:
        """Write the robot's file; return its path. Raises ValueError as `robot` does."""
        return save_robot(self.robot(path), path)
