# SPDX-License-Identifier: Apache-2.0
"""What the value of a launch argument has to be, by its default and its name.

A value has to be of its default's kind: a whole number, a number, or a row of as many numbers.
Some names mean the same in all launch files of the suite, and their default says too little:
robots, poses, files of parameters, loads, precisions, rooms, windows, what is never below zero.
Everything else is text. All other limits of numbers are for the node to tell that takes them.

Standard library only: values are checked before there is an environment.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from diffbot_bringup.usage import suggestion
from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.substitutions import Scope, Share, Text, parse

Form = Callable[[str], "str | None"]
"""Returns what is wrong with a value, None where nothing is."""

# As YAML reads it, which makes text of 1e-3 and an octal number of 010.
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_DECIMAL = re.compile(r"(?:[-+]?\d+\.\d*|\.\d+)(?:[eE][-+]\d+)?")
_PI = re.compile(r"[-+]?(?:[\d.]+\*)?pi(?:/[\d.]+)?")
_SHARE = re.compile(r"[-+]?[\d.]+%")
_PRECISION = re.compile(r"(?:K[5-8][\s=]+[\d.]+\s*%?[\s,]*)+", re.IGNORECASE)
_NONE = ("none", "")
# What a file of parameters may be instead of a file, by name and default of the argument.
_INSTEAD_OF_FILE = {
    ("parameters", "robot"): ("robot", "topic", "adaptive"),
    ("parameters", "sigma"): ("sigma",),
    ("nominal_parameters", "robot"): ("robot",),
    ("prior", "none"): ("none",),
    ("trajectory_file", "none"): ("none",),
}


def form_of(name: str, default: str, share: Share, has_choices: bool = False) -> Form | None:
    """Return how the values of an argument are judged; None: any text will do.

    Args:
        name: of the argument.
        default: its value when it is not given.
        share: finds the package that has the robots.
        has_choices: whether the launch file lists its values, of which each may be of another kind.
    """
    if has_choices:
        return _window if name == "gui" else None
    if words := _INSTEAD_OF_FILE.get((name, default)):
        return partial(_file, words)
    if name == "robot" and default in (robots := _robots(share)):
        return partial(_robot, robots)
    if name == "simulated_robot" and default in _NONE:
        return partial(_robot, ["none", *_robots(share)])
    form = _NAMED.get(name)
    if form is not None and (default in _NONE or form(default) is None):
        return form
    if default == "[]":
        return _numbers
    for form in (_whole, _number, partial(_row, default.count(",") + 1)):
        if form(default) is None:
            return partial(_at_least, form, _LEAST[name]) if name in _LEAST else form
    return None


def _whole(text: str) -> str | None:
    return None if _WHOLE.fullmatch(text) else "not a whole number"


def _number(text: str) -> str | None:
    if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
        return None
    return "not a number such as 2, 0.5 or 1.0e-3"


def _at_least(form: Form, least: int, text: str) -> str | None:
    return form(text) or (f"below {least}" if float(text) < least else None)


def _row(count: int, text: str) -> str | None:
    words = text.strip().removeprefix("[").removesuffix("]").split(",")
    if len(words) == count and all(map(_is_finite, words)):
        return None
    return f"not {count} numbers with commas between them"


def _numbers(text: str) -> str | None:
    words = text.strip().removeprefix("[").removesuffix("]").strip()
    if not words or all(map(_is_finite, words.split(","))):
        return None
    return "not a list of numbers such as [1.0, 2.5]"


def _pose(text: str) -> str | None:
    words = re.split(r"\s*,\s*|\s+", text.strip())
    if len(words) == 3 and all(_is_finite(word) or _PI.fullmatch(word) for word in words):
        return None
    return "not three numbers such as 1.0,-0.5,pi/2"


def _payload(text: str) -> str | None:
    words = text.replace(",", " ").split()
    four = len(words) == 4 and all(map(_is_finite, words))
    if four or text == "none" or _SHARE.fullmatch(text):
        return None
    return "neither none, a share such as 50%, nor four numbers such as 2.5,0,0.05,0.06"


def _precision(text: str) -> str | None:
    if not text.strip() or _PRECISION.fullmatch(text.strip()):
        return None
    return "not pairs of a parameter and a percentage such as 'K5 5% K6 5% K7 1% K8 1%'"


def _room(text: str) -> str | None:
    words = text.lower().replace("x", " ").replace(",", " ").split()
    if not words or len(words) == 2 and all(map(_is_positive, words)):
        return None
    return "not length x width such as 3x3, both above 0"


def _frames(text: str) -> str | None:
    words = text.split()
    if not words or len(words) == 2 and words[0] != words[1]:
        return None
    return "not two frames, one that stands still and the robot's, such as 'map base_link'"


def _file(instead: Sequence[str], text: str) -> str | None:
    if text in instead or Path(text).expanduser().is_file():
        return None
    return f"neither {', '.join(instead)} nor a file that exists{suggestion(text, instead)}"


def _robots(share: Share) -> list[str]:
    """Names of the robots that come with the suite."""
    try:
        folder = Path(share("diffbot_description"), "config")
    except ValueError:
        return []
    return sorted(path.stem for path in folder.glob("*.yaml"))


_ROBOT_FILES = (".yaml", ".yml", ".urdf", ".xacro")


def _robot(known: Sequence[str], text: str) -> str | None:
    if text in known:
        return None
    if text.endswith(_ROBOT_FILES) and (path := Path(text).expanduser()).is_file():
        return _not_yaml(path) if path.suffix in (".yaml", ".yml") else None
    return (
        f"neither {', '.join(known)} nor a robot's YAML, URDF or xacro file that exists"
        f"{suggestion(text, known)}"
    )


def _not_yaml(path: Path) -> str | None:
    """What is wrong with a YAML file at first sight; a robot's fields are for the nodes to read."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return f"no valid YAML{place}; correct it"
    except (OSError, UnicodeDecodeError) as error:
        return f"no file that can be read: {error}"
    if not isinstance(content, dict):
        return "no robot's file, which holds named values; copy twil.yaml"
    return None


def _folder(text: str) -> str | None:
    path = Path(text).expanduser()
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir():
        return f"no folder that can be made: {there} is a file; give another one"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"no folder that can be written: {there} may only be read; give another one"
    return None


def _window(text: str) -> str | None:
    if text.lower() in ("false", "0") or os.environ.get("DISPLAY"):
        return None
    return "and there is no display: DISPLAY is not set; leave it out"


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
}


# Least values of numbers that mean the same in all launch files.
_LEAST = {"encoder_counts": -1} | dict.fromkeys(
    (
        "amplitude", "angular_velocity", "arena", "dead_time", "duration", "hold", "laps",
        "linear_velocity", "margin", "memory", "ramp_down", "ramp_up", "seed", "settling_time",
        "side", "speed", "torque_delay", "torque_limit", "torque_noise", "verification",
    ),
    0,
)  # fmt: skip


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
_MOST_BRACKETS = 20  # of a value; lists of scalars need one


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
