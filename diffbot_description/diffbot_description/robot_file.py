# SPDX-License-Identifier: Apache-2.0
"""Conversion of robots to the content of robot files.

Consumers of a robot's description, such as the URDF, use this content instead of the file from
which the robot was read, because the robot may have been changed in code since.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import yaml

from diffbot_description.robot import Robot
from diffbot_description.urdf_appearance import shapes_file


def robot_data(robot: Robot) -> dict[str, Any]:
    """Return the content of a file that describes this robot, independent of the file's location.

    Default values are omitted, and the path of its ``appearance.urdf`` is absolute.
    """
    data: dict[str, Any] = _plain(robot)
    del data["path"]
    for side, names in data["joints"].items():
        if isinstance(names, list) and len(names) == 1:  # a single name is written without a list
            data["joints"][side] = names[0]
    if robot.appearance.urdf is not None:
        data["appearance"]["urdf"] = str(shapes_file(robot).absolute())
    return data


def robot_text(data: dict[str, Any]) -> str:
    """Return the content of a robot file as YAML text."""
    text: str = yaml.safe_dump(_plain(data), sort_keys=False, default_flow_style=None)
    return text


def _plain(value: Any) -> Any:
    """Convert dataclasses, pairs and numbers of the schema to types of YAML."""
    if is_dataclass(value):
        entries = [(entry, getattr(value, entry.name)) for entry in fields(value)]
        return {
            entry.name: _plain(part)
            for entry, part in entries
            if entry.default is MISSING or part != entry.default
        }
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    return value
