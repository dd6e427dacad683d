# SPDX-License-Identifier: Apache-2.0
"""Robot files generated from a URDF or xacro file, with a comment on the source of each value."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from diffbot_description.command_kind import CommandKind
from diffbot_description.describe import Description, describe
from diffbot_description.files import read_text, write_atomically
from diffbot_description.robot import FieldSpec, Robot
from diffbot_description.robot_parsing import present, robot_from
from diffbot_description.terminal_text import printable
from diffbot_description.urdf_files import Packages, read_urdf, with_absolute_meshes

LINE = 100
_SHOWN = 3  # maximum number of corrections and of assumptions logged for a generated robot file
FOLDER_VARIABLE = "XDG_CACHE_HOME"


@dataclass(frozen=True)
class Described:
    """A robot from a URDF or xacro file, with the content of its robot file.

    `expanded`: its text without xacro and with absolute paths of meshes; None if it is plain.
    """

    path: Path
    description: Description
    robot: Robot
    expanded: str | None


def described_from(
    path: Path,
    arguments: Mapping[str, str] | None = None,
    *,
    wheels: Sequence[str] | None = None,
    wheel_radius: float | None = None,
    mass: float | None = None,
    command: CommandKind | None = None,
) -> Described:
    """Return the robot that a .urdf or .xacro file describes.

    `arguments` are xacro's; see `describe` for the others.

    Raises:
        ValueError: States the file, what was found, and what to write.
    """
    packages = Packages(path)
    text = read_urdf(path, arguments, packages)
    try:
        description = describe(
            text,
            packages,
            wheels=wheels,
            wheel_radius=wheel_radius,
            mass=mass,
            command=command,
        )
        robot = robot_from(description.content, path)
        plain = text == read_text(path)
        return Described(
            path, description, robot, None if plain else with_absolute_meshes(text, packages)
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def robot_file_for(path: Path) -> Path:
    """Return a robot file generated in a cache folder; log what was derived if it is new."""
    described = described_from(path)
    folder = _folder()
    name = described.robot.name
    shapes = str(path)
    if described.expanded is not None:
        shapes = f"{name}-{_digest(described.expanded)}.urdf"
        if not (folder / shapes).exists():
            write_atomically(folder / shapes, described.expanded)
    text = file_text(described, shapes)
    target = folder / f"{name}-{_digest(text)}.yaml"
    if not target.exists() and _first(target, text):
        lines = map(printable, _said(described.description, path, target))
        logging.getLogger(__name__).warning("%s", "\n".join(lines))
    return target


def write_robot_file(described: Described, output: Path, made_by: str) -> list[Path]:
    """Write a robot file and, if it was made from xacro, the expanded URDF; return both paths.

    `made_by`: command line to state in the header; OSError: A file cannot be written.
    """
    written = []
    shapes = os.path.relpath(described.path, output.parent.absolute())
    if described.expanded is not None:
        shapes = f"{output.stem}_shapes.urdf"
        written.append(write_atomically(output.with_name(shapes), described.expanded))
    return [write_atomically(output, file_text(described, shapes, made_by)), *written]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _folder() -> Path:
    base = os.environ.get(FOLDER_VARIABLE) or str(Path.home() / ".cache")
    folder = Path(base, "diffbot", "robots")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="diffbot-robots-"))


def _first(target: Path, text: str) -> bool:
    partial = write_atomically(target.with_name(f".{os.getpid()}-{target.name}"), text)
    try:
        os.link(partial, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _said(description: Description, path: Path, target: Path) -> Iterator[str]:
    yield f"robot {description.content['name']}, made from {path}:"
    yield from (f"  {line}" for line in description.result)
    for title, entries in description.notes:
        yield f"  {title}:"
        yield from (f"    {textwrap.shorten(entry, 160)}" for entry in entries[:_SHOWN])
        if len(entries) > _SHOWN:
            yield f"    and {len(entries) - _SHOWN} more"
    yield f"  all of it with its source: {target}"
    yield f"  to change values: diffbot describe {path.name} --output my_robot.yaml"


def file_text(described: Described, shapes: str, made_by: str = "") -> str:
    """Return the text of a robot file, with unit and source of each value.

    `shapes`: path of the URDF with its shapes, relative to the robot file's folder.
    """
    description, origin = described.description, described.path
    content = dict(description.content)
    content["appearance"] = {**content["appearance"], "urdf": shapes}
    lines = [
        f"# The robot {description.content['name']!r}, made from {printable(origin)}",
        *([f"#   {printable(made_by)}"] if made_by else []),
        "#",
        "# Units are SI. x points forward from the axle, y to the left, z up from the ground",
        "# (REP-103). Each comment says where its value comes from.",
    ]
    for title, entries in description.notes:
        lines += ["#", f"# {title[0].upper()}{title[1:]}:", *_listed(entries)]
    lines += ["", *_section(content, Robot, "", description.sources)]
    return "\n".join(lines) + "\n"


def _listed(entries: Sequence[str]) -> Iterator[str]:
    for entry in entries:
        # A line break in a name would end the comment.
        text = printable(entry)
        wrapped = textwrap.wrap(text, LINE - 6, break_long_words=False, break_on_hyphens=False)
        yield f"#   - {wrapped[0]}"
        yield from (f"#     {line}" for line in wrapped[1:])


def _section(
    content: Mapping[str, Any], kind: Any, where: str, sources: Mapping[str, str]
) -> Iterator[str]:
    kinds = get_type_hints(kind, include_extras=True)
    pad = "  " * (where.count(".") + 1 if where else 0)
    for key, value in content.items():
        dotted = f"{where}.{key}" if where else key
        source = sources.get(dotted, "")
        if isinstance(value, dict):
            if not where:
                yield ""
            yield from _commented(f"{pad}{key}:", source, pad)
            yield from _section(value, present(kinds[key]), dotted, sources)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield ""
            yield f"{pad}{key}:                    # m"
            for index, entry in enumerate(value):
                inner = ", ".join(f"{name}: {_yaml(part)}" for name, part in entry.items())
                source = sources.get(f"{dotted}[{index}]", "")
                yield from _commented(f"{pad}  - {{{inner}}}", source, f"{pad}  ")
        elif not where and isinstance(value, list):
            yield ""
            yield from _commented(f"{key}:", source, pad)
            yield from (f"  - {_yaml(entry)}" for entry in value)
        else:
            comment = "; ".join(filter(None, (_unit(kinds[key]), source)))
            yield from _commented(f"{pad}{key}: {_yaml(value)}", comment, pad)


def _commented(line: str, comment: str, pad: str) -> Iterator[str]:
    comment = printable(comment)
    if not comment:
        yield line
        return
    whole = f"{line:<27} # {comment}" if len(line) < 27 else f"{line}  # {comment}"
    if len(whole) <= LINE:
        yield whole
        return
    for part in textwrap.wrap(comment, LINE - len(pad) - 2, break_on_hyphens=False):
        yield f"{pad}# {part}"
    yield line


def _unit(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return next((e.unit for e in get_args(kind) if isinstance(e, FieldSpec)), "")
    return ""


def _yaml(value: Any) -> str:
    """Return a value as YAML 1.1 reads it: a number with an exponent needs a decimal point."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w]*", value, re.ASCII) is None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    text = str(value) if not isinstance(value, float) else repr(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text
