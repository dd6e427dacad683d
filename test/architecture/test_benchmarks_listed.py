# SPDX-License-Identifier: Apache-2.0
"""benchmarks/README.md lists each script once, with the first sentence of its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def first_sentence(file: Path) -> str:
    """First paragraph of a script's docstring, in one line, without its full stop."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def test_each_benchmark_is_listed_once_as_it_describes_itself():
    rows = re.findall(
        r"^\| \[`(\w+\.py)`\]\(\1\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.M
    )
    listed = {name: text for name, text in rows}
    assert len(listed) == len(rows), "a script is listed twice"
    assert listed == {file.name: first_sentence(file) for file in FOLDER.glob("*.py")}
