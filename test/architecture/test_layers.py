# SPDX-License-Identifier: Apache-2.0
"""Packages import from lower layers only, and the core imports no tools.

docs/architecture.md has the layers, and which packages are tools: those in tools/. The front door,
the `diffbot` command, starts tools as well: diffbot_bringup/commands/ alone may import them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {package.name: package for package in find_packages(ROOT)}
TOOLS = {name for name, package in PACKAGES.items() if package.path.parent == ROOT / "tools"}
CORE = PACKAGES.keys() - TOOLS
FRONT_DOOR = "diffbot_bringup"
# Rows such as "| 4 | `diffbot_sim` (...), `diffbot_ident` (...) |".
ROWS = re.findall(
    r"^\| (\d+) \| (.+) \|$", (ROOT / "docs/architecture.md").read_text(), flags=re.MULTILINE
)
LAYER = {
    name: int(number)
    for number, packages in ROWS
    for name in re.findall(r"`(\w+)`", packages)
    if name in PACKAGES
}


def imported(text: str) -> Iterator[str]:
    """Names of the packages that a module imports, also within functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def files_of(name: str) -> list[Path]:
    return sorted((PACKAGES[name].path / name).rglob("*.py"))


def test_every_package_has_a_layer():
    assert LAYER.keys() == PACKAGES.keys()


def test_tools_and_core_are_those_of_the_page():
    assert len(TOOLS) == 10 and len(CORE) == 9
    front, tools = LAYER[FRONT_DOOR], {LAYER[name] for name in TOOLS}
    assert max(LAYER[name] for name in CORE - {FRONT_DOOR}) < min(tools) <= max(tools) < front


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_package_imports_only_from_the_layers_above_it(name):
    wrong = {
        f"{file.relative_to(ROOT)}: {other}"
        for file in files_of(name)
        for other in imported(file.read_text(encoding="utf-8"))
        if other != name and LAYER.get(other, 0) >= LAYER[name]
    }
    assert not wrong


def test_the_front_door_alone_imports_tools():
    """Its other files, which run before a command is chosen, do not."""
    results = {
        file
        for name in sorted(CORE)
        for file in files_of(name)
        if TOOLS & {*imported(file.read_text(encoding="utf-8"))}
    }
    assert results  # the commands that the tools implement
    door = PACKAGES[FRONT_DOOR].path / FRONT_DOOR / "commands"
    assert [file for file in results if door not in file.parents] == []


@pytest.mark.parametrize("name", sorted(CORE - {FRONT_DOOR}))
def test_a_package_of_the_core_is_built_and_tested_without_tools(name):
    """colcon builds and tests it where tools/ is not there."""
    manifest = (PACKAGES[name].path / "package.xml").read_text(encoding="utf-8")
    assert TOOLS & {*re.findall(r"depend[^>]*>(\w+)<", manifest)} == set()
    tests = sorted((PACKAGES[name].path / "test").rglob("*.py"))
    helpers = {file.stem: file for file in (ROOT / "test").glob("*.py")}
    packages = {folder.parent.name for folder in (ROOT / "test").rglob("__init__.py")}
    for file in tests:
        used = {*imported(file.read_text(encoding="utf-8"))}
        for helper in used & helpers.keys():
            used |= {*imported(helpers[helper].read_text(encoding="utf-8"))}
        assert used & (TOOLS | packages | {FRONT_DOOR}) == set(), file
