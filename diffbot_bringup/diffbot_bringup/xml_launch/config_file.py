# SPDX-License-Identifier: Apache-2.0
"""Parameters of a launch that are no arguments: which there are, and the check of a file of them.

A launch file reads ``config/NAME.yaml``, and after it the file of the argument ``config``. In the
former a parameter with a comment is set there only; others are arguments', or make the nodes a run.
"""

from __future__ import annotations

import contextlib
import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diffbot_bringup.usage import UsageError, suggestion
from diffbot_bringup.xml_launch.document import LARGEST, Element, included, read
from diffbot_bringup.xml_launch.substitutions import Scope, Share, perform
from diffbot_bringup.xml_launch.substitutions import parse as parse_template
from diffbot_description.named_paths import expanded

ARGUMENT = "config"
NO_FILE = "none"
ALL_NODES = "**"
_NODE = re.compile(r"/\*\*(?:/(\w+))?:\s*")
_VALUE = re.compile(r"    (\w+): *(.*?)(?:  +# *(.*))?")
_REMARK = re.compile(r"    # *(.*)")
_OF_ARGUMENT = re.compile(r"'?\$\(var (\w+)[^)]*\)'?")

_COMMENT = "        # "


@dataclass(frozen=True)
class ConfigEntry:
    """A parameter in a file that a launch file reads; the comment has its meaning and unit.

    `node`: its node, or ``**`` for all. Without a comment it is not meant to be changed.
    """

    node: str
    name: str
    text: str
    comment: str


def settings(root: Element, share: Share, including: tuple[Path, ...] = ()) -> list[ConfigEntry]:
    """Return the parameters in the files that a launch file, and the files it includes, read."""
    result: dict[tuple[str, str], ConfigEntry] = {}
    arguments = {each.attributes.get("name") for each in root.all("arg")}
    scope = _defaults(root, share, including)
    for element in root.all("include"):
        path = included(element, share)
        if path is not None and path not in including:
            inner = settings(read(path).root, share, (*including, path))
            result |= {(each.node, each.name): each for each in inner}
    for path in _files(root, share):
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(LARGEST).splitlines()
        for each in _read(lines):
            of_argument = _OF_ARGUMENT.fullmatch(each.text)
            if of_argument and of_argument.group(1) in arguments:
                each = replace(each, comment="")
            elif each.comment:
                with contextlib.suppress(ValueError):
                    each = replace(each, text=perform(parse_template(each.text), scope))
            result[each.node, each.name] = each
    return list(result.values())


def _defaults(root: Element, share: Share, including: tuple[Path, ...]) -> Scope:
    scope = Scope(os.environ, share)
    for each in root.children:
        if {"if", "unless"} & each.attributes.keys():
            continue
        if each.tag == "include":
            path = included(each, share)
            if path is not None and path not in including:
                inner = _defaults(read(path).root, share, (*including, path))
                scope.configurations.update(inner.configurations)
            continue
        text = each.attributes.get({"arg": "default", "let": "value"}.get(each.tag, ""), "")
        if "$(command" not in text:
            with contextlib.suppress(ValueError):
                value = perform(parse_template(text), scope)
                scope.configurations[each.attributes.get("name", "")] = value
    return scope


def _files(root: Element, share: Share) -> list[Path]:
    paths: dict[Path, None] = {}
    scope = Scope(os.environ, share)
    for node in root.all("node"):
        for param in node.all("param"):
            try:
                path = Path(perform(parse_template(param.attributes.get("from", "")), scope))
            except ValueError:  # a variable: the file of the argument config
                continue
            if path.suffix == ".yaml" and path.is_file():
                paths[path] = None
    return list(paths)


def _read(lines: Sequence[str]) -> list[ConfigEntry]:
    """Read a file of this project, without YAML, which may not be installed yet."""
    result, node, remarks = [], None, list[str]()
    for line in lines:
        if match := _NODE.fullmatch(line):
            node = match.group(1) or ALL_NODES
        elif match := _REMARK.fullmatch(line):
            remarks.append(match.group(1))
            continue
        elif node and (match := _VALUE.fullmatch(line)):
            name, text, comment = match.groups()
            remarks += [comment] if comment else []
            result.append(ConfigEntry(node, name, text, " ".join(remarks)))
        remarks = []
    return result


def describe_settings(known: Sequence[ConfigEntry]) -> str:
    """Return the second part of ``--show-args``; empty if there are no parameters."""
    shown = [each for each in known if each.comment]
    if not shown:
        return ""
    lines = ["", "Parameters (in a file of this form, passed as 'config:=<file>'):"]
    node = None
    for each in sorted(shown, key=lambda each: each.node):
        if each.node != node:
            node = each.node
            heading = "/**" if node == ALL_NODES else f"/**/{node}"
            lines += ["", f"    {heading}:", "      ros__parameters:"]
        remark = textwrap.fill(
            each.comment, 100, initial_indent=_COMMENT, subsequent_indent=_COMMENT
        )
        lines += [remark, f"        {each.name}: {each.text}"]
    lines += ["", "docs/parameters.md has all others, and the limits."]
    return "\n" + "\n".join(lines)


def check_moved(names_given: Iterable[str], known: Sequence[ConfigEntry]) -> None:
    """Raise UsageError for a parameter given as an argument, which says where it belongs."""
    for argument in names_given:
        places = [
            f"{each.node}: {argument}" for each in known if each.name == argument and each.comment
        ]
        if places:
            raise UsageError(
                f"argument '{argument}:=...' is a parameter: write it into a file, config:=FILE, "
                f"below the name of its node ({'; '.join(places)}); --show-args shows such a file"
            )


def check_file(path: str, known: Sequence[ConfigEntry]) -> None:
    """Raise UsageError for a file with a node that the launch does not have, or a wrong parameter.

    `path` is the value of the argument `config`. Needs the environment: the nodes' parameters.
    """
    if path == NO_FILE or not known:
        return
    from diffbot_bringup.node_parameters import check_parameter
    from diffbot_description.files import read_yaml

    try:
        content = read_yaml(expanded(path))
    except ValueError as error:
        raise UsageError(f"argument '{ARGUMENT}' = {error}") from None
    where = f"argument '{ARGUMENT}' = '{path}'"
    if not isinstance(content, dict) or not content:
        raise UsageError(f"{where}: no parameters below 'NODE: ros__parameters:'")
    nodes = list(dict.fromkeys(each.node for each in known if each.node != ALL_NODES))
    for key, section in content.items():
        node = str(key).rpartition("/")[2]
        values = section.get("ros__parameters") if isinstance(section, dict) else None
        if not isinstance(values, dict):
            raise UsageError(f"{where}: no parameters below '{key}: ros__parameters:'")
        if node != ALL_NODES and node not in nodes:
            raise UsageError(
                f"{where}: this launch has no node '{node}'{suggestion(node, nodes)}; "
                f"it has: {', '.join(nodes)}"
            )
        for name, value in values.items():
            owners = _owners(name, node, nodes, known, where) if node == ALL_NODES else [node]
            try:
                for each in owners:
                    check_parameter(each, str(name), value)
                    _check_form(each, str(name), value, known)
            except ValueError as error:
                raise UsageError(f"{where}: {error}") from None


def _check_form(node: str, name: str, value: Any, known: Sequence[ConfigEntry]) -> None:
    """Raise ValueError for a list where the launch gives a text, which ROS would take instead."""
    given_as_text = any(
        each.node == node and each.name == name and each.text.startswith("'") for each in known
    )
    if given_as_text and isinstance(value, list):
        text = ",".join(map(str, value))
        raise ValueError(f"parameter '{name}' = {value}: write it as text, '{text}'")


def _owners(
    name: Any, section: str, nodes: Sequence[str], known: Sequence[ConfigEntry], where: str
) -> list[str]:
    from diffbot_bringup.node_parameters import has_parameter

    own = [each.node for each in known if each.name == name and each.node != ALL_NODES]
    if own:
        raise UsageError(
            f"{where}: '{name}' below '/**' has no effect, as the launch sets it by node; "
            f"write it below {' and '.join(f'/**/{node}' for node in own)}"
        )
    owners = [node for node in nodes if has_parameter(node, str(name))]
    if not owners:
        raise UsageError(f"{where}: no node of this launch has a parameter '{name}'")
    return owners
