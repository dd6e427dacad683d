"""Tests that need Gazebo ask for the fixture `gazebo`; without it they are left out in one line.

Tests of whole graphs, which ask for `domain` or `gazebo`, stay in one process, one after the other,
when tests run in several: their nodes need the other processor. ``colcon test`` tests packages side
by side; only one such test at a time runs in a checkout.

This file is in force for a package by itself, too: pytest finds it beside pyproject.toml, in the
folder above the package.
"""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Iterator

import pytest

# A message field of the wrong type is an error; ROS lets it pass otherwise. Messages read it once,
# when they are imported.
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"

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


def _runs_a_graph(item: pytest.Item) -> bool:
    return bool({"domain", "gazebo"} & set(getattr(item, "fixturenames", ())))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test of a whole graph wait until no other process of this checkout runs one."""
    if not _runs_a_graph(item):
        yield
        return
    with open(__file__) as checkout:
        fcntl.flock(checkout, fcntl.LOCK_EX)  # the kernel frees it, however this process ends
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests of graphs; leave out those that need Gazebo where there is none."""
    for item in items:
        if _runs_a_graph(item):
            item.add_marker(pytest.mark.xdist_group("graph"))
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
