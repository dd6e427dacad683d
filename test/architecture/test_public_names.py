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


def declared(file: Path) -> dict[str, str]:
    """Modules of the names that type checkers see."""
    return {
        str(alias.asname): str(node.module)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


LAZY = {
    package.name: package.path / package.name / "__init__.py"
    for package in find_packages(ROOT)
    if (file := package.path / package.name / "__init__.py").exists()
    and "lazy_names(" in file.read_text(encoding="utf-8")
}


@pytest.mark.parametrize("package", LAZY)
def test_the_names_of_a_package_are_those_that_type_checkers_see(package):
    seen, loaded = declared(LAZY[package]), import_module(package)
    assert seen and set(seen) == set(loaded.__all__)
    assert all(module.startswith(f"{package}.") for module in seen.values())
    for name, module in seen.items():
        if package != "diffbot_node":  # whose names need ROS
            assert getattr(loaded, name) is getattr(import_module(module), name)
    with pytest.raises(AttributeError):
        _ = loaded.no_such_name


@pytest.mark.parametrize("package", LAZY)
def test_importing_a_package_loads_nothing_else(package):
    """So that its executables set their signal handlers before NumPy loads."""
    program = f"import sys, {package}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
