"""Builds the command line of a ``<node>`` as launch_ros does."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch import substitutions as command_line
from diffbot_bringup.xml_launch.document import Element, suggestion
from diffbot_bringup.xml_launch.schema import ParameterValue
from diffbot_bringup.xml_launch.substitutions import Scope

# ---
# Rules for node names and namespaces, as rclpy and launch_ros have them.

_TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(rf"/|(?:/{_TOKEN})+")


def join(base: str | None, namespace: str | None) -> str | None:
    """Return the absolute namespace of `namespace` seen from `base`; None when both are None.

    An absolute `namespace` (leading slash) wins over the base; a trailing slash is dropped.
    """
    if namespace is None:
        combined = base
    elif not base or namespace.startswith("/"):
        combined = namespace
    else:
        combined = ("" if base == "/" else base) + "/" + namespace
    if combined is None:
        return None
    if combined != "/":
        combined = combined.rstrip("/")
    return combined if combined.startswith("/") else "/" + combined


def check_name(name: str) -> None:
    """Raise ValueError when `name` cannot be the name of a node."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"node name {name!r} is not valid: letters, digits and underscores only, "
            "and no digit first"
        )


def check_namespace(namespace: str) -> None:
    """Raise ValueError when the absolute `namespace` is not valid."""
    if not _NAMESPACE.fullmatch(namespace):
        raise ValueError(
            f"namespace {namespace!r} is not valid: words of letters, digits and underscores "
            "(no digit first) with one slash between them"
        )


# ---
# One process that a launch file asks for, everything resolved.

OUTPUTS = ("screen", "log", "both")


@dataclass(frozen=True)
class ParameterText:
    """Text of a parameter file that is written just before the process starts."""

    text: str

    def write(self, directory: Path, number: int) -> str:
        """Write the text into `directory` and return the path."""
        path = directory / f"parameters_{number}.yaml"
        path.write_text(self.text, encoding="utf-8")
        return str(path)


@dataclass(frozen=True)
class ProcessDescription:
    """What to run, where, with which environment, and what its end means.

    `name` labels the process in messages (``ident-2``). `output` is one of OUTPUTS: "screen"
    (straight to the terminal), "log" (to a file, standard error also to the terminal), "both".
    """

    name: str
    command: tuple[str | ParameterText, ...]
    environment: dict[str, str]
    directory: str | None = None
    output: str = "log"
    shutdown_on_exit: bool = False
    place: str = ""  # file:line of the element, for messages

    def arguments(self, directory: Path) -> list[str]:
        """Return the command line; parameter texts become files in `directory`."""
        return [
            word.write(directory, number) if isinstance(word, ParameterText) else word
            for number, word in enumerate(self.command)
        ]

    def __str__(self) -> str:
        """Return the command as a shell would take it, parameter texts shown in place."""
        words = [
            f"<{' '.join(word.text.split())}>"
            if isinstance(word, ParameterText)
            else shlex.quote(word)
            for word in self.command
        ]
        return " ".join(words)


Command = list["str | ParameterText"]


def executables(package: str) -> dict[str, str]:
    """Return name -> path of a package's executables (``<prefix>/lib/<package>``).

    Raises ValueError when the package is not in the ament index.
    """
    try:
        folder = Path(get_package_prefix(package), "lib", package)
    except (PackageNotFoundError, LookupError, OSError, ValueError):
        raise ValueError(
            f"package {package!r} not found in AMENT_PREFIX_PATH; is it built and sourced?"
        ) from None
    if not folder.is_dir():
        return {}
    return {
        path.name: str(path)
        for path in sorted(folder.iterdir())
        if path.is_file() and os.access(path, os.X_OK)
    }


def find_executable(package: str, name: str) -> str:
    """Return the path of an executable. Raises ValueError that lists the ones the package has."""
    known = executables(package)
    if name in known:
        return known[name]
    raise ValueError(
        f"package {package!r} has no executable {name!r}{suggestion(name, known)}; "
        f"it has: {', '.join(known) or 'none'}"
    )


def command(element: Element, scope: Scope) -> Command:
    """Return the command line of a node. Raises ValueError when a part is wrong."""

    def text(name: str) -> str | None:
        template = element.templates.get(name)
        return None if template is None else substitutions.perform(template, scope)

    def words(name: str) -> list[str]:
        parts = command_line.split(element.templates[name]) if name in element.templates else []
        return [substitutions.perform(part, scope) for part in parts]

    result: Command = [find_executable(text("pkg") or "", text("exec") or "")]
    result += words("args")
    if "ros_args" in element.templates:
        result += ["--ros-args", *words("ros_args")]
    result += ["--ros-args"]
    name = text("name")
    if name is not None:
        check_name(name)
        result += ["-r", f"__node:={name}"]
    namespace = join(scope.configurations.get("ros_namespace"), text("namespace"))
    if namespace is not None:
        check_namespace(namespace)
        result += ["-r", f"__ns:={namespace}"]
    for key, value in scope.configurations.get("global_params", []):
        result += ["-p", f"{key}:={value}"]
    # Only a node whose full name is known is addressed by it; else the wildcard reaches it.
    full_name = "/**"
    if name is not None and namespace is not None:
        full_name = f"{namespace.rstrip('/')}/{name}"
    result += _parameters(element, scope, full_name)
    remaps = list(scope.configurations.get("ros_remaps", []))
    remaps += [pair(remap, "from", "to", scope) for remap in element.all("remap")]
    for source, target in remaps:
        result += ["-r", f"{source}:={target}"]
    return result


def pair(element: Element, first: str, second: str, scope: Scope) -> tuple[str, str]:
    """Perform two attributes of an element."""
    return (
        substitutions.perform(element.templates[first], scope),
        substitutions.perform(element.templates[second], scope),
    )


def _parameters(element: Element, scope: Scope, full_name: str) -> Command:
    """One ``--params-file`` for each ``<param>``, in file order: a later one wins."""
    result: Command = []
    for param in element.all("param"):
        if "from" in param.templates:
            path = substitutions.perform(param.templates["from"], scope)
            if not os.path.isfile(path):
                print(
                    f"[WARNING] [launch]: {param.file}:{param.line}: parameter file {path!r} "
                    "is not a file; the node starts without it",
                    file=sys.stderr,
                )
                continue
            result += ["--params-file", path]
            continue
        values = {full_name: {"ros__parameters": _flatten(param, scope, "")}}
        result += ["--params-file", ParameterText(yaml.dump(values, default_flow_style=False))]
    return result


def _flatten(param: Element, scope: Scope, prefix: str) -> dict[str, Any]:
    """Return dotted name -> value of a ``<param>`` and the ones nested in it."""
    name = prefix + substitutions.perform(param.templates["name"], scope)
    if "value" in param.attributes:
        value = ParameterValue.parse(param.attributes["value"], param.attributes.get("type"))
        try:
            return {name: value.evaluate(scope)}
        except ValueError as error:
            raise ValueError(f"parameter {name!r} (line {param.line}): {error}") from None
    values: dict[str, Any] = {}
    for nested in param.children:
        values.update(_flatten(nested, scope, name + "."))
    return values
