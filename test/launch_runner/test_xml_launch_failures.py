# SPDX-License-Identifier: Apache-2.0
"""What a launch tells its processes of those that have failed."""

import os

import pytest

from diffbot_bringup.xml_launch.processes import last_words, tell_failures
from diffbot_node.launch_supervision import VARIABLE, forget_failures, reported_failures, tell_why


@pytest.fixture(autouse=True)
def nothing_has_failed():
    """Other tests run nodes in this process."""
    forget_failures()


def test_told_and_read(tmp_path):
    path = tmp_path / "failures"
    environment = {VARIABLE: str(path)}
    assert reported_failures(environment) == [] and reported_failures({}) == []
    tell_failures(path, ["simulator-1 (exit code -9)", "ident-2"])
    assert reported_failures(environment) == ["simulator-1 (exit code -9)", "ident-2"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_gone_costs_the_explanation_only(tmp_path):
    tell_failures(tmp_path / "gone" / "failures", ["simulator-1"])
    assert reported_failures({VARIABLE: str(tmp_path)}) == []


def test_last_words_of_a_process_are_a_line(tmp_path):
    path = tmp_path / "failures"
    assert last_words(path, os.getpid()) == ""
    tell_why("duration = 0:\n  must be > 0; raise it", {VARIABLE: str(path)})
    tell_why("unheard", {})
    tell_why("unheard", {VARIABLE: str(tmp_path / "gone" / "failures")})
    assert last_words(path, os.getpid()) == "duration = 0: must be > 0; raise it"
