# SPDX-License-Identifier: Apache-2.0
"""Arguments of a launch: which ones its files declare, which are given, and their validation.

Standard library only: arguments are checked before the environment exists.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of, suggestion
from diffbot_bringup.xml_launch.config_file import ConfigEntry, check_moved, settings
from diffbot_bringup.xml_launch.document import Element, find, included, launch_files, read
from diffbot_bringup.xml_launch.substitutions import (
    Scope,
    Share,
    installed_share,
    perform,
    unescape,
)
from diffbot_bringup.xml_launch.substitutions import parse as parse_template
from diffbot_description.command_parser import CommandParser
from diffbot_description.named_paths import expanded
from diffbot_description.number_text import list_items, number


@dataclass(frozen=True)
class Argument:
    """One ``<arg>``. `default` is the raw text; `conditional`: it stands behind an if or unless."""

    name: str
    default: str | None
    description: str | None
    choices: tuple[str, ...]
    conditional: bool
    element: Element

    @property
    def needed(self) -> bool:
        """Whether the launch needs a value from outside."""
        return self.default is None and not self.conditional

    @classmethod
    def read(cls, element: Element, conditional: bool = False) -> Argument:
        attributes = element.attributes
        description = attributes.get("description")
        return cls(
            name=unescape(attributes.get("name", "")),
            default=attributes.get("default"),
            description=None if description is None else unescape(description),
            choices=tuple(unescape(c.attributes.get("value", "")) for c in element.all("choice")),
            conditional=conditional or _has_condition(element),
            element=element,
        )

    def check_choice(self, value: str) -> None:
        """Raise UsageError when a value is not one of the choices."""
        if self.choices and value not in self.choices:
            raise UsageError(
                f"argument {self.name!r} is {value!r}, not one of {', '.join(self.choices)}"
                f"{suggestion(value, self.choices)}"
            )


def _has_condition(element: Element) -> bool:
    return "if" in element.attributes or "unless" in element.attributes


@dataclass(frozen=True)
class Arguments:
    """All arguments that a launch accepts.

    Attributes:
        declared: Those of the file and its includes, in file order; the first of a name counts.
        complete: Whether all included files are known before the launch.
    """

    declared: list[Argument]
    complete: bool

    @classmethod
    def of(cls, root: Element, share: Share | None = None) -> Arguments:
        """Collect the arguments of a launch file and, with `share`, of the files it includes.

        Raises:
            LaunchError: An included file is not well-formed.
        """
        arguments: dict[str, Argument] = {}
        complete = True

        def walk(parent: Element, conditional: bool, files: tuple[Path, ...]) -> None:
            nonlocal complete
            for element in parent.children:
                inner = conditional or _has_condition(element)
                if element.tag == "arg":
                    argument = Argument.read(element, conditional)
                    arguments.setdefault(argument.name, argument)
                elif element.tag == "group":
                    walk(element, inner, files)
                elif element.tag == "include" and share:
                    path = included(element, share)
                    if path is None:
                        complete = False
                    elif path not in files:
                        walk(read(path).root, inner, (*files, path))

        walk(root, False, (root.file,))
        return cls(list(arguments.values()), complete)

    def check_names(self, given: Iterable[str], met: Iterable[str] = ()) -> None:
        """Raise UsageError for a name that is neither declared nor was met during the launch."""
        names = {argument.name for argument in self.declared} | set(met)
        for name in given:
            check_one_of("argument", name, sorted(names), "the arguments are")

    def check(self, given: Mapping[str, str], share: Share = installed_share) -> None:
        """Raise UsageError for undeclared names and invalid values."""
        if self.complete:
            self.check_names(given)
        defaults = self._defaults(share) if given else {}
        for argument in self.declared:
            if argument.name not in given:
                continue
            value, default = given[argument.name], defaults.get(argument.name)
            argument.check_choice(value)
            if default is None or value == default:
                continue
            form = form_of(argument.name, default, share, bool(argument.choices))
            if form is not None and (complaint := form(value)):
                about = f" ({argument.description})" if argument.description else ""
                raise UsageError(f"argument {argument.name!r} is {value!r}, {complaint}{about}")

    def _defaults(self, share: Share) -> dict[str, str]:
        scope = Scope(os.environ, share)
        for argument in self.declared:
            if argument.default is not None:
                with contextlib.suppress(ValueError):
                    value = perform(parse_template(argument.default), scope)
                    scope.configurations[argument.name] = value
        return scope.configurations


def parse(words: Iterable[str]) -> dict[str, str]:
    """Read ``name:=value`` words; the last value of a name wins. Raises UsageError."""
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (name and separator and value):
            empty = ": it has no value" if name and separator else ""
            raise UsageError(f"argument {word!r} is not of the form NAME:=VALUE{empty}")
        given[name] = value
    return given


def describe(arguments: Sequence[Argument]) -> str:
    """Return the text of ``--show-args``, laid out like ``ros2 launch --show-args``."""
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ["", f"    '{argument.name}':{'*' if argument.conditional else ''}"]
        lines.append(f"        {_description(argument)}")
        if argument.default is not None:
            lines.append(f"        (default: '{argument.default}')")
    if not arguments:
        lines += ["", "  No arguments."]
    if any(argument.conditional for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def _description(argument: Argument) -> str:
    choices = list(argument.choices)
    if argument.description is None:
        return f"One of: {choices}" if choices else "no description given"
    if not choices:
        return argument.description
    return f"{argument.description.removesuffix('.')}. Valid choices are: {choices}"


_EPILOG = """\
NAME is a launch file of the suite (ident, ident.launch.xml) or a path; PACKAGE FILE works too.
A run with a simulator gets its own DDS domain, printed in the first line; without a simulator, or
with ROS_DOMAIN_ID set, the domain is not changed.
exit status: 0 all processes ended without error; 1 a process failed (it is named); 2 wrong
arguments or launch file, nothing was started; 130 stopped by Ctrl-C (143 SIGTERM, 129 SIGHUP)."""


@dataclass(frozen=True)
class Request:
    """A launch file with the arguments that it accepts and valid values of those given.

    `settings`: parameters in the files that it reads; `show_args`, `dry_run`: only list or print.
    """

    root: Element
    arguments: Arguments
    settings: list[ConfigEntry]
    given: dict[str, str]
    show_args: bool
    dry_run: bool

    @property
    def path(self) -> Path:
        return self.root.file


def understand(words: Sequence[str], share: Share = installed_share) -> Request | None:
    """Parse a command line; return None when it is empty: then the launch files are listed.

    Raises:
        UsageError: The launch file, or the first invalid argument, in one sentence.
        SystemExit: After --help, and for a wrong option.
    """
    options = _parser().parse_intermixed_args(words)
    if options.name is None and not words:
        return None
    if options.name is None or ":=" in options.name:
        files = ", ".join(launch_files(share)) or "none"
        raise UsageError(f"NAME is missing; the launch files are: {files}")
    path, rest = find(options.name, options.arguments, share)
    root = read(path).root
    arguments = Arguments.of(root, share)
    given = parse(rest)
    known = settings(root, share)
    names = {argument.name for argument in arguments.declared}
    check_moved([name for name in given if name not in names], known)
    arguments.check(given, share)
    return Request(root, arguments, known, given, options.show_args, options.dry_run)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser("diffbot launch", "Run an XML launch file.", _EPILOG)
    parser.add_argument("name", nargs="?", metavar="NAME", help="launch file; omit to list them")
    parser.add_argument("arguments", nargs="*", metavar="ARG:=VALUE", help="launch arguments")
    parser.add_argument(
        "-s", "--show-args", action="store_true", help="list the arguments and parameters"
    )
    parser.add_argument(
        "-p", "--print", "--dry-run", dest="dry_run", action="store_true",
        help="print the processes that would run, and start none",
    )  # fmt: skip
    return parser


# Which values an argument accepts: those of the type of its default (a whole number, a number, a
# list of as many numbers), or of its name, for robots, poses, files, and so on. The node that takes
# a number checks all other limits.

Form = Callable[[str], "str | None"]
"""Checks a value: returns what is wrong with it, or None when it is valid."""

# Numbers as YAML reads them: 1e-3 is text, and 010 is an octal number.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_DECIMAL = re.compile(r"(?:[-+]?\d+\.\d*|\.\d+)(?:[eE][-+]\d+)?")
_LARGEST = 2**63 - 1  # of a ROS parameter
_TOPIC = re.compile(r"~?/?[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*", re.ASCII)
_SHARE = re.compile(r"[-+]?[\d.]+%")
_NONE = ("none", "")
# Keywords accepted in place of a parameter file, by name and default of the argument.
_INSTEAD_OF_FILE = {
    ("parameters", "robot"): ("robot", "topic", "adaptive"),
    ("parameters", "sigma"): ("sigma",),
    ("prior", "none"): ("none",),
    ("config", "none"): ("none",),
}


def form_of(name: str, default: str, share: Share, has_choices: bool = False) -> Form | None:
    """Return the check for the values of an argument, or None when any text is valid.

    `has_choices`: whether the launch file lists the valid values, which may differ in type.
    """
    if has_choices:
        return _window if name == "gui" else None
    if words := _INSTEAD_OF_FILE.get((name, default)):
        return partial(_file, words)
    if name == "robot" and default in (robots := robots_of(share)):
        return partial(_robot, robots)
    form = _NAMED.get(name)
    if form is not None and (default in _NONE or form(default) is None):
        return form
    if default == "[]":
        return _numbers
    for form in (_whole, _number, partial(_row, default.count(",") + 1)):
        if form(default) is None:
            return partial(_not_negative, form) if name in _NOT_NEGATIVE else form
    return None


def _whole(text: str) -> str | None:
    if not _WHOLE.fullmatch(text):
        return "not a whole number"
    if len(text) > 20 or abs(int(text)) > _LARGEST:
        return f"beyond the largest whole number of a parameter, {_LARGEST}"
    return None


def _number(text: str) -> str | None:
    if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
        return None
    return "not a number such as 2, 0.5 or 1.0e-3"


def _not_negative(form: Form, text: str) -> str | None:
    return form(text) or ("below 0" if float(text) < 0 else None)


def _row(count: int, text: str) -> str | None:
    words = list_items(text)
    if len(words) == count and all(map(_is_finite, words)):
        return None
    return f"not {count} numbers with commas between them"


def _numbers(text: str) -> str | None:
    if all(map(_is_finite, list_items(text))):
        return None
    return "not a list of numbers such as [1.0, 2.5]"


def _pose(text: str) -> str | None:
    words = re.split(r"\s*,\s*|\s+", text.strip())
    if len(words) != 3 or not all(math.isfinite(number(word)) for word in words):
        return "not three numbers such as 1.0,-0.5,pi/2"
    if _is_finite(words[2]) and abs(float(words[2])) > math.tau:
        return f"whose heading is beyond 2 pi rad: {words[2]} degrees would be {words[2]}*pi/180"
    return None


def _payload(text: str) -> str | None:
    words = text.replace(",", " ").split()
    four = len(words) == 4 and all(map(_is_finite, words))
    if four or text == "none" or _SHARE.fullmatch(text):
        return None
    return "neither none, a share such as 50%, nor four numbers such as 2.5,0,0.05,0.06"


def _precision(text: str) -> str | None:
    if text == AUTO:
        return None
    try:
        from diffbot_ident.until import VELOCITY_UNITS, torque_limits, velocity_limits
    except ImportError:  # there is no environment yet; inside it, this check runs again
        return None
    try:
        # The node of the other kind of robot refuses it.
        of_velocity = any(name in text for name in VELOCITY_UNITS)
        (velocity_limits if of_velocity else torque_limits)(text)
    except ValueError as error:
        return f"no precision: {str(error).removeprefix(f'until = {text!r}: ')}"
    return None


def _topic(text: str) -> str | None:
    if _TOPIC.fullmatch(text):
        return None
    return "not a topic's name such as odom or /robot/odom: letters, digits and _ between single /"


def _frames(text: str) -> str | None:
    words = text.split()
    if not words or len(words) == 2 and words[0].strip("/") != words[1].strip("/"):
        return None
    return "not two frames, a fixed one and the robot's, such as 'map base_link'"


def _room(text: str) -> str | None:
    words = text.lower().replace("x", " ").replace(",", " ").split()
    if not text.strip() or len(words) == 2 and all(map(_is_positive, words)):
        return None
    return "not length x width such as 3x3, both above 0"


def _file(instead: Sequence[str], text: str) -> str | None:
    path = expanded(text)
    if text in instead or path.is_file():
        return None
    if path.is_dir():
        result = sorted(path.glob("*_parameters.yaml"))
        return f"a folder; give a file in it{f', such as {result[0]}' if result else ''}"
    return f"neither {', '.join(instead)} nor a file that exists{suggestion(text, instead)}"


def robots_of(share: Share) -> list[str]:
    """Return the names of the robots that are part of the suite."""
    try:
        folder = Path(share("diffbot_description"), "config")
    except ValueError:
        return []
    return sorted(path.stem for path in folder.glob("*.yaml"))


AUTO = "auto"
_ROBOT_FILES = (".yaml", ".yml", ".urdf", ".xacro")


def _robot(known: Sequence[str], text: str) -> str | None:
    if text in (*known, AUTO):
        return None
    if text.endswith(_ROBOT_FILES) and (path := expanded(text)).is_file():
        _check_robot(path)
        return None
    return (
        f"neither {', '.join(known)} nor a robot's YAML, URDF or xacro file that exists"
        f"{suggestion(text, known)}"
    )


def _check_robot(path: Path) -> None:
    try:
        from diffbot_description import load_robot
    except ImportError:  # there is no environment yet; inside it, this check runs again
        return
    try:
        load_robot(path)
    except ValueError as error:  # the text names the file, the field, its limit and the remedy
        raise UsageError(str(error)) from error


def _folder(text: str) -> str | None:
    if not text.isprintable():
        return "a folder whose name has characters that a terminal does not show; give another one"
    path = expanded(text)
    there = next(folder for folder in (path, *path.absolute().parents) if os.path.exists(folder))
    if not there.is_dir():
        return f"a folder that cannot be created: {there} is a file; give another one"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"a folder that cannot be written: {there} is read-only; give another one"
    return None


def _window(text: str) -> str | None:
    if text.lower() in ("false", "0") or os.environ.get("DISPLAY"):
        return None
    return "but there is no display: DISPLAY is not set; omit the argument"


def _is_finite(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _is_positive(word: str) -> bool:
    return _is_finite(word) and float(word) > 0.0


_NAMED: dict[str, Form] = {
    "start": _pose,
    "goal": _pose,
    "payload": _payload,
    "until": _precision,
    "arena": _room,
    "results": _folder,
    "tf": _frames,
    **dict.fromkeys(
        ("cmd_vel", "imu_topic", "joint_states", "odom", "pose_topic", "reference", "scan_topic"),
        _topic,
    ),
}


_NOT_NEGATIVE = ("arena", "duration", "laps", "seed", "speed", "torque_limit", "verification")
