"""Performs the substitutions of launch files that the runner supports."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from diffbot_bringup.xml_launch import expression
from diffbot_bringup.xml_launch.errors import suggestion
from diffbot_bringup.xml_launch.grammar import Call, Template, Text
from diffbot_bringup.xml_launch.scope import Scope


def check(template: Template) -> None:
    """Raise ValueError when a substitution is unknown or has a wrong number of arguments."""
    for part in template:
        if isinstance(part, Text):
            continue
        if part.name not in _KNOWN:
            raise ValueError(
                f"$({part.name}) is not supported{suggestion(part.name, _KNOWN)}; "
                f"supported are {', '.join(f'$({name})' for name in _KNOWN)}"
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


def _part(part: Text | Call, scope: Scope) -> str:
    if isinstance(part, Text):
        return part.value
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
    """Names and values of the variables in a substitution: one of them is what is wrong."""
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


def _share(_scope: Scope, package: str) -> str:
    return _find(package, get_package_share_directory)


def _prefix(_scope: Scope, package: str) -> str:
    return _find(package, get_package_prefix)


def _find(package: str, finder: Callable[[str], str]) -> str:
    try:
        return finder(package)
    except (PackageNotFoundError, LookupError, OSError, ValueError):
        raise ValueError(
            f"package {package!r} not found in AMENT_PREFIX_PATH; is it built and sourced?"
        ) from None


def _executable(scope: Scope, name: str) -> str:
    path = shutil.which(name, path=scope.environment.get("PATH"))
    if path is None:
        raise ValueError(f"$(find-exec {name}): no such executable on the PATH")
    return path


def _directory(scope: Scope) -> str:
    return scope.directory()


def _evaluate(_scope: Scope, text: str) -> str:
    return expression.evaluate(text)


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
    # name: (function of the scope and the arguments, fewest arguments, most arguments)
    "var": (_variable, 1, 2),
    "env": (_environment, 1, 2),
    "eval": (_evaluate, 1, 1),
    "command": (_command, 1, 2),
    "dirname": (_directory, 0, 0),
    "find-pkg-share": (_share, 1, 1),
    "find-pkg-prefix": (_prefix, 1, 1),
    "find-exec": (_executable, 1, 1),
}
