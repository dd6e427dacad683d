"""Builds the command line of a ``<node>`` as launch_ros does."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from diffbot_bringup.usage import suggestion
from diffbot_bringup.xml_launch.document import Element
from diffbot_bringup.xml_launch.process import ParameterText
from diffbot_bringup.xml_launch.substitutions import Scope, installed_prefix, perform
from diffbot_bringup.xml_launch.templates import split
from diffbot_bringup.xml_launch.values import ParameterValue

Command = list["str | ParameterText"]

_TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(rf"/|(?:/{_TOKEN})+")


def executables(package: str) -> dict[str, str]:
    """Return name -> path of a package's executables (``<prefix>/lib/<package>``).

    Raises ValueError when the package is not in the ament index.
    """
    folder = Path(installed_prefix(package), "lib", package)
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
        return None if template is None else perform(template, scope)

    def words(name: str) -> list[str]:
        parts = split(element.templates[name]) if name in element.templates else []
        return [perform(part, scope) for part in parts]

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
        perform(element.templates[first], scope),
        perform(element.templates[second], scope),
    )


def _parameters(element: Element, scope: Scope, full_name: str) -> Command:
    """One ``--params-file`` for each ``<param>``, in file order: a later one wins."""
    result: Command = []
    for param in element.all("param"):
        if "from" in param.templates:
            path = perform(param.templates["from"], scope)
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
    name = prefix + perform(param.templates["name"], scope)
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
