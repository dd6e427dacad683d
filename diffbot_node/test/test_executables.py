# SPDX-License-Identifier: Apache-2.0
"""Executables start quickly, and names of the package are found when they are asked for."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import diffbot_node
from diffbot_node.executables import Executable


def test_an_executable_loads_ros_only_when_it_is_called():
    code = "import sys, diffbot_node.executables; sys.exit('rclpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_names_that_type_checkers_know_are_there():
    pytest.importorskip("rclpy")
    tree = ast.parse(Path(diffbot_node.__file__).read_text())
    (batch,) = (node for node in tree.body if isinstance(node, ast.If))
    known = {alias.name for line in batch.body for alias in line.names}
    assert known == {name for names in diffbot_node._MODULES.values() for name in names}
    for line in batch.body:
        for alias in line.names:
            assert getattr(diffbot_node, alias.name).__class__  # it is found
            assert line.module.removeprefix("diffbot_node.") in diffbot_node._MODULES


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        diffbot_node.Nonsense  # noqa: B018


def test_what_libraries_read_is_set_before_they_are_loaded_unless_it_is_given(monkeypatch):
    monkeypatch.setenv("GIVEN", "mine")
    monkeypatch.delenv("MISSING", raising=False)
    Executable("os", "getcwd", {"GIVEN": "theirs", "MISSING": "new"}).set_environment()
    assert (os.environ["GIVEN"], os.environ.pop("MISSING")) == ("mine", "new")
