# SPDX-License-Identifier: Apache-2.0
"""Packages import from lower layers, no files form a circle, classes are short and named once.

docs/architecture.md has the layers, and which packages are tools: those in tools/. The front door,
the `diffbot` command, starts tools as well: diffbot_bringup/commands/ alone may import them. A
circle of files is read, tested and moved as one piece, and an import within a function only hides
it. A class that is longer than a reader can keep in mind has more than one task.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {package.name: package for package in find_packages(ROOT)}
TOOLS = {name for name, package in PACKAGES.items() if package.path.parent == ROOT / "tools"}
CORE = PACKAGES.keys() - TOOLS
FRONT_DOOR = "diffbot_bringup"
MOST_LINES = 250  # of a class
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


class Statements(list[ast.stmt]):
    """A module's imports and classes, inner ones as well."""

    def __init__(self, text: str) -> None:
        kinds = (ast.Import, ast.ImportFrom, ast.ClassDef)
        super().__init__(node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self if isinstance(node, ast.ClassDef))

    def packages(self) -> Iterator[str]:
        """Names of the packages that the module imports, also within functions."""
        for node in self:
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                yield node.module.partition(".")[0]


@cache
def statements(file: Path) -> Statements:
    """Of a file, which is parsed once for all tests here."""
    return Statements(file.read_text(encoding="utf-8"))


def files_of(name: str) -> list[Path]:
    return sorted((PACKAGES[name].path / name).rglob("*.py"))


def all_statements() -> dict[str, Statements]:
    """Of every module of the packages, by file."""
    files = [file for name in PACKAGES for file in files_of(name)]
    assert len(files) > 200
    return {str(file.relative_to(ROOT)): statements(file) for file in files}


def test_every_package_has_a_layer_and_tools_and_core_are_those_of_the_page():
    assert LAYER.keys() == PACKAGES.keys()
    assert len(TOOLS) == 10 and len(CORE) == 9
    front, tools = LAYER[FRONT_DOOR], {LAYER[name] for name in TOOLS}
    assert max(LAYER[name] for name in CORE - {FRONT_DOOR}) < min(tools) <= max(tools) < front


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_package_imports_only_from_the_layers_above_it(name):
    wrong = {
        f"{file.relative_to(ROOT)}: {other}"
        for file in files_of(name)
        for other in statements(file).packages()
        if other != name and LAYER.get(other, 0) >= LAYER[name]
    }
    assert not wrong


def test_the_front_door_alone_imports_tools():
    """Its other files, which run before a command is chosen, do not."""
    results = {
        file
        for name in sorted(CORE)
        for file in files_of(name)
        if TOOLS & {*statements(file).packages()}
    }
    assert results  # the commands that the tools implement
    door = PACKAGES[FRONT_DOOR].path / FRONT_DOOR / "commands"
    assert [file for file in results if door not in file.parents] == []


@pytest.mark.parametrize("name", sorted(CORE - {FRONT_DOOR}))
def test_a_package_of_the_core_is_built_and_tested_without_tools(name):
    """colcon builds and tests it where tools/ is not there."""
    manifest = (PACKAGES[name].path / "package.xml").read_text(encoding="utf-8")
    assert TOOLS & {*re.findall(r"depend[^>]*>(\w+)<", manifest)} == set()
    helpers = {file.stem: file for file in (ROOT / "test").glob("*.py")}
    packages = {folder.parent.name for folder in (ROOT / "test").rglob("__init__.py")}
    for file in sorted((PACKAGES[name].path / "test").rglob("*.py")):
        used = {*statements(file).packages()}
        for helper in used & helpers.keys():
            used |= {*statements(helpers[helper]).packages()}
        assert used & (TOOLS | packages | {FRONT_DOOR}) == set(), file


# Circles.


def modules(folders: Mapping[str, Path]) -> dict[str, Path]:
    """Files of packages by the dotted names of their modules."""
    files = {}
    for package, folder in folders.items():
        for file in (folder / package).rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def imported(name: str, file: Path, known: Mapping[str, Path]) -> set[str]:
    """Modules among the known ones that a module imports, wherever it does so."""
    names = set()
    for node in statements(file):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                own = name if file.name == "__init__.py" else name.rpartition(".")[0]
                parts = own.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            inner = (f"{base}.{alias.name}" for alias in node.names)
            names |= {module if module in known else base for module in inner}
    return (names & known.keys()) - {name}


def circle(folders: Mapping[str, Path]) -> list[str]:
    """Modules of one circle, each of which imports the next; empty: there is none."""
    known = modules(folders)
    assert known
    graph = {name: sorted(imported(name, file, known)) for name, file in sorted(known.items())}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_files_import_each_other_in_a_circle():
    assert circle({name: package.path for name, package in PACKAGES.items()}) == []


def test_a_circle_of_files_is_found_wherever_they_import_each_other(tmp_path):
    def of(case: str, **files: str) -> list[str]:
        (tmp_path / case / "fork").mkdir(parents=True)
        for name, text in {"__init__": "", **files}.items():
            (tmp_path / case / "fork" / f"{name}.py").write_text(text)
        return circle({"fork": tmp_path / case})

    prong, handle = "from fork import handle\n", "def lift():\n    from .tip import sharp\n"
    assert of("line", prong=prong, handle=handle, tip="sharp = 1\n") == []
    result = of("circle", prong=prong, handle=handle, tip="import fork.prong\n")
    assert result[0] == result[-1] and {*result} == {"fork.handle", "fork.tip", "fork.prong"}


# Classes.


def long_classes(modules: Mapping[str, Statements], most: int = MOST_LINES) -> dict[str, int]:
    """Lines of the classes that have more than `most`, by file and name."""
    return {
        f"{file}: {node.name}": lines
        for file, module in modules.items()
        for node in module.classes()
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > most
    }


def occurring_twice(modules: Iterable[tuple[str, Statements]]) -> dict[str, list[str]]:
    """Names of classes that are defined more than once, with their files."""
    results: dict[str, list[str]] = defaultdict(list)
    for file, module in modules:
        for node in module.classes():
            results[node.name].append(file)
    return {name: where for name, where in results.items() if len(where) > 1}


def test_no_class_is_long_and_its_name_exists_once():
    assert long_classes(all_statements()) == {}
    assert occurring_twice(all_statements().items()) == {}


def test_a_long_class_is_found_and_the_second_one_of_a_name():
    text = "class Short:\n    a = 1\n\n\nif 1:\n    class Long:\n" + "        a = 1\n" * 3
    assert long_classes({"a.py": Statements(text)}, 3) == {"a.py: Long": 4}
    assert long_classes({"a.py": Statements(text)}, 4) == {}
    first, other = (
        "class State:\n    class _Row: ...\n",
        "if 1:\n    class _Row: ...\nclass Row: ...",
    )
    files = [("a.py", Statements(first)), ("b.py", Statements(other))]
    assert occurring_twice(files) == {"_Row": ["a.py", "b.py"]}
