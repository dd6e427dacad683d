# SPDX-License-Identifier: Apache-2.0
"""Robot files for the tests: the data of twil.yaml, changed in places."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from diffbot_description.loading import share_directory

TWIL = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text(encoding="utf-8"))

# The one of libyaml, if PyYAML has it, takes a fifth of the time for the same text.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def changed(dotted: str, value: Any) -> dict[str, Any]:
    """Return the data of twil with one field replaced (``a.b``)."""
    data = copy.deepcopy(TWIL)
    *sections, key = dotted.split(".")
    place = data
    for section in sections:
        place = place[section]
    place[key] = value
    return data


def write(directory: Path, data: Any) -> str:
    """Write a robot file and return its path."""
    path = directory / "robot.yaml"
    path.write_text(yaml.dump(data, Dumper=DUMPER), encoding="utf-8")
    return str(path)


def number_fields(data: dict[str, Any] = TWIL, prefix: str = "") -> list[str]:
    """Return the dotted names of all fields that hold one number."""
    names = []
    for key, value in data.items():
        if isinstance(value, dict):
            names += number_fields(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            names.append(prefix + key)
    return names
