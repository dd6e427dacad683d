# SPDX-License-Identifier: Apache-2.0
"""diffbot-suite can be installed where the page says, as the resolver sees it."""

from pathlib import Path

import pytest

from diffbot_bringup.workspace.suite_platforms import PLATFORMS, unresolved
from diffbot_bringup.workspace.uv import NO_NETWORK

ROOT = Path(__file__).resolve().parents[2]


# The corners of the table, which takes minutes as a whole.
@pytest.mark.parametrize(
    ("system", "python", "extra"),
    [("Windows x86-64", "3.14", "fleet"), ("macOS arm64", "3.10", "mujoco")],
)
def test_it_resolves(system, python, extra):
    said = unresolved(ROOT, PLATFORMS[system], python, extra)
    if NO_NETWORK.search(said):
        pytest.skip("the package index cannot be reached")
    assert said == ""


def test_a_python_that_is_too_old_is_told():
    said = unresolved(ROOT, PLATFORMS["Linux x86-64"], "3.8")
    if NO_NETWORK.search(said):
        pytest.skip("the package index cannot be reached")
    assert "No solution found" in said
