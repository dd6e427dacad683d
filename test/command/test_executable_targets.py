# SPDX-License-Identifier: Apache-2.0
"""What executables start is there."""

import ast
import importlib
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

ROOT = Path(__file__).resolve().parents[2]
STARTED = sorted(
    tuple(ast.literal_eval(argument) for argument in node.args)
    for path in ROOT.glob("*/*/executables.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "executable"
)


@pytest.mark.parametrize(("module", "name"), STARTED)
def test_what_an_executable_starts_is_there(module, name):
    assert callable(getattr(importlib.import_module(module), name))


def test_all_are_checked():
    assert len(STARTED) >= 19
