# SPDX-License-Identifier: Apache-2.0
"""Retired words stay out of names: docs/glossary.md has the words that replace them.

Names are those of modules, classes, functions, parameters, variables and attributes. A test's name
is a sentence and may have any word.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
# Rows such as "| fraction | a part of a whole | share |".
ROWS = re.findall(r"^\| [^|]+ \| [^|]+ \| ([\w, ]+) \|$", GLOSSARY.read_text("utf-8"), re.M)
RETIRED = {word for row in ROWS for word in row.split(", ")} - {"not"}
# Words of other libraries, and of ROS: an installed package's folder share/.
OF_OTHERS = {
    *("SIG_BLOCK", "NOT_FOUND", "FileNotFoundError", "ModuleNotFoundError", "PackageNotFoundError"),
    *("get_package_share_directory", "share_directory", "installed_share"),
}
# The field's own words: held-out data, a hold of commands, an opening bracket.
FIELDS = re.compile(r"held_?out|held_by|HELD_OUT|HeldOut", re.IGNORECASE)
# Places where `share` is the folder of that name, and `outline` Pillow's.
BY_PLACE = {
    "share": re.compile(
        r"diffbot_bringup/|setup\.py|gazebo/|test/conftest|test/launch_runner|test/command"
    ),
    "opening": re.compile(r"substitutions"),
    "outline": re.compile(r"animation"),
}


@cache
def retired_words(name: str) -> list[str]:
    """Retired words among the parts of a name, in singular and plural as they are."""
    if name in OF_OTHERS or FIELDS.search(name):
        return []
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return sorted({part.lower() for part in parts} & RETIRED)


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) of what a module defines, binds and reads."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.name.startswith("test_"):
                yield line, node.name
        elif isinstance(node, ast.Name):
            yield line, node.id
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "np":
            yield line, node.attr
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg):
            yield line, str(node.arg)


def retired(file: str, text: str) -> list[str]:
    """Names with a retired word, with their places."""
    hits = [(0, part) for part in Path(file).with_suffix("").parts if not part.startswith("test_")]
    hits += list(names(ast.parse(text)))
    return [
        f"{file}:{line}: {name}"
        for line, name in hits
        for word in retired_words(name)
        if not (word in BY_PLACE and BY_PLACE[word].search(file))
    ]


def test_the_glossary_names_the_retired_words():
    assert {"told", "share", "way", "sure", "held", "takers", "block", "found"} <= RETIRED


def test_names_have_no_retired_words():
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split() or [str(path.relative_to(ROOT)) for path in ROOT.glob("[!.]*/**/*.py")]
    present = [name for name in listed if (ROOT / name).is_file()]
    assert len(present) > 300
    hits = [
        hit for name in present for hit in retired(name, (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert hits == []


def test_retired_words_are_seen_wherever_a_name_is():
    text = "def told_it(share):\n    self.way = share\n    call(held=1)\n"
    assert sorted(hit.rpartition(" ")[2] for hit in retired("a.py", text)) == [
        *("held", "share", "share", "told_it", "way")
    ]
    assert retired("block.py", "") == ["block.py:0: block"]
    assert retired("a.py", "def test_it_is_found(): ...") == []
