"""The supported subset of launch XML, and the check that refuses the rest by file and line.

The whole file is checked before anything runs, branches that are not taken included.
"""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_bringup.usage import suggestion
from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.document import Element
from diffbot_bringup.xml_launch.templates import parse, split
from diffbot_bringup.xml_launch.values import TYPES, ParameterValue

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
            split(template)
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
