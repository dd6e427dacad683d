# SPDX-License-Identifier: Apache-2.0
"""A class name stands for one thing: it occurs once in all packages.

Two classes of one name are told apart only by their import, and `as` then gives one of them a third
name. Names with an underscore count, too: they stand in tracebacks and are searched for.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]


def classes(text: str) -> list[str]:
    """Names of the classes that a module defines, inner ones as well."""
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def occurring_twice(files: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Of (file, text): the names of classes that are defined more than once, with their files."""
    results: dict[str, list[str]] = defaultdict(list)
    for file, text in files:
        for name in classes(text):
            results[name].append(file)
    return {name: where for name, where in results.items() if len(where) > 1}


def production_files() -> list[Path]:
    """Modules of the packages, without their tests."""
    return [
        file
        for package in find_packages(ROOT)
        for file in (package.path / package.name).rglob("*.py")
    ]


def test_a_class_name_exists_once():
    files = production_files()
    assert len(files) > 200
    reported = ((str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in files)
    assert occurring_twice(reported) == {}


def test_the_second_class_of_a_name_is_found():
    first = "class State:\n    class _Row:\n        pass\n"
    assert occurring_twice([("a.py", first), ("b.py", "class State: ...\nclass Row: ...")]) == {
        "State": ["a.py", "b.py"]
    }
    assert occurring_twice([("a.py", first), ("b.py", "if 1:\n    class _Row: ...")]) == {
        "_Row": ["a.py", "b.py"]
    }
