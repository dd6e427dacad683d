# SPDX-License-Identifier: Apache-2.0
"""No modules import each other in a circle, not even within functions.

A circle is read, tested and moved as one piece, and an import within a function only hides it.
Packages import from lower layers only (test_layers.py); here files of one package count as well.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]


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
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
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
    assert circle({package.name: package.path for package in find_packages(ROOT)}) == []


def made(tmp_path: Path, **files: str) -> list[str]:
    for name, text in {"__init__": "", **files}.items():
        file = tmp_path / "fork" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return circle({"fork": tmp_path})


def test_a_circle_of_files_is_found_wherever_they_import_each_other(tmp_path):
    prong = "from fork import handle\n"
    handle = "def lift():\n    from .tip import sharp\n"
    assert made(tmp_path, prong=prong, handle=handle, tip="sharp = 1\n") == []
    result = made(tmp_path, tip="import fork.prong\n")
    assert result[0] == result[-1] and {*result} == {"fork.handle", "fork.tip", "fork.prong"}
