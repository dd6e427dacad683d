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


def test_too_little_memory_is_a_sentence():
    """A list of 10^15 numbers; 8000 TB are more than an address space has."""
    code = (
        "from diffbot_node.executables import Executable as e; import diffbot_node; "
        "diffbot_node.run = lambda: [0] * 10**15; "
        "import sys; sys.modules['work'] = diffbot_node; sys.argv = ['/a/node']; "
        "raise SystemExit(e('work', 'run')())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("node: not enough memory") and done.stderr.count("\n") == 1


def test_what_libraries_read_is_set_before_they_are_loaded_unless_it_is_given(monkeypatch):
    monkeypatch.setenv("GIVEN", "mine")
    monkeypatch.delenv("MISSING", raising=False)
    Executable("os", "getcwd", {"GIVEN": "theirs", "MISSING": "new"}).set_environment()
    assert (os.environ["GIVEN"], os.environ.pop("MISSING")) == ("mine", "new")
