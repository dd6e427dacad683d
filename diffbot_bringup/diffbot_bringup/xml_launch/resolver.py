# SPDX-License-Identifier: Apache-2.0
"""Walks a launch file and lists its processes, with the command lines that launch_ros makes.

Everything is resolved before the first process starts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import yaml

from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.arguments import Argument, Arguments
from diffbot_bringup.xml_launch.config_file import (
    ARGUMENT,
    NO_FILE,
    check_file,
    check_moved,
    settings,
)
from diffbot_bringup.xml_launch.document import (
    LARGEST,
    TRUTH,
    Element,
    LaunchError,
    check,
    parameter_value,
    read,
)
from diffbot_bringup.xml_launch.processes import OUTPUTS, ParameterText, ProcessDescription
from diffbot_bringup.xml_launch.robot_kind import kind_and_simulator
from diffbot_bringup.xml_launch.substitutions import (
    Scope,
    installed_prefix,
    installed_share,
    parse,
    perform,
    split,
)
from diffbot_description.run_folder import LAUNCH, new_launch_name

Command = list["str | ParameterText"]

_TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(rf"/|(?:/{_TOKEN})+")


def executables(package: str) -> dict[str, str]:
    """Return name -> path of a package's executables; ValueError if it is not installed."""
    folder = Path(installed_prefix(package), "lib", package)
    if not folder.is_dir():
        return {}
    return {
        path.name: str(path)
        for path in sorted(folder.iterdir())
        if path.is_file() and os.access(path, os.X_OK)
    }


def find_executable(package: str, name: str) -> str:
    """Return the path of an executable. The UsageError lists those that the package has."""
    known = executables(package)
    check_one_of("executable", name, known, f"package {package!r} has")
    return known[name]


def node_command(element: Element, scope: Scope) -> Command:
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
    # Parameters are addressed to the node's full name, if it is known.
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
    """Return one ``--params-file`` per ``<param>``, in file order: a later one wins."""
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
            substitutes = TRUTH[param.attributes.get("allow_substs", "false").lower()]
            result += ["--params-file", _substituted(path, scope) if substitutes else path]
            continue
        values = {full_name: {"ros__parameters": _flatten(param, scope, "")}}
        text = yaml.dump(values, default_flow_style=False)
        result += ["--params-file", ParameterText(text, values)]
    return result


def _substituted(path: str, scope: Scope) -> ParameterText:
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"parameter file {path}: exceeds {LARGEST} bytes")
    try:
        template = parse(data.decode("utf-8"))
        substitutions.check(template)
        text = perform(template, scope)
    except ValueError as error:
        raise ValueError(f"parameter file {path}: {error}") from None
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        why = " ".join(str(error).split())
        raise ValueError(
            f"parameter file {path}: with its substitutions it is not YAML (an argument with a "
            f"quote?): {why}"
        ) from None
    return ParameterText(text, content)


def _flatten(param: Element, scope: Scope, prefix: str) -> dict[str, Any]:
    name = prefix + perform(param.templates["name"], scope)
    if "value" in param.attributes:
        text, identifier = param.attributes["value"], param.attributes.get("type")
        try:
            return {name: parameter_value(text, identifier, scope)}
        except ValueError as error:
            raise ValueError(f"parameter {name!r} (line {param.line}): {error}") from None
    values: dict[str, Any] = {}
    for nested in param.children:
        values.update(_flatten(nested, scope, name + "."))
    return values


def join(base: str | None, namespace: str | None) -> str | None:
    """Return the absolute form of `namespace` relative to `base`; None when both are None."""
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


def _check_parameters(root: Element, given: Mapping[str, str]) -> None:
    known = settings(root, installed_share)
    declared = {each.name for each in Arguments.of(root).declared}
    check_moved([name for name in given if name not in declared], known)
    check_file(given.get(ARGUMENT, NO_FILE), known)


class Resolver:
    """Turns launch files into processes; appends to `processes` while it walks."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.scope = Scope(environment)
        self.processes: list[ProcessDescription] = []
        self.declared: set[str] = set()  # names of all arguments met on the way
        self._including: list[Path] = []

    def file(self, path: Path, arguments: Iterable[tuple[str, str]]) -> None:
        """Walk a launch file with arguments from the command line. Raises LaunchError."""
        root = self._open(path)
        self._missing(root, [name for name, _ in arguments], None)
        self.scope.announce(path.parent)
        self.scope.configurations.update(arguments)
        self._walk(root, path)

    def _open(self, path: Path) -> Element:
        if path in self._including:
            raise LaunchError(f"{path} includes itself")
        root = read(path).root
        check(root)
        return root

    def _walk(self, root: Element, path: Path) -> None:
        self._including.append(path)
        with self.scope.file(path.parent):
            self._visit(root)
        self._including.pop()

    def _visit(self, parent: Element) -> None:
        for element in parent.children:
            try:
                if self._wanted(element):
                    # The schema check leaves only tags that have a method.
                    getattr(self, "_" + element.tag.replace("-", "_"))(element)
            except LaunchError:
                raise
            except ValueError as error:
                raise element.error(f"<{element.tag}>: {error}") from None

    def _text(self, element: Element, name: str, default: str | None = None) -> Any:
        template = element.templates.get(name)
        return default if template is None else substitutions.perform(template, self.scope)

    def _wanted(self, element: Element) -> bool:
        """Evaluate `if` / `unless`: valid are true, 1, false, 0 (any case, surrounding blanks)."""
        for name, wanted in (("if", True), ("unless", False)):
            if name in element.templates:
                text = self._text(element, name)
                if text.strip().lower() not in TRUTH:
                    raise ValueError(
                        f"{name}={element.attributes[name]!r} gives {text!r}; "
                        "expected true, 1, false or 0"
                    )
                return TRUTH[text.strip().lower()] is wanted
        return True

    def _missing(self, root: Element, given: Iterable[str], origin: Element | None) -> None:
        declared = Arguments.of(root).declared
        missing = [arg for arg in declared if arg.needed and arg.name not in given]
        if not missing:
            return
        texts = [f"{arg.name!r} ({arg.description or 'no description'})" for arg in missing]
        if origin is None:
            raise missing[0].element.error(f"required argument(s) not given: {', '.join(texts)}")
        raise origin.error(
            f"<include> of {root.file} must pass the required argument(s) {', '.join(texts)}"
        )

    def _arg(self, element: Element) -> None:
        argument = Argument.read(element)
        name = argument.name
        self.declared.add(name)
        configurations = self.scope.configurations
        if name not in configurations:
            if argument.default is None:
                raise ValueError(f"required argument {name!r} was not given")
            configurations[name] = self._text(element, "default")
        argument.check_choice(configurations[name])

    def _let(self, element: Element) -> None:
        name, value = pair(element, "name", "value", self.scope)
        self.scope.configurations[name] = value

    def _include(self, element: Element) -> None:
        path = Path(os.path.abspath(self._text(element, "file")))
        if not path.name.endswith(".xml"):
            raise ValueError(f"cannot include {path.name!r}: only XML launch files are supported")
        root = self._open(path)
        passed = element.all("arg")
        given = [self._text(argument, "name") for argument in passed]
        self._missing(root, given, element)
        values = [self._text(argument, "value") for argument in passed]
        _check_parameters(root, dict(zip(given, values, strict=True)))
        self.scope.announce(path.parent)
        for argument in passed:
            self._let(argument)
        self._walk(root, path)

    def _group(self, element: Element) -> None:
        scoped = TRUTH[element.attributes.get("scoped", "true").lower()]
        with self.scope.saved() if scoped else nullcontext():
            self._visit(element)

    def _push_ros_namespace(self, element: Element) -> None:
        configurations = self.scope.configurations
        namespace = join(configurations.get("ros_namespace"), self._text(element, "namespace"))
        check_namespace(namespace or "")
        configurations["ros_namespace"] = namespace

    def _set_env(self, element: Element) -> None:
        name, value = pair(element, "name", "value", self.scope)
        self.scope.environment[name] = value

    def _diffbot_run(self, element: Element) -> None:
        if "owns_results" not in element.attributes:
            self.scope.environment[LAUNCH] = new_launch_name()

    def _diffbot_robot(self, _element: Element) -> None:
        scope = self.scope
        try:
            result = kind_and_simulator(scope.configurations, scope.share)
        except UsageError as error:
            raise LaunchError(str(error)) from None  # the fault is not the launch file's
        scope.configurations.update(result)

    def _set_remap(self, element: Element) -> None:
        remap = pair(element, "from", "to", self.scope)
        self.scope.configurations.setdefault("ros_remaps", []).append(remap)

    def _node(self, element: Element) -> None:
        command = node_command(element, self.scope)
        output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT") or self._text(
            element, "output", "log"
        )
        if output not in OUTPUTS:
            raise ValueError(f"output {output!r} is not supported; use {', '.join(OUTPUTS)}")
        label = self._text(element, "exec_name") or os.path.basename(str(command[0]))
        self.processes.append(
            ProcessDescription(
                name=f"{label}-{len(self.processes) + 1}",
                command=tuple(command),
                environment=dict(self.scope.environment),
                directory=self._text(element, "cwd"),
                output=output,
                shutdown_on_exit="on_exit" in element.attributes,
                looks_on=(self._text(element, "name") or "").startswith("_"),
                place=f"{element.file}:{element.line}",
            )
        )
