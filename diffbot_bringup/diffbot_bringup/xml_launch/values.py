"""What the value of a launch argument has to be, by its default and its name.

A value has to be of its default's kind: a whole number, a number, or a row of as many numbers.
Some names mean the same in all launch files of the suite, and their default says too little:
robots, poses, files of parameters, loads, precisions, rooms. Everything else is text. Whether a
number is within its limits is for the node to say that takes it.

Standard library only: values are checked before there is an environment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from diffbot_bringup.usage import suggestion
from diffbot_bringup.xml_launch.substitutions import Share

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
}


def form_of(name: str, default: str, share: Share) -> Form | None:
    """Return how the values of an argument are judged; None: any text will do.

    Args:
        name: of the argument.
        default: its value when it is not given.
        share: finds the package that has the robots.
    """
    if words := _INSTEAD_OF_FILE.get((name, default)):
        return partial(_file, words)
    if name == "robot" and default in (robots := _robots(share)):
        return partial(_robot, robots)
    form = _NAMED.get(name)
    if form is not None and (default in _NONE or form(default) is None):
        return form
    if default == "[]":
        return _numbers
    for form in (_whole, _number, partial(_row, default.count(",") + 1)):
        if form(default) is None:
            return form
    return None


def _whole(text: str) -> str | None:
    return None if _WHOLE.fullmatch(text) else "not a whole number"


def _number(text: str) -> str | None:
    if _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text):
        return None
    return "not a number such as 2, 0.5 or 1.0e-3"


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
    if not words or len(words) == 2 and all(map(_is_finite, words)):
        return None
    return "not length x width such as 3x3"


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


def _robot(known: Sequence[str], text: str) -> str | None:
    if text in known or text.endswith((".yaml", ".yml")) and Path(text).expanduser().is_file():
        return None
    return (
        f"neither {', '.join(known)} nor the YAML file of a robot that exists"
        f"{suggestion(text, known)}"
    )


def _is_finite(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


_NAMED: dict[str, Form] = {
    "start": _pose,
    "goal": _pose,
    "payload": _payload,
    "until": _precision,
    "arena": _room,
}
