# SPDX-License-Identifier: Apache-2.0
"""Launch files, read into elements that know their line and checked against the supported schema.

The whole file is checked before anything runs, including branches that are not taken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from diffbot_bringup.usage import UsageError, check_one_of, suggestion
from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.substitutions import Scope, Share, Template, parse, split
from diffbot_description.named_paths import check_regular


class LaunchError(UsageError):
    """A launch file cannot be used. The text starts with ``file:line:`` if known."""

    def __init__(self, message: str, file: Path | None = None, line: int | None = None) -> None:
        super().__init__(message if file is None else f"{file}:{line}: {message}")


# Not in diffbot_description/limits.py, which loads a parser of XML.
LARGEST = 1_000_000  # bytes of a file
DEEPEST = 50  # nested elements; functions that walk them recurse once per level


@dataclass
class Element:
    """One XML element: its tag, raw attributes, children, and its file and line."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list[Element] = field(default_factory=list)
    templates: dict[str, Template] = field(default_factory=dict)  # filled by the schema check

    def error(self, message: str) -> LaunchError:
        """Make an error that names this element's file and line."""
        return LaunchError(message, self.file, self.line)

    def all(self, tag: str) -> list[Element]:
        """Return the children with this tag, in file order."""
        return [child for child in self.children if child.tag == tag]


@dataclass(frozen=True)
class Document:
    """A launch file: its root element and its comments (texts, in file order)."""

    root: Element
    comments: tuple[str, ...]


def read(path: Path) -> Document:
    """Parse the XML of a launch file; LaunchError if it cannot be read or is not well-formed."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise LaunchError(f"cannot read the launch file {path}: {error.strerror}") from None
    except ValueError as error:
        raise LaunchError(f"cannot read the launch file {path}: {error}") from None
    if len(data) > LARGEST:
        raise LaunchError(f"cannot read the launch file {path}: it exceeds {LARGEST} bytes")
    reader = _Reader(path)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        text = expat.ErrorString(error.code)
        raise LaunchError(f"not well-formed XML: {text}", path, error.lineno) from None
    return Document(reader.root, tuple(reader.comments))


class _Reader:
    """Collects the events of expat, which is used directly because it reports line numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.comments: list[str] = []
        self.stack: list[Element] = []
        self.root: Element
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _tag: self.stack.pop()
        self.parser.CommentHandler = self.comments.append

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.path, self.parser.CurrentLineNumber)
        if len(self.stack) >= DEEPEST:
            raise element.error(f"<{tag}>: elements are nested deeper than {DEEPEST}")
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)


SUFFIX = ".launch.xml"
NO_FILES = "no launch files found; is the workspace sourced?"
# Packages that are searched for a bare NAME, in this order.
PACKAGES = (
    "diffbot_bringup",
    "diffbot_description",
    "diffbot_sim",
    "diffbot_ident",
    "diffbot_controllers",
    "arc_odometry",
    "pose2d_trajectories",
)


def launch_files(share: Share) -> dict[str, Path]:
    """Return the suite's launch files: name (without ``.launch.xml``) -> path."""
    files: dict[str, Path] = {}
    for package in PACKAGES:
        for path in _of_package(package, share):
            files.setdefault(path.name.removesuffix(SUFFIX), path)
    return dict(sorted(files.items()))


def find(name: str, words: list[str], share: Share) -> tuple[Path, list[str]]:
    """Return the absolute path of a launch file, and the remaining words.

    `name` is that of a launch file of the suite (``ident`` or ``ident.launch.xml``), a path, or a
    package, whose launch file the first of the `words` names.

    Raises:
        UsageError: No such launch file; the text lists the known names.
    """
    if words and ":=" not in words[0]:
        files = {path.name: path for path in _of_package(name, share)}
        if words[0] in files:
            return files[words[0]].absolute(), words[1:]
    path = Path(name).absolute()
    if "/" in name:
        if path.is_file():
            return path, words
        raise UsageError(f"launch file {path} does not exist")
    files = launch_files(share)
    if (short := name.removesuffix(SUFFIX)) in files:
        return files[short].absolute(), words
    if not path.is_file():
        if not files:
            raise UsageError(NO_FILES)
        check_one_of("launch file", name, files, "the launch files are")
    return path, words


def headline(path: Path) -> str:
    """Return the first line of the first comment that is not a copyright notice."""
    for comment in read(path).comments:
        line = next((line.strip() for line in comment.splitlines() if line.strip()), "")
        if line and not line.startswith(("Copyright", "SPDX")):
            return line
    return ""


def _of_package(package: str, share: Share) -> list[Path]:
    try:
        return sorted(Path(share(package), "launch").glob(f"*{SUFFIX}"))
    except ValueError:
        return []


_CONDITIONS = ("if", "unless")
_ACTIONS = (
    *("arg", "let", "include", "group", "push_ros_namespace", "push-ros-namespace", "node"),
    *("set_env", "set_remap", "diffbot_robot", "diffbot_run"),
)


@dataclass(frozen=True)
class Rule:
    """What one element may contain. `text` may contain substitutions, `literal` may not."""

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
        ("param", "remap"),
    ),
    "param": Rule(
        ("name", "from"), ("value", "type", "allow_substs"), (), ("param",), conditions=False
    ),
    "remap": Rule(_REMAP, (), _REMAP, conditions=False),
    "set_env": Rule(_PAIR, (), _PAIR),
    "set_remap": Rule(_REMAP, (), _REMAP),
    "diffbot_robot": Rule(conditions=False),
    "diffbot_run": Rule(literal=("owns_results",), conditions=False),
}
_INCLUDE_ARG = Rule(_PAIR, (), _PAIR, conditions=False)
# Types of parameter values: scalar type (None: YAML decides), and whether it is a list.
TYPES: dict[str, tuple[type | None, bool]] = {
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
TRUTH = {"true": True, "1": True, "false": False, "0": False}
"""What a condition or flag means, in lower case."""
# Literals of which only these values are supported, although launch accepts more.
_SUPPORTED_VALUES = {
    "on_exit": ("shutdown",),
    "respawn": ("false", "False", "0"),
    "owns_results": ("false",),
    "scoped": ("true", "True", "1", "false", "False", "0"),
    "allow_substs": ("true", "True", "1", "false", "False", "0"),
    "type": tuple(TYPES),
}
# Configurations that change how the real launch runs a process.
RESERVED = (
    *("launch-prefix", "launch-prefix-filter", "emulate_tty"),
    *("sigterm_timeout", "sigkill_timeout"),
)


def check(root: Element) -> None:
    """Check a whole launch file and parse its templates. Raises LaunchError at the first error."""
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
        if name in _SUPPORTED_VALUES and value not in _SUPPORTED_VALUES[name]:
            raise element.error(
                f"{name}={value!r} of <{element.tag}> is not supported; "
                f"supported are {', '.join(_SUPPORTED_VALUES[name])}"
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
                + (f"supported are {', '.join(rule.children)}; " if rule.children else "")
                + "use ros2 launch for others"
            )
        _check(child, _INCLUDE_ARG if element.tag == "include" else RULES[child.tag])


def _parse(element: Element, name: str, value: str) -> None:
    try:
        template = parse(value)
        substitutions.check(template)
        if name in ("args", "ros_args"):
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
    if "from" in has:
        if has - {"from", "allow_substs"} or element.children:
            raise element.error(
                "<param from=...> takes no other attribute than allow_substs, and no nested <param>"
            )
        return
    if "allow_substs" in has:
        raise element.error("'allow_substs' of <param> needs 'from'")
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
        parameter_value(element.attributes["value"], element.attributes.get("type"))
    except ValueError as error:
        raise element.error(f"value={element.attributes['value']!r}: {error}") from None


# Parameter values. Without ``type`` the text is read as YAML, after its substitutions.

_SCALARS = (int, float, bool, str)
_MAX_BRACKETS = 20  # brackets in a value; a list of scalars needs one


def parameter_value(text: str, identifier: str | None, scope: Scope | None = None) -> Any:
    """Return the value of the attributes `value` and `type`: a scalar or a list.

    Without a scope the substitutions are only checked, and stay templates. ValueError: The text
    does not fit the type, or a substitution fails.
    """
    scalar, is_list = TYPES[identifier or "yaml"]
    result = _coerce(text, scalar, is_list, text_allowed=True)
    if not isinstance(result, list):
        return _item(result, scalar, scope)
    items = [_item(item, scalar, scope) for item in result]
    if len({type(item) for item in items if not isinstance(item, tuple)}) > 1:
        raise ValueError(f"the items of {items} are not of one type")
    return items


def _item(value: Any, scalar: type | None, scope: Scope | None) -> Any:
    if isinstance(value, str):
        template = parse(value)
        substitutions.check(template)
        if len(template) > 1 or not isinstance(template[0], str):
            if scope is None:
                return template
            text = substitutions.perform(template, scope)
            return _coerce(text, scalar, False, text_allowed=False)
        value = template[0]
    if scalar is not None and not isinstance(value, scalar):
        raise ValueError(f"{value!r} is not of type {scalar.__name__}")
    return value


def _coerce(text: str, scalar: type | None, is_list: bool, text_allowed: bool) -> Any:
    """Convert text. With `text_allowed`, text that does not convert stays (a substitution)."""
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
            f"YAML reads {text!r} as {type(value).__name__}; supported are int, float, bool, text "
            "and lists of one of these (put quotes around text)"
        )
    return value


def read_scalar(text: str) -> Any:
    """Return the value of a YAML text. Raises ValueError, in one line, when it is not valid."""
    if text.count("[") + text.count("{") > _MAX_BRACKETS:
        raise ValueError(f"{text!r} has more than {_MAX_BRACKETS} brackets")
    import yaml  # not at the top: ./diffbot reads launch files before yaml is installed

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join((getattr(error, "problem", None) or str(error)).split())
        raise ValueError(f"{text!r} is not YAML: {problem}") from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        # PyYAML's own, for values such as `!!int ""` and 2001-99-99.
        raise ValueError(f"{text!r} is not a valid YAML value: {error}") from None


def _valid(value: Any, text_allowed: bool) -> bool:
    if not isinstance(value, list):
        return isinstance(value, _SCALARS)
    first = next((type(item) for item in value if type(item) is not str), str)
    return first in _SCALARS and all(
        isinstance(item, (first, str) if text_allowed else first) for item in value
    )


def included(element: Element, share: Share) -> Path | None:
    """Return the path of an include, or None when it is known only during the launch."""
    folder = element.file.parent
    scope = Scope(os.environ, share)
    scope.announce(folder)
    try:
        with scope.file(folder):
            template = parse(element.attributes.get("file", ""))
            path = Path(substitutions.perform(template, scope)).absolute()
    except ValueError:
        return None
    return path if path.is_file() and path.name.endswith(".xml") else None
