# SPDX-License-Identifier: Apache-2.0
"""Executables start quickly, and names of the package are found when they are asked for."""

import os
import subprocess
import sys

import pytest

import diffbot_node
from diffbot_node.executables import Executable


def test_an_executable_loads_ros_only_when_it_is_called():
    code = "import sys, diffbot_node.executables; sys.exit('rclpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        diffbot_node.Nonsense  # noqa: B018


def test_what_libraries_read_is_set_before_they_are_loaded_unless_it_is_given(monkeypatch):
    monkeypatch.setenv("GIVEN", "mine")
    monkeypatch.delenv("MISSING", raising=False)
    Executable("os", "getcwd", {"GIVEN": "theirs", "MISSING": "new"}).set_environment()
    assert (os.environ["GIVEN"], os.environ.pop("MISSING")) == ("mine", "new")
