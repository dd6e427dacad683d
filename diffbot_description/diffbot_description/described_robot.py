"""A robot file made from a URDF or xacro file, with a comment on where each value comes from.

`robot_file_for` makes one where only the URDF is named, in a folder for such files; it says what
it derived once, when the file is new.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from diffbot_description.describe import Description, describe
from diffbot_description.files import write_atomically
from diffbot_description.loading import robot_from
from diffbot_description.robot import Quantity, Robot
from diffbot_description.urdf_files import Packages, read_urdf

LINE = 100
_SHOWN = 3  # corrections and assumptions that are said of a robot made on the fly
FOLDER_VARIABLE = "XDG_CACHE_HOME"


@dataclass(frozen=True)
class Described:
    """A robot from a URDF: its description, the robot, and its URDF without xacro."""

    description: Description
    robot: Robot
    urdf_text: str


def described_from(
    path: Path,
    arguments: Mapping[str, str] | None = None,
    *,
    wheels: Sequence[str] | None = None,
    wheel_radius: float | None = None,
    mass: float | None = None,
) -> Described:
    """Return what a .urdf or .xacro file describes.

    Args:
        path: of the file.
        arguments: xacro's.
        wheels: joints of the left and the right wheel; found where None.
        wheel_radius: m; that of the shapes where None.
        mass: of the whole robot, kg; that of the URDF where None.

    Raises:
        ValueError: names the file, what was found, and what to write.
    """
    packages = Packages(path)
    text = read_urdf(path, arguments, packages)
    try:
        description = describe(
            text, packages, wheels=wheels, wheel_radius=wheel_radius, mass=mass
        )
        return Described(description, robot_from(description.content, path), text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def robot_file_for(path: Path) -> Path:
    """Return a robot file made from a .urdf or .xacro file; says so where it is new.

    Raises:
        ValueError: as `described_from`.
        OSError: it cannot be written.
    """
    found = described_from(path)
    text = file_text(found.description, path)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    target = _folder() / f"{found.robot.name}-{digest}.yaml"
    if target.exists() or not _first(target, text):
        return target
    logging.getLogger(__name__).warning("%s", "\n".join(_said(found.description, path, target)))
    return target


def _folder() -> Path:
    """The user's folder for files that can be made again; one of this process where none is."""
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
    """Put the file in its place; False where another process has just done so."""
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
    yield from (f"  {line}" for line in description.found)
    for title, entries in (
        ("not used as it stands", description.corrected),
        ("assumed", description.assumed),
    ):
        if entries:
            yield f"  {title}:"
            yield from (f"    {entry}" for entry in entries[:_SHOWN])
            if len(entries) > _SHOWN:
                yield f"    and {len(entries) - _SHOWN} more"
    yield f"  all of it with its source: {target}"
    yield f"  to change values: diffbot describe {path.name} --output my_robot.yaml"


def file_text(description: Description, origin: Path | str, made_by: str = "") -> str:
    """Return the text of a robot file, with unit and source of each value.

    Args:
        description: what it holds.
        origin: the URDF or xacro file, for the head.
        made_by: the command line, for the head.
    """
    lines = [
        f"# The robot {description.content['name']!r}, made from {origin}",
        *([f"#   {made_by}"] if made_by else []),
        "#",
        "# Units are SI. x points forward from the axle, y to the left, z up from the ground",
        "# (REP-103). Each comment says where its value comes from.",
    ]
    for title, entries in (
        ("The URDF says, and it was not used as it stands:", description.corrected),
        ("A URDF does not tell; check these:", description.assumed),
    ):
        if entries:
            lines += ["#", f"# {title}", *_listed(entries)]
    lines += ["", *_section(description.content, Robot, "", description.sources)]
    return "\n".join(lines) + "\n"


def _listed(entries: Sequence[str]) -> Iterator[str]:
    for entry in entries:
        wrapped = textwrap.wrap(
            entry, LINE - 6, break_long_words=False, break_on_hyphens=False
        )
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
            yield from _section(value, kinds[key], dotted, sources)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield ""
            yield f"{pad}{key}:                    # m"
            for index, entry in enumerate(value):
                inner = ", ".join(f"{name}: {_yaml(part)}" for name, part in entry.items())
                source = sources.get(f"{dotted}[{index}]", "")
                yield from _commented(f"{pad}  - {{{inner}}}", source, f"{pad}  ")
        else:
            comment = "; ".join(filter(None, (_unit(kinds[key]), source)))
            yield from _commented(f"{pad}{key}: {_yaml(value)}", comment, pad)


def _commented(line: str, comment: str, pad: str) -> Iterator[str]:
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
        return next((e.unit for e in get_args(kind) if isinstance(e, Quantity)), "")
    return ""


def _yaml(value: Any) -> str:
    """A value as YAML 1.1 reads it: a power of ten needs a point."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    text = str(value) if not isinstance(value, float) else repr(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text
