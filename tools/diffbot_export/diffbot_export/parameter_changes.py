# SPDX-License-Identifier: Apache-2.0
"""Values of an exported parameter file beside those of a running node: what would change.

Files are those of sourced_value.py, with source and interval as a comment above each value. Knows
no ROS.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import yaml

from diffbot_description.files import parse_yaml, read_text
from diffbot_export.sourced_value import ASSUMED, Value, scalar

ANY_NODE = "/**"
PARAMETERS = "ros__parameters"
BACKUP_HEAD = "# Values of running nodes before diffbot apply changed them."
# Largest changes that are no question of their own: of lengths and their multipliers as a
# fraction, of everything else as a factor.
LENGTH_BOUND, FACTOR_BOUND = 0.2, 2.0
_LENGTHS = re.compile(r"(?:(?:left|right)_)?wheel_(?:radius|separation)(?:_multiplier)?")
# A controller manager reads its parameters when it starts.
_MANAGER = "controller_manager"
_RESTART = "write it into the node's parameter file (controller YAML) and start the node again"


@dataclass(frozen=True)
class ProposedValue:
    """A parameter of a file: its section, dotted name, value, and the comment above it."""

    section: str
    name: str
    value: Value
    source: str


@dataclass(frozen=True)
class ParameterFile:
    """What a file proposes.

    Attributes:
        assumed: Values that the file holds as comments because they are assumptions, "NAME: VALUE".
        is_backup: Whether it holds the values from before a change.
    """

    proposed: tuple[ProposedValue, ...]
    assumed: tuple[str, ...]
    is_backup: bool

    @property
    def sections(self) -> list[str]:
        """Names of the nodes, in their order."""
        return [*dict.fromkeys(each.section for each in self.proposed)]


@dataclass(frozen=True)
class RunningParameter:
    """A parameter of a running node; `value` None: it has none."""

    value: Value | None
    read_only: bool = False
    lower: float = -math.inf
    upper: float = math.inf


class ChangeKind(Enum):
    """What becomes of a proposed value."""

    EQUAL = "equal"
    SET = "set"
    LARGE = "large"
    """Beyond LENGTH_BOUND or FACTOR_BOUND: to be agreed to by name."""
    ABSENT = "not there"
    REFUSED = "refused"


@dataclass(frozen=True)
class ParameterChange:
    """A proposed value beside that of the node.

    Attributes:
        old: None: the node has none.
        new: In the node's type.
        reason: Why it is refused or large; empty otherwise.
    """

    proposed: ProposedValue
    old: Value | None
    new: Value
    kind: ChangeKind
    reason: str = ""

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self.proposed.name

    @property
    def is_wanted(self) -> bool:
        """Whether it is to be set."""
        return self.kind in (ChangeKind.SET, ChangeKind.LARGE)


def read_parameters(path: Path) -> ParameterFile:
    """Read a ROS parameter file with comments.

    Raises:
        ValueError: It is none, or holds no parameter.
    """
    text = read_text(path)
    try:
        content = parse_yaml(text)
        proposed = (*_proposed(text, content),)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    assumed = tuple(
        comment.removeprefix(ASSUMED)
        for comment in _paragraphs(text.splitlines())
        if comment.startswith(ASSUMED)
    )
    if not proposed:
        hint = f"; only assumptions: {', '.join(assumed)}" if assumed else ""
        raise ValueError(f"{path}: it sets no parameter{hint}")
    return ParameterFile(proposed, assumed, text.startswith(BACKUP_HEAD))


def _proposed(text: str, content: object) -> Iterator[ProposedValue]:
    lines = text.splitlines()
    if not isinstance(content, dict):
        raise ValueError("is no ROS parameter file: NODE: ros__parameters: NAME: VALUE")
    for node, body in yaml.compose(text, Loader=yaml.SafeLoader).value:
        section = node.value
        if not isinstance(content[section], dict) or {*content[section]} != {PARAMETERS}:
            raise ValueError(f"{section}: must have '{PARAMETERS}' and nothing else")
        ((_, tree),) = body.value
        for name, value, line in _leaves(tree, content[section][PARAMETERS], ""):
            yield ProposedValue(section, name, value, _comment_above(lines, line))


def _leaves(tree: yaml.Node, content: object, begin: str) -> Iterator[tuple[str, Value, int]]:
    """Yield the dotted name, the value and the line, from 0, of each value."""
    if not isinstance(content, dict):
        raise ValueError(f"{begin or PARAMETERS}: must hold parameters")
    for key, node in tree.value:
        name, value = f"{begin}{key.value}", content[key.value]
        if isinstance(value, dict):
            yield from _leaves(node, value, f"{name}.")
        elif isinstance(value, (bool, int, float, str)) or _is_list(value):
            yield name, value, key.start_mark.line
        else:
            raise ValueError(f"line {key.start_mark.line + 1}: {name}: is no value of a parameter")


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(e, (bool, int, float, str)) for e in value)


def _comment_above(lines: Sequence[str], line: int) -> str:
    begin = line
    while begin and lines[begin - 1].lstrip().startswith("#"):
        begin -= 1
    above = [*_paragraphs(lines[begin:line])][-1:]
    return "" if not above or above[0].startswith(ASSUMED) else above[0]


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Yield comments as they were before they were wrapped: what follows is indented further."""
    words: list[str] = []
    for line in [*lines, ""]:
        mark, comment = line.lstrip()[:1], line.lstrip()[1:]
        if mark == "#" and comment.startswith("   ") and words:
            words.append(comment.strip())
            continue
        if words:
            yield " ".join(words)
        words = [comment.strip()] if mark == "#" else []


def changes(
    proposed: Iterable[ProposedValue], running: Mapping[str, RunningParameter]
) -> list[ParameterChange]:
    """Return each value beside that of the node, in their order."""
    return [_change(each, running.get(each.name)) for each in proposed]


def _change(given: ProposedValue, there: RunningParameter | None) -> ParameterChange:
    if there is None:
        reason = "the node has no parameter of this name: another version, or another node?"
        return ParameterChange(given, None, given.value, ChangeKind.ABSENT, reason)
    old, new = there.value, given.value
    if type(old) is float and type(new) is int:
        new = float(new)
    if scalar_text(old) == scalar_text(new):
        return ParameterChange(given, old, new, ChangeKind.EQUAL)
    if reason := _refusal(given, new, there):
        return ParameterChange(given, old, new, ChangeKind.REFUSED, reason)
    assert old is not None
    reason = _beyond(given.name, _numbers(old), _numbers(new))
    return ParameterChange(given, old, new, ChangeKind.LARGE if reason else ChangeKind.SET, reason)


def _refusal(given: ProposedValue, new: Value, there: RunningParameter) -> str:
    if there.read_only:
        return f"it is read-only: {_RESTART}"
    if given.section.rpartition("/")[2] == _MANAGER:
        return f"a controller manager reads it when it starts: {_RESTART}"
    if type(new) is not type(there.value):
        return f"the node's value has another type: {scalar_text(there.value)}"
    if not isinstance(new, bool) and not _numbers(new):
        return f"names hold from the start of a node: {_RESTART}"
    for number in _numbers(new):
        if _LENGTHS.fullmatch(given.name) and not 0.0 < number < math.inf:
            return "a length must be above 0"
        if number < there.lower or number > there.upper:
            return f"must be {there.lower:g} to {there.upper:g}"
    return ""


def _numbers(value: Value) -> list[float]:
    values: Sequence[object] = value if isinstance(value, list) else [value]
    return [float(each) for each in values if type(each) is int or type(each) is float]


def _beyond(name: str, old: Sequence[float], new: Sequence[float]) -> str:
    """Return why a change is a question of its own; NaN, no limit, may become any limit."""
    is_length = _LENGTHS.fullmatch(name) is not None
    for before, after in zip(old, new, strict=False):
        if is_length and not abs(after - before) <= LENGTH_BOUND * abs(before):
            return f"more than {100.0 * LENGTH_BOUND:g} %"
        if is_length or math.isnan(before):
            continue
        low, high = sorted((before / FACTOR_BOUND, before * FACTOR_BOUND))
        if not low <= after <= high:
            return f"more than a factor of {FACTOR_BOUND:g}"
    return ""


def scalar_text(value: Value | None) -> str:
    """Return a value as a person reads it."""
    return "none" if value is None else scalar(value)


def backup(wanted: Mapping[str, Sequence[ParameterChange]], advice: Sequence[str]) -> str:
    """Return the parameter file with the old values of nodes, to the last digit.

    Args:
        wanted: By the full name of the node.
        advice: Lines for the head.
    """
    content = {
        node: {PARAMETERS: {each.name: each.old for each in of_node}}
        for node, of_node in wanted.items()
    }
    head = "".join(f"# {line}\n" for line in advice)
    return f"{BACKUP_HEAD}\n{head}{yaml.safe_dump(content, sort_keys=False)}"


def holds_when(node: str, changed: Iterable[str], running: Mapping[str, RunningParameter]) -> str:
    """Return when a controller takes its new values, if not at once; empty otherwise.

    diff_drive_controller reads lengths and limits when it is configured, until ros2_controllers
    6.7.0, from which on lengths are read-only and limits are live.
    """
    radius = running.get("wheel_radius")
    if "left_wheel_names" not in running or radius is None or radius.read_only:
        return ""
    if not any(
        _LENGTHS.fullmatch(name) or name.startswith(("linear.", "angular.")) for name in changed
    ):
        return ""
    name = node.rpartition("/")[2]
    return (
        f"{name} takes them when it is configured again. While the robot stands: "
        f"ros2 control switch_controllers --deactivate {name} && ros2 service call "
        "/controller_manager/configure_controller controller_manager_msgs/srv/ConfigureController "
        f'"{{name: {name}}}" && ros2 control switch_controllers --activate {name}'
    )
