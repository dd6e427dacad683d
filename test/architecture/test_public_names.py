# SPDX-License-Identifier: Apache-2.0
"""Packages have the public names that they declare, for people and for type checkers alike."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]


def declared(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Modules of the names that type checkers see, and of those that Python finds."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    seen, loaded = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.asname for alias in node.names):
            seen |= {str(alias.asname): str(node.module) for alias in node.names}
        elif isinstance(node, ast.Dict):
            groups = ast.literal_eval(node)
            loaded |= {name: module for module, group in groups.items() for name in group}
    return seen, loaded


LAZY = {
    package.name: package.path / package.name / "__init__.py"
    for package in find_packages(ROOT)
    if (file := package.path / package.name / "__init__.py").exists()
    and "lazy_names(" in file.read_text(encoding="utf-8")
}


@pytest.mark.parametrize("package", LAZY)
def test_the_names_of_a_package_are_those_that_type_checkers_see(package):
    seen, loaded = declared(LAZY[package])
    assert loaded and seen == {name: f"{package}.{module}" for name, module in loaded.items()}
    for name in loaded:
        if package != "diffbot_node":  # whose names need ROS
            assert getattr(import_module(package), name).__class__ is not type(sys), name


@pytest.mark.parametrize("package", LAZY)
def test_importing_a_package_loads_nothing_else(package):
    """So that its executables set their signal handlers before NumPy loads."""
    program = f"import sys, {package}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
