"""Tests that need Gazebo ask for the fixture `gazebo`; without it they are left out in one line."""

from __future__ import annotations

import pytest

from diffbot_sim.gazebo.installation import MISSING, Installation, find_installation

_LEFT_OUT = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def gazebo() -> Installation | None:
    """Return the Gazebo to test with."""
    return find_installation()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need Gazebo where there is none."""
    if find_installation() is not None:
        return
    needing = [item for item in items if "gazebo" in getattr(item, "fixturenames", ())]
    config.stash[_LEFT_OUT] = len(needing)
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in needing]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say that they were left out, and why."""
    if count := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} tests with Gazebo were left out: {MISSING}")
