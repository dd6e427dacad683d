# SPDX-License-Identifier: Apache-2.0
"""No class of the packages is longer than a reader can keep in mind.

A longer one has more than one task: another class takes one of them, and is tested alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 250


def long_classes(files: Iterable[tuple[str, str]], most: int = MOST_LINES) -> dict[str, int]:
    """Of (file, text): lines of the classes that have more than `most`, by file and name."""
    return {
        f"{file}: {node.name}": lines
        for file, text in files
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > most
    }


def test_no_class_is_long():
    files = [
        file
        for package in find_packages(ROOT)
        for file in (package.path / package.name).rglob("*.py")
    ]
    assert len(files) > 200
    texts = ((str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in files)
    assert long_classes(texts) == {}


def test_a_long_class_is_found():
    text = "class Short:\n    a = 1\n\n\nif 1:\n    class Long:\n" + "        a = 1\n" * 3
    assert long_classes([("a.py", text)], 3) == {"a.py: Long": 4}
    assert long_classes([("a.py", text)], 4) == {}
