# SPDX-License-Identifier: Apache-2.0
"""Each package imports only from the layers that docs/architecture.md puts above it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Rows such as "| 4 | `diffbot_sim` (...), `diffbot_ident` (...) |".
ROWS = re.findall(
    r"^\| (\d) \| (.+) \|$", (ROOT / "docs/architecture.md").read_text(), flags=re.MULTILINE
)
LAYER = {
    name: int(number)
    for number, packages in ROWS
    for name in re.findall(r"`(\w+)`", packages)
    if (ROOT / name / "package.xml").is_file()
}


def imported(file):
    """Names of the packages that a module imports, also within functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def test_every_package_has_a_layer():
    assert LAYER.keys() == {path.parent.name for path in ROOT.glob("*/package.xml")}


@pytest.mark.parametrize("name", [name for name in LAYER if (ROOT / name / "setup.py").is_file()])
def test_a_package_imports_only_from_the_layers_above_it(name):
    wrong = {
        f"{file.relative_to(ROOT)}: {other}"
        for file in (ROOT / name / name).rglob("*.py")
        for other in imported(file)
        if other != name and LAYER.get(other, 0) >= LAYER[name]
    }
    assert not wrong
