# SPDX-License-Identifier: Apache-2.0
"""What a launch tells its processes of those that have failed."""

from diffbot_bringup.xml_launch.processes import FAILURES, tell_failures
from diffbot_node.running import VARIABLE, told_failures


def test_told_and_read(tmp_path):
    path = tmp_path / "failures"
    environment = {VARIABLE: str(path)}
    assert told_failures(environment) == [] and told_failures({}) == []
    tell_failures(path, ["simulator-1 (exit code -9)", "ident-2"])
    assert told_failures(environment) == ["simulator-1 (exit code -9)", "ident-2"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_gone_costs_the_explanation_only(tmp_path):
    tell_failures(tmp_path / "gone" / "failures", ["simulator-1"])
    assert told_failures({VARIABLE: str(tmp_path)}) == []


def test_both_sides_mean_the_same_variable():
    assert FAILURES == VARIABLE
