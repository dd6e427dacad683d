"""Tests that need Gazebo ask for the fixture `gazebo`; without it they are left out in one line.

Tests that compute, and need neither a graph nor Gazebo, get the marker `numeric`.

Tests of whole graphs, which ask for `domain` or `gazebo`, stay in one process, one after the other,
when tests run in several: their nodes need the other processor.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

try:
    from diffbot_sim.gazebo.installation import MISSING, find_installation
except ImportError:  # one package by itself, which does not need diffbot_sim
    MISSING = "diffbot_sim is not there"

    def find_installation() -> None:
        """There is none."""


# Of the process that started this one; the other tests' processes have it in their environment too.
_INHERITED = os.environ.get("ROS_DOMAIN_ID", "")


def _domain() -> int:
    """A DDS domain from 1 to 100, of this process's half where tests run in two processes."""
    first = 1 + 50 * (os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0")
    free = [number for number in range(first, first + 50) if str(number) != _INHERITED]
    return random.SystemRandom().choice(free)


# Runs side by side must not meet: nodes in this process and the processes that it starts get this.
os.environ["ROS_DOMAIN_ID"] = str(_domain())

_left_out: list[pytest.Item] = []


def _computes(item: pytest.Item) -> bool:
    """Whether a test is of floats: no nodes and no processes in its file, and NumPy or math."""
    names = vars(getattr(item, "module", None) or object)
    if {"rclpy", "subprocess"} & names.keys():
        return False
    homes = {
        getattr(value, "__module__", None) or getattr(value, "__name__", "")
        for value in names.values()
    }
    modules = [sys.modules.get(home) for home in homes if isinstance(home, str)]
    return any(
        module is not None and ("np" in vars(module) or "math" in vars(module))
        for module in modules
    )


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> int:
    """A DDS domain of the test's own: what an earlier test left running is not met."""
    number = _domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    return number


@pytest.fixture(scope="session")
def gazebo() -> object:
    """Return the installation of Gazebo to test with."""
    return find_installation()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests of graphs; leave out those that need Gazebo where there is none."""
    for item in items:
        if {"domain", "gazebo"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("graph"))
        elif _computes(item):
            item.add_marker(pytest.mark.numeric)
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
