# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of users' files: within limits, atomically, strict YAML and JSON."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from diffbot_description.limits import DEPTH, TEXT, VALUES, Limit, LimitError
from diffbot_description.named_paths import check_regular, expanded

RECORDING = "recording"
"""Folder in a run's results with the rosbag2 recording that `record:=mcap` makes."""
SUMMARY = "summary.json"
"""File in a run's results with all of its results."""
DYNAMIC_FILE, VELOCITY_FILE = "dynamic_parameters.yaml", "velocity_parameters.yaml"
VOLTAGE_FILE, CALIBRATION_FILE = "voltage_parameters.yaml", "calibration.yaml"
"""Files of identified parameters, which controllers and exports read."""
# What PyYAML's constructors raise for values such as `!!int ""` and `2001-99-99`.
_VALUE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
# Numbers to the base 60 or 8, which are mostly meant otherwise: 1:30 is 90, and 010 is 8.
_OTHER_BASE = re.compile(r"[-+]?(\d[\d_]*(:[\d_.]+)+|0[0-7_]+)")


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word closest to a word; None if none has this similarity (0 to 1)."""
    return next(iter(get_close_matches(word, list(known), 1, cutoff)), None)


def make_folder(folder: Path) -> None:
    """Create a folder, if it is not there; OSError, also for one in the home of nobody."""
    if str(folder).startswith("~"):  # what `expanded` leaves of an unknown user
        raise FileNotFoundError(errno.ENOENT, f"there is no user {folder.parts[0][1:]}")
    folder.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, content: str | Callable[[Path], Any]) -> Path:
    """Write a file under a temporary name and rename it when it is complete; return the path.

    Args:
        path: Path of the file; its folder is created.
        content: Its text, or a function that writes it to a given path with the same suffix.

    Raises:
        OSError: It cannot be written. No partial file remains, and an old file stays as it was.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "results" / "gains.yaml", "k: 1.0").read_text()
        'k: 1.0'
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        make_folder(path.parent)
        if callable(content):
            content(partial)
        else:
            # Names of files need not be UTF-8.
            partial.write_text(content, encoding="utf-8", errors="backslashreplace")
        os.replace(partial, path)
    except OSError as error:
        raise OSError(
            f"{path} was not written: {error.strerror or error}; free space there, or give another "
            "folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # a name that is too long
            partial.unlink()
    return path


def finite(value: float) -> float | None:
    """Return the value; None for NaN and infinity, which strict JSON does not allow."""
    return float(value) if math.isfinite(value) else None


def strict(value: Any) -> Any:
    """Return plain values for JSON, with None for NaN and infinity."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Mapping):
        return {str(key): strict(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [strict(each) for each in value]
    return value


def write_json(path: Path, content: Any) -> Path:
    """Write strict JSON atomically; ValueError for NaN or infinity, see `strict`."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return write_atomically(path, text)


def read_regular(path: Path, limit: Limit = TEXT) -> str:
    """Return the text (UTF-8) of a regular file within a limit of its size in characters.

    ValueError: States why it cannot be read, without the file's name.
    """
    try:
        check_regular(path)
        with path.open(encoding="utf-8") as file:
            text = file.read(limit.value + 1)
    except OSError as error:
        raise ValueError(error.strerror) from error
    except UnicodeDecodeError as error:
        raise ValueError("is no text file (UTF-8)") from error
    if len(text) > limit.value:
        raise limit.error()
    return text


class _StrictLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """YAML loader that rejects duplicate keys, aliases and merges (`<<`).

    PyYAML silently keeps the last key; ten lines of aliases can expand to more than fits in memory.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            line = event.start_mark.line + 1
            raise ValueError(f"line {line}: aliases (*{event.anchor}) are not read. Write it out.")
        self._depth += 1
        self._values += 1
        try:
            DEPTH.check(self._depth)
            VALUES.check(self._values)
        except LimitError as error:
            line = self.peek_event().start_mark.line + 1
            raise LimitError(f"line {line}: {error}.") from None
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        # The node of `!!set [1]` is a list.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key = key_node.value
            if key in seen:
                line = key_node.start_mark.line + 1
                raise ValueError(f"line {line}: the key '{key}' appears twice. Remove one.")
            if key_node.tag == "tag:yaml.org,2002:merge":
                line = key_node.start_mark.line + 1
                raise ValueError(f"line {line}: merges (<<) are not read. Write it out.")
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and abs(value) >= 2**63:
                raise ValueError("a whole number of more than 64 bits: write it with a point")
            if isinstance(value, (int, float)) and _OTHER_BASE.fullmatch(node.value):
                raise ValueError(f"YAML reads {node.value} as {value:g}: write {value:g}")
            return value
        except _VALUE_ERRORS as error:
            if isinstance(error, ValueError) and str(error).startswith("line "):
                raise
            line = node.start_mark.line + 1
            raise ValueError(f"line {line}: a value has the wrong type ({_why(error)}).") from None


def parse_yaml(text: str) -> Any:
    """Return the content of a YAML text; ValueError, in one line, if it is not valid."""
    TEXT.check(len(text))
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except OverflowError:  # PyYAML's, of "\\U99999999"
        raise ValueError("is no valid YAML: an escaped character does not exist.") from None
    except yaml.YAMLError as error:
        raise ValueError(f"is no valid YAML: {_one_line(error)}") from None


def parse_json(text: str) -> Any:
    """Return the content of a JSON text; ValueError, in one line, if it is not valid."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise DEPTH.error() from None
    except ValueError as error:  # also of a number of more than 4300 digits
        raise ValueError(f"is no JSON: {' '.join(_why(error).split())}") from None
    level, depth = [content], 0
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        DEPTH.check(depth)
        level = [e for each in level for e in (each.values() if type(each) is dict else each)]
    return content


def read_text(path: Path) -> str:
    """Return the text of a file within the limit TEXT; ValueError names the file."""
    try:
        return read_regular(path)
    except ValueError as error:
        raise ValueError(f"{path}: cannot be read: {error}.") from error


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; ValueError, as of `parse_yaml`, names the file."""
    text = read_text(path)
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _why(error: Exception) -> str:
    return str(error).partition("; use sys.")[0]


def _one_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{' '.join(problem.split())}"


@contextlib.contextmanager
def named_file(path: str, advice: str = "") -> Iterator[None]:
    """Put the file's path before the text of a ValueError, and the advice behind it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}{advice and f'; {advice}'}") from None


def read_section(path: str, names: Sequence[str], advice: str) -> dict[str, Any]:
    """Return the content of the first `NODE: ros__parameters:` that has one of the names.

    Args:
        path: `~` is expanded.
        advice: How to get a valid file, for messages.

    Raises:
        ValueError: There is no such file, or it is another kind of file; the message names it.
    """
    try:
        text = read_regular(expanded(path))
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}; {advice}, or give its file") from None
    try:
        document = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error} {advice}") from None
    nodes = document.values() if isinstance(document, dict) else ()
    for node in nodes:
        section = node.get("ros__parameters") if isinstance(node, dict) else None
        if isinstance(section, dict) and any(name in section for name in names):
            return section
    wanted = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    raise ValueError(
        f"parameters '{path}': no {wanted} below '/**: ros__parameters:'; is it another kind of "
        f"file? {advice}"
    )
