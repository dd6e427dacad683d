# SPDX-License-Identifier: Apache-2.0
"""docs/parameters.md has every parameter of every node, as the nodes declare them."""

import re
import runpy
from dataclasses import fields
from pathlib import Path

import pytest

from diffbot_bringup.node_parameters import PARAMETERS
from diffbot_bringup.workspace.packages import find_packages

pytest.importorskip("rclpy")

ROOT = Path(__file__).resolve().parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "parameters.py"))
# Arguments of `diffbot simulate`, which shows them itself, and faults of a file: no node
# declares them.
NOT_OF_NODES = {
    "DriveArguments",
    "Fault",
    "PathArguments",
    "RunArguments",
    "TorqueRunArguments",
    "VelocityArguments",
    "VelocityDriveArguments",
}
SOURCES = [
    path for package in find_packages(ROOT) for path in (package.path / package.name).rglob("*.py")
]


def test_the_page_is_up_to_date():
    written = MADE["PAGE"].read_text(encoding="utf-8")
    assert written == MADE["page"](), "run: ./diffbot python docs/parameters.py"


def test_the_page_has_every_table():
    named = r"^class (\w+)(?:\([\w, ]*\))?:\n(?: {4}.*\n|\n)*? {4}\w+: [\w\[\], .]+ = parameter\("
    there = {name for path in SOURCES for name in re.findall(named, path.read_text(), re.MULTILINE)}
    shown = {table.__name__ for kind in MADE["nodes"]().values() for table in kind.__mro__}
    assert len(there) > 25
    assert there - NOT_OF_NODES <= shown


@pytest.mark.parametrize("node", PARAMETERS)
def test_defaults_have_the_type_that_type_checkers_know(node):
    for each in fields(MADE["nodes"]()[node]):
        assert each.type.partition("[")[0] == type(each.default).__name__, each.name
