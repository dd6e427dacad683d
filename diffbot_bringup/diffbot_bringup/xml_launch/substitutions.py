# SPDX-License-Identifier: Apache-2.0
r"""State of a launch file while it is read, and the substitutions ``$(name arguments)``.

Standard library only, except to find packages. Arguments are separated by exactly one space; one is
bare, or a template in single or double quotes, inside of which a nested substitution cannot have
quotes again. A backslash makes the next character literal and is removed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from diffbot_bringup.usage import suggestion


@dataclass(frozen=True)
class Call:
    """One substitution: its name and its arguments."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple["str | Call", ...]
"""Plain texts, with escapes already removed, and substitutions."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# A dollar is literal when no parenthesis follows or a backslash precedes it.
_DOLLAR = r"\$(?!\()|(?<=\\)\$"
_PARENTHESIS = r"(?<=\\)[()]"
# Patterns for the text of a template and of a bare argument, by the enclosing quotes.
_STRING = {
    "": re.compile(rf"(?:[^$]|{_DOLLAR})+"),
    "'": re.compile(rf"(?:\\'|[^'\\$]|{_DOLLAR}|\\)+"),
    '"': re.compile(rf'(?:\\"|[^"\\$]|{_DOLLAR}|\\)+'),
}
_WORD = {
    "": re.compile(rf"""(?:\\["']|[^ '\\"$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+"""),
    "'": re.compile(rf"(?:\\'|[^ '\\$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+"),
    '"': re.compile(rf'(?:\\"|[^ "\\$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+'),
}


def unescape(text: str) -> str:
    """Remove each backslash and keep the character after it."""
    return text if "\\" not in text else re.sub(r"\\(.)", r"\1", text)


MOST_CALLS = 100  # substitutions in one text, including nested ones


@lru_cache(maxsize=2000)  # a value is parsed when its file is checked, and when it is performed
def parse(text: str) -> Template:
    """Parse a whole attribute value. Raises ValueError that states the column of the mistake."""
    if not text:
        return ("",)
    if text.count("$(") > MOST_CALLS:
        raise ValueError(f"{text.count('$(')} substitutions in one text; at most {MOST_CALLS}")
    parser = _Parser(text)
    template = parser.template("")
    if parser.position < len(text):
        raise parser.mistake("text or $(...)")
    return template


class _Parser:
    """Recursive descent parser for one attribute value; `quote` is the enclosing quote."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def mistake(self, expected: str) -> ValueError:
        rest = self.text[self.position : self.position + 20]
        result = f"found {rest!r}" if rest else "the text ends"
        where = f"column {self.position + 1} of {self.text!r}"
        return ValueError(f"bad substitution: expected {expected} but {result} at {where}")

    def template(self, quote: str) -> Template:
        parts: list[str | Call] = []
        while (part := self._part(_STRING[quote], quote)) is not None:
            parts.append(part)
        return tuple(parts)

    def _part(self, plain: re.Pattern[str], quote: str) -> str | Call | None:
        match = plain.match(self.text, self.position)
        if match:
            self.position = match.end()
            return unescape(match.group())
        if self.text.startswith("$(", self.position):
            return self._call(quote)
        return None

    def _call(self, quote: str) -> Call:
        self.position += 2
        name = _NAME.match(self.text, self.position)
        if not name:
            raise self.mistake("the name of a substitution")
        self.position = name.end()
        arguments: list[Template] = []
        while self._peek() == " ":
            self.position += 1
            arguments.append(self._argument(quote))
        if self._peek() != ")":
            raise self.mistake("')' or one space and an argument")
        self.position += 1
        return Call(name.group(), tuple(arguments))

    def _argument(self, quote: str) -> Template:
        opening = self._peek()
        if not quote and opening in ("'", '"'):
            self.position += 1
            template = self.template(opening)
            if self._peek() != opening:
                raise self.mistake(f"the closing {opening}")
            self.position += 1
            return template
        parts: list[str | Call] = []
        while (part := self._part(_WORD[quote], quote)) is not None:
            parts.append(part)
        if not parts:
            raise self.mistake("an argument")
        return tuple(parts)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]


def split(template: Template) -> list[Template]:
    """Split a template at the spaces of its plain text, as launch does, by the shell's rules.

    The result of a substitution is never split. Blank text gives an empty word when no word
    precedes it. ValueError: Quotes are unbalanced.
    """
    words: list[Template] = []
    word: list[str | Call] = []

    def finish() -> None:
        words.append(tuple(word))
        word.clear()

    for part in template:
        if isinstance(part, Call):
            word.append(part)
            continue
        try:
            tokens = shlex.split(part)
        except ValueError as error:
            raise ValueError(
                f"{error} in {part!r} (quotes cannot hold a substitution here)"
            ) from None
        if not tokens:
            finish()
            continue
        if part[0].isspace() and word:
            finish()
        for token in tokens[:-1]:
            word.append(token)
            finish()
        word.append(tokens[-1])
        if part[-1].isspace():
            finish()
    if word:
        finish()
    return words


# Evaluation of the expression of ``$(eval ...)``: Python's, of SUPPORTED parts only. The limits
# keep a few characters (9**9**9, 'a'*10**10) from using up all time and memory.

LONGEST = 2000  # maximum length of an expression, characters
LARGEST = 4000  # maximum size of a power in bits, of a repetition in items or characters
_LARGEST_COUNT = 1000  # maximum argument of factorial, comb and perm


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * abs(exponent) > LARGEST:
        raise ValueError(f"{base}**{exponent} is too large; write it with a decimal point")
    return operator.pow(base, exponent)


def _product(left: Any, right: Any) -> Any:
    for sequence, count in ((left, right), (right, left)):
        repeats = isinstance(sequence, (str, tuple, list)) and isinstance(count, int)
        if repeats and len(sequence) * count > LARGEST:
            raise ValueError(f"{count} repetitions are too many; the limit is {LARGEST} items")
    return operator.mul(left, right)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise ValueError("formatting of text with % is not supported; write the text out")
    return operator.mod(left, right)


def _counted(function: Callable[..., int]) -> Callable[..., int]:
    def limited(*values: Any) -> int:
        if any(isinstance(value, int) and value > _LARGEST_COUNT for value in values):
            raise ValueError(f"{function.__name__} takes numbers up to {_LARGEST_COUNT}")
        return function(*values)

    return limited


_NAMES = {name: value for name, value in vars(math).items() if not name.startswith("_")}
_NAMES |= {name: _counted(_NAMES[name]) for name in ("factorial", "comb", "perm")}
_LIMITED = {ast.Pow: _power, ast.Mult: _product, ast.Mod: _remainder}
_PARTS = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.Tuple, ast.List, ast.IfExp),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BoolOp, ast.And, ast.Or, ast.Compare),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
)
SUPPORTED = (
    "numbers, 'strings', True, False, None, + - * / // % **, comparisons, in, not in, and, or, "
    "not, a if c else b, tuples, lists and names of the math module"
)


def evaluate(text: str) -> str:
    """Return the value of the expression as `str()` formats it; ValueError if not supported."""
    if len(text) > LONGEST:
        raise ValueError(f"$(eval): {len(text)} characters; the limit is {LONGEST}: shorten it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # such as of 1if and 'a'[1.0]
            tree = ast.parse(text.lstrip(" \t"), mode="eval")
            for node in ast.walk(tree):
                _check_part(node)
            limited = ast.fix_missing_locations(_WithLimits().visit(tree))
            code = compile(limited, "$(eval)", "eval")
        functions = {function.__name__: function for function in _LIMITED.values()}
        names = {"__builtins__": {}, **_NAMES, **functions}
        return str(eval(code, names))  # of _PARTS only
    except SyntaxError as error:
        raise ValueError(f"$(eval): {error.msg} in {text!r}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"$(eval): nested too deeply; remove brackets from {text!r}") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"$(eval): {error} in {text!r}") from None


def _check_part(node: ast.AST) -> None:
    if isinstance(node, ast.Name) and node.id not in _NAMES:
        raise ValueError(f"unknown name {node.id!r} (text needs quotes); supported are {SUPPORTED}")
    other = isinstance(node, ast.Constant) and not isinstance(
        node.value, (int, float, str, type(None))
    )
    method = isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
    if other or method or not isinstance(node, _PARTS):
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise ValueError(f"{what!r} is not supported; supported are {SUPPORTED}")


class _WithLimits(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        function = _LIMITED.get(type(node.op))
        if function is None:
            return node
        return ast.Call(ast.Name(function.__name__, ast.Load()), [node.left, node.right], [])


Share = Callable[[str], str]
"""Finds the share folder of a package; raises ValueError when there is none."""


def installed_share(package: str) -> str:
    """Return the share folder of an installed package. Raises ValueError."""
    from ament_index_python.packages import get_package_share_directory

    return _find(package, get_package_share_directory)


def installed_prefix(package: str) -> str:
    """Return the prefix that a package is installed in. Raises ValueError."""
    from ament_index_python.packages import get_package_prefix

    return _find(package, get_package_prefix)


def _find(package: str, finder: Callable[[str], str]) -> str:
    try:
        return finder(package)
    except (LookupError, OSError, ValueError):
        raise ValueError(
            f"package {package!r} not found in AMENT_PREFIX_PATH; is it built and sourced?"
        ) from None


class Scope:
    """State shared by the elements of a launch file, with the rules of ROS 2 launch.

    A scoped group restores configurations and environment at its end; an include does not. The
    configurations ``ros_namespace`` (text) and ``ros_remaps`` (list of pairs) are those of
    launch_ros.
    """

    def __init__(self, environment: Mapping[str, str], share: Share = installed_share) -> None:
        self.configurations: dict[str, Any] = {}
        self.environment = dict(environment)
        self.share = share
        self._directory: Path | None = None
        self._last_included: Path | None = None

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Restore configurations and environment at the end of the context (a scoped group).

        As in launch, entries that a group adds to an existing list of remaps remain.
        """
        configurations, environment = dict(self.configurations), dict(self.environment)
        try:
            yield
        finally:
            self.configurations, self.environment = configurations, environment

    @contextmanager
    def file(self, directory: Path) -> Iterator[None]:
        """Make `directory` the folder of the current launch file."""
        outer = self._directory
        self._directory = directory
        try:
            yield
        finally:
            self._directory = outer

    def announce(self, directory: Path) -> None:
        """Remember the folder of the file that an include is about to read."""
        self._last_included = directory

    def directory(self) -> str:
        """Return the folder of the current launch file.

        ROS 2 launch returns that of the file included last. ValueError: They differ, so either
        answer would be wrong in one of the two.
        """
        if self._last_included != self._directory:
            raise ValueError(
                "$(dirname) in or after an <include> of a file from another folder: ros2 launch "
                f"gives the folder of the included file ({self._last_included}) here; "
                "use $(find-pkg-share PACKAGE), or read $(dirname) with <let> before the include"
            )
        return str(self._directory)


def check(template: Template) -> None:
    """Raise ValueError when a substitution is unknown or has a wrong number of arguments."""
    for part in template:
        if isinstance(part, str):
            continue
        if part.name not in _KNOWN:
            raise ValueError(
                f"$({part.name}) is not supported{suggestion(part.name, _KNOWN)}; "
                f"supported are {', '.join(f'$({name})' for name in _KNOWN)}; "
                "use ros2 launch for others"
            )
        _, least, most = _KNOWN[part.name]
        if not least <= len(part.arguments) <= most:
            count = str(least) if least == most else f"{least} or {most}"
            raise ValueError(f"$({part.name}) takes {count} argument(s), not {len(part.arguments)}")
        for argument in part.arguments:
            check(argument)


def perform(template: Template, scope: Scope) -> str:
    """Return the text of a template. Raises ValueError when a substitution fails."""
    return "".join(_part(part, scope) for part in template)


def _part(part: str | Call, scope: Scope) -> str:
    if isinstance(part, str):
        return part
    arguments = [perform(argument, scope) for argument in part.arguments]
    try:
        return _KNOWN[part.name][0](scope, *arguments)
    except ValueError as error:
        used = _used(part, scope) if part.name == "eval" else {}
        if not used:
            raise
        values = ", ".join(f"{name}:={value}" for name, value in used.items())
        raise ValueError(f"with {values}: {error}") from None


def _used(part: Call, scope: Scope) -> dict[str, str]:
    used: dict[str, str] = {}
    for call in (inner for template in part.arguments for inner in template):
        if isinstance(call, Call):
            used |= _used(call, scope)
            if call.name == "var":
                used[perform(call.arguments[0], scope)] = _part(call, scope)
    return used


def _variable(scope: Scope, name: str, default: str | None = None) -> str:
    value = scope.configurations.get(name, default)
    if value is None:
        known = sorted(scope.configurations)
        raise ValueError(
            f"$(var {name}): no argument or variable has this name{suggestion(name, known)}; "
            f"known here: {', '.join(known) or 'none'}"
        )
    return str(value)


def _environment(scope: Scope, name: str, default: str | None = None) -> str:
    value = scope.environment.get(name, default)
    if value is None:
        raise ValueError(f"$(env {name}): this environment variable is not set; add a default")
    return value


def _command(scope: Scope, text: str, on_stderr: str = "fail") -> str:
    if on_stderr not in ("fail", "ignore", "warn", "capture"):
        raise ValueError(
            f"$(command): {on_stderr!r} is not one of fail, ignore, warn, capture (standard error)"
        )
    stderr = subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE
    try:
        result = subprocess.run(
            shlex.split(text),
            stdout=subprocess.PIPE,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            text=True,
            env=scope.environment,
            check=False,
        )
    except (OSError, IndexError) as error:
        raise ValueError(f"$(command): cannot run {text!r}: {error}") from None
    if result.returncode != 0:
        shown = result.stderr or result.stdout
        raise ValueError(f"$(command): {text!r} ended with {result.returncode}:\n{shown}")
    if result.stderr and on_stderr == "fail":
        raise ValueError(
            f"$(command): {text!r} wrote to standard error (allow it with 'warn' or 'ignore'):\n"
            f"{result.stderr}"
        )
    if result.stderr and on_stderr == "warn":
        print(f"[WARNING] [launch]: {text!r} wrote:\n{result.stderr}", file=sys.stderr)
    return result.stdout


_KNOWN: dict[str, tuple[Callable[..., str], int, int]] = {
    # name: (function of the scope and the arguments, minimum and maximum number of arguments)
    "var": (_variable, 1, 2),
    "env": (_environment, 1, 2),
    "eval": (lambda _scope, text: evaluate(text), 1, 1),
    "command": (_command, 1, 2),
    "dirname": (Scope.directory, 0, 0),
    "find-pkg-share": (lambda scope, package: scope.share(package), 1, 1),
}
