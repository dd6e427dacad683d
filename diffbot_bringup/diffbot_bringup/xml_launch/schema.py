"""The supported subset of launch XML, and the check that refuses the rest by file and line.

The whole file is checked before anything runs, branches that are not taken included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch import substitutions as command_line
from diffbot_bringup.xml_launch.document import Element, Text, parse, suggestion
from diffbot_bringup.xml_launch.substitutions import Scope

# ---
# The value of a parameter: which type the text of ``<param value=...>`` means.
#
# Without ``type`` the text is read as YAML (``5`` int, ``5.0`` float, ``true`` bool, ``[1, 2]``
# list, ``'5'`` in quotes text). A substitution is performed first and its text is read as YAML.

TYPES: dict[str, tuple[type | None, bool]] = {
    # identifier: (type of the scalar or None for YAML's choice, is a list)
    "int": (int, False),
    "float": (float, False),
    "bool": (bool, False),
    "str": (str, False),
    "list_of_int": (int, True),
    "list_of_float": (float, True),
    "list_of_bool": (bool, True),
    "list_of_str": (str, True),
    "yaml": (None, False),
}
_SCALARS = (int, float, bool, str)


@dataclass(frozen=True)
class ParameterValue:
    """A value whose substitutions are still to be performed.

    `value` is a scalar, a template, or a list of both.
    """

    value: Any
    scalar: type | None
    is_list: bool

    @classmethod
    def parse(cls, text: str, identifier: str | None) -> ParameterValue:
        """Read the attributes `value` and `type`. Raises ValueError when they do not fit."""
        scalar, is_list = TYPES[identifier or "yaml"]
        value = _interpolate(_coerce(text, scalar, is_list, text_allowed=True))
        _check_type(value, scalar, is_list)
        return cls(value, scalar, is_list)

    def evaluate(self, scope: Scope) -> Any:
        """Perform the substitutions and return the final value (scalar or list)."""
        if isinstance(self.value, tuple):
            text = substitutions.perform(self.value, scope)
            return _coerce(text, self.scalar, self.is_list, text_allowed=False)
        if not isinstance(self.value, list):
            return self.value
        items = [
            _coerce(substitutions.perform(item, scope), self.scalar, False, text_allowed=False)
            if isinstance(item, tuple)
            else item
            for item in self.value
        ]
        if not _valid(items, text_allowed=False):
            raise ValueError(f"the items of {items} are not of one type")
        return items


def _coerce(text: str, scalar: type | None, is_list: bool, text_allowed: bool) -> Any:
    """Convert text; with `text_allowed`, text that does not convert yet stays (a substitution)."""
    if scalar is None:
        return _from_yaml(text, text_allowed)
    if is_list:
        value = _from_yaml(text, text_allowed)
        if not isinstance(value, list) or not all(
            isinstance(item, (scalar, str) if text_allowed else scalar) for item in value
        ):
            raise ValueError(f"{text!r} is not a list of {scalar.__name__}")
        return value
    if scalar is str:
        return text
    if scalar is bool:
        value = _from_yaml({"1": "true", "0": "false"}.get(text, text), text_allowed)
    else:
        try:
            value = scalar(text)
        except ValueError:
            value = text
    if isinstance(value, (scalar, str) if text_allowed else scalar):
        return value
    raise ValueError(f"{text!r} is not of type {scalar.__name__}")


def _from_yaml(text: str, text_allowed: bool) -> Any:
    if not text:
        return text
    try:
        value = read_scalar(text)
    except ValueError:
        if text_allowed:
            return text
        raise
    if not _valid(value, text_allowed):
        raise ValueError(
            f"{text!r} is a {type(value).__name__} for YAML; supported are int, float, bool, text "
            "and lists of one of these (put quotes around text)"
        )
    return value


_MOST_BRACKETS = 20  # of a value; lists of scalars need one


def read_scalar(text: str) -> Any:
    """Value of a YAML text; raises ValueError, in one line, where it has none."""
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ValueError(f"{text!r} has more than {_MOST_BRACKETS} brackets")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join((getattr(error, "problem", None) or str(error)).split())
        raise ValueError(f"{text!r} is not YAML: {problem}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        # What PyYAML lets through of values such as `!!int ""` and 2001-99-99.
        raise ValueError(f"{text!r} is no value of its kind: {error}") from None


def _valid(value: Any, text_allowed: bool) -> bool:
    if not isinstance(value, list):
        return isinstance(value, _SCALARS)
    first = next((type(item) for item in value if type(item) is not str), str)
    return first in _SCALARS and all(
        isinstance(item, (first, str) if text_allowed else first) for item in value
    )


def _interpolate(value: Any) -> Any:
    """Parse the substitutions in text; text without any stays text, escapes taken out."""
    kinds = set()

    def one(item: Any) -> Any:
        if not isinstance(item, str):
            kinds.add(type(item))
            return item
        template = parse(item)
        substitutions.check(template)
        if len(template) == 1 and isinstance(template[0], Text):
            kinds.add(str)
            return template[0].value
        return template

    result = [one(item) for item in value] if isinstance(value, list) else one(value)
    if len(kinds) > 1:
        raise ValueError("the items of the list are not of one type")
    return result


def _check_type(value: Any, scalar: type | None, is_list: bool) -> None:
    """Refuse a value without substitutions that is not of the type asked for."""
    if isinstance(value, tuple) or scalar is None:
        return
    if isinstance(value, list) != is_list:
        raise ValueError(f"{value!r} is {'not ' if is_list else ''}a list")
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, (scalar, tuple)):
            raise ValueError(f"{item!r} is not of type {scalar.__name__}")


_CONDITIONS = ("if", "unless")
_ACTIONS = (
    *("arg", "let", "include", "group", "push_ros_namespace", "push-ros-namespace", "node"),
    *("executable", "set_env", "unset_env", "set_parameter", "set_remap", "log"),
)


@dataclass(frozen=True)
class Rule:
    """What one element may hold. `text` may hold substitutions, `literal` may not."""

    text: tuple[str, ...] = ()
    literal: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    conditions: bool = True  # takes `if` or `unless`


_PUSH = Rule(text=("namespace",), required=("namespace",))
_REMAP = ("from", "to")
_PAIR = ("name", "value")

RULES: dict[str, Rule] = {
    "launch": Rule(literal=("version", "deprecated"), children=_ACTIONS, conditions=False),
    "arg": Rule(("default",), ("name", "description"), ("name",), ("choice",)),
    "choice": Rule((), ("value",), ("value",), conditions=False),
    "let": Rule(_PAIR, (), _PAIR),
    "include": Rule(("file",), (), ("file",), ("arg",)),
    "group": Rule((), ("scoped",), (), _ACTIONS),
    "push_ros_namespace": _PUSH,
    "push-ros-namespace": _PUSH,
    "node": Rule(
        ("pkg", "exec", "name", "namespace", "exec_name", "args", "ros_args", "output", "cwd"),
        ("on_exit", "respawn"),
        ("pkg", "exec"),
        ("param", "remap", "env"),
    ),
    "executable": Rule(
        ("cmd", "name", "output", "cwd"), ("on_exit", "respawn", "shell"), ("cmd",), ("env",)
    ),
    "env": Rule(_PAIR, (), _PAIR, conditions=False),
    "param": Rule(("name", "from"), ("value", "type"), (), ("param",), conditions=False),
    "remap": Rule(_REMAP, (), _REMAP, conditions=False),
    "set_env": Rule(_PAIR, (), _PAIR),
    "unset_env": Rule(("name",), (), ("name",)),
    "set_parameter": Rule(_PAIR, (), _PAIR),
    "set_remap": Rule(_REMAP, (), _REMAP),
    "log": Rule(("message",), (), ("message",)),
}
_INCLUDE_ARG = Rule(_PAIR, (), _PAIR, conditions=False)
# Literals that may only have these values; the rest of what launch allows is refused.
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_ONLY = {
    "on_exit": ("shutdown",),
    "respawn": ("false", "False", "0"),
    "shell": ("false", "False", "0"),
    "scoped": ("true", "True", "1", "false", "False", "0"),
    "type": tuple(TYPES),
}
# Configurations that change how the real launch runs a process.
RESERVED = (
    *("launch-prefix", "launch-prefix-filter", "emulate_tty"),
    *("sigterm_timeout", "sigkill_timeout"),
)


def flag(value: str | None, default: bool) -> bool:
    """Return a literal true / false attribute."""
    return default if value is None else _FLAGS[value.lower()]


def check(root: Element) -> None:
    """Check a whole launch file and parse its templates. Raises LaunchError at the first fault."""
    if root.tag != "launch":
        raise root.error(f"the root element is <{root.tag}>, expected <launch>")
    _check(root, RULES["launch"])


def _check(element: Element, rule: Rule) -> None:
    known = rule.text + rule.literal + (_CONDITIONS if rule.conditions else ())
    for name, value in element.attributes.items():
        if name not in known:
            raise element.error(
                f"attribute {name!r} of <{element.tag}> is not supported"
                f"{suggestion(name, known)}; supported are {', '.join(known) or 'none'}"
            )
        if name in _ONLY and value not in _ONLY[name]:
            raise element.error(
                f"{name}={value!r} of <{element.tag}> is not supported; "
                f"supported are {', '.join(_ONLY[name])}"
            )
        if name not in rule.literal:
            _parse(element, name, value)
    for name in rule.required:
        if name not in element.attributes:
            raise element.error(f"<{element.tag}> needs the attribute {name!r}")
    if all(name in element.attributes for name in _CONDITIONS):
        raise element.error(f"<{element.tag}> has both 'if' and 'unless'; keep one")
    _check_special(element)
    for child in element.children:
        if child.tag not in rule.children:
            raise child.error(
                f"<{child.tag}> in <{element.tag}> is not supported"
                f"{suggestion(child.tag, rule.children)}; "
                f"supported are {', '.join(rule.children) or 'no elements'}"
            )
        _check(child, _INCLUDE_ARG if element.tag == "include" else RULES[child.tag])


def _parse(element: Element, name: str, value: str) -> None:
    try:
        template = parse(value)
        substitutions.check(template)
        if name in ("cmd", "args", "ros_args"):
            command_line.split(template)
    except ValueError as error:
        raise element.error(f"{name}={value!r}: {error}") from None
    element.templates[name] = template


def _check_special(element: Element) -> None:
    name = element.attributes.get("name")
    if element.tag in ("arg", "let") and name in RESERVED:
        raise element.error(
            f"{name!r} changes how ros2 launch runs processes and is not supported here"
        )
    if element.tag == "param":
        _check_parameter(element)


def _check_parameter(element: Element) -> None:
    has = element.attributes.keys()
    if "from" in has and (len(has) > 1 or element.children):
        raise element.error("<param from=...> takes no other attribute and no nested <param>")
    if "from" in has:
        return
    if "name" not in has:
        raise element.error("<param> needs 'name' or 'from'")
    if ("value" in has) == bool(element.children):
        raise element.error("<param name=...> needs either 'value' or nested <param>")
    for child in element.children:
        if "from" in child.attributes:
            raise child.error("a nested <param> cannot have 'from'")
    if "value" not in has:
        if "type" in has:
            raise element.error("'type' of <param> needs 'value'")
        return
    try:
        ParameterValue.parse(element.attributes["value"], element.attributes.get("type"))
    except ValueError as error:
        raise element.error(f"value={element.attributes['value']!r}: {error}") from None
