"""Tests that need Gazebo ask for the fixture `gazebo`; without it they are left out in one line."""

from __future__ import annotations

import pytest

try:
    from diffbot_sim.gazebo.installation import MISSING, find_installation
except ImportError:  # one package by itself, which does not need diffbot_sim
    MISSING = "diffbot_sim is not there"

    def find_installation() -> None:
        """There is none."""


_left_out: list[pytest.Item] = []


@pytest.fixture(scope="session")
def gazebo() -> object:
    """Return the installation of Gazebo to test with."""
    return find_installation()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need Gazebo where there is none."""
    if find_installation() is not None:
        return
    needing = [item for item in items if "gazebo" in getattr(item, "fixturenames", ())]
    _left_out.extend(needing)
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in needing]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that they were left out, and why."""
    if _left_out:
        terminalreporter.write_line(f"{len(_left_out)} tests with Gazebo were left out: {MISSING}")
