# SPDX-License-Identifier: Apache-2.0
"""Writes docs/parameters.md from the tables that the nodes declare.

./diffbot python docs/parameters.py
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from diffbot_bringup.node_parameters import PARAMETERS, table_of
from diffbot_node.parameter_fields import Parameter

PAGE = Path(__file__).with_suffix(".md")
INTRODUCTION = """\
# Parameters of the nodes

Made by `./diffbot python docs/parameters.py` from the dataclasses that the nodes declare; do not
edit it. `ros2 param describe NODE NAME` shows the same of a node that runs. All are read once, at
the start, unless the meaning says otherwise, and a value outside its limits, or a misspelt name, is
refused with a sentence that names it. A node also has the parameters of the tables that its section
names; where a name is in both, the node's own row counts.
"""


@cache
def nodes() -> dict[str, type[Any]]:
    """The table of each executable."""
    return {executable: table_of(executable) for executable in PARAMETERS}


def bases(kind: type[Any]) -> list[type[Any]]:
    """The tables that a table extends, nearest first."""
    return [base for base in kind.__mro__[1:] if base is not object]


def name_of(kind: type[Any]) -> str:
    """Who has a table that several nodes share: what its docstring says."""
    return str(kind.__doc__).splitlines()[0].removeprefix("Parameters of ").removesuffix(".")


def slug(text: str) -> str:
    """The anchor of a heading."""
    kept = "".join(c for c in text.lower() if c.isalnum() or c in " -_")
    return "#" + kept.replace(" ", "-")


def default_of(value: object) -> str:
    """A default as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return f'"{value}"' if isinstance(value, str) else repr(value)


def row(name: str, value: object, limits: str, meaning: str) -> str:
    """A line of a table."""
    cells = (f"`{name}`", f"`{default_of(value)}`", limits, meaning)
    return "| " + " | ".join(c.replace("|", "\\|").replace("<", "&lt;") for c in cells) + " |"


def rows(kind: type[Any]) -> list[str]:
    """The lines of the parameters that a table has of its own."""
    inherited = [each for base in bases(kind) for each in fields(base)]
    lines = []
    for each in fields(kind):
        if any(each is known for known in inherited):
            continue
        about = dict(each.metadata)
        # odometry_publisher has such ones; its package stands alone, with limits in the meaning.
        live = "may be changed while the node runs: " if about.pop("live", False) else ""
        own = Parameter(each.name, each.default, **about)
        lines.append(row(own.name, own.default, own.constraints(), live + own.description))
    return lines


def section(title: str, kind: type[Any]) -> str:
    """A heading and a table."""
    shared = [base for base in bases(kind) if rows(base)]
    links = ", ".join(f"[{name_of(base)}]({slug(name_of(base))})" for base in shared)
    lines = [f"## {title}", ""]
    if links:
        lines += [f"Also those of: {links}.", ""]
    if own := rows(kind):
        lines += ["| parameter | default | limits | meaning |", "|---|---|---|---|", *own, ""]
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    shared = dict.fromkeys(base for kind in nodes().values() for base in bases(kind) if rows(base))
    parts = [INTRODUCTION, *(section(f"`{name}`", kind) for name, kind in nodes().items())]
    for base in shared:
        title = name_of(base)
        parts.append(section(title[0].upper() + title[1:], base))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE}")
