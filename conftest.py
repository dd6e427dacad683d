# SPDX-License-Identifier: Apache-2.0
"""Tests that need Gazebo ask for the fixture `gazebo`; without it they are left out in one line.

Tests that ask for a time by the wall clock get the marker `wall_time`: a machine that does other
work, too, may miss it, so that the best of three tries counts. What is too slow misses all three.

Tests that compute, and need neither a graph nor Gazebo, get the marker `numeric`.

Tests of whole graphs, which ask for `domain` or `gazebo`, stay in one process, one after the other,
when tests run in several: their nodes need the other processor. So do the tests of each other file:
what they share is made once. ``colcon test`` tests packages side by side; only one test of a whole
graph at a time runs in a checkout.

This file is in force for a package by itself, too: pytest finds it beside pyproject.toml, in the
folder above the package.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# A message field of the wrong type is an error; ROS lets it pass otherwise. Messages read it once,
# when they are imported.
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
# How the system plans this process; a child of one at real-time priority keeps that.
_POLICY = os.sched_getscheduler(0)

try:
    from diffbot_bringup import domains
except ImportError:  # one package by itself; the module needs nothing but itself
    sys.path.append(str(Path(__file__).resolve().parent / "diffbot_bringup"))
    from diffbot_bringup import domains

try:
    from diffbot_sim.gazebo.installation import MISSING, find_installation
except ImportError:  # one package by itself, which does not need diffbot_sim
    MISSING = "diffbot_sim is not there"

    def find_installation() -> None:
        """There is none."""


# Runs side by side must not meet: nodes in this process and the processes that it starts get this.
_session = domains.claim("tests")
os.environ[domains.VARIABLE] = str(_session.domain)

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
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A DDS domain of the test's own: what an earlier test left running is not met."""
    with domains.claim("test") as own:
        monkeypatch.setenv(domains.VARIABLE, str(own.domain))
        yield own.domain


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


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """No test leaves its process at real-time priority: what comes after it would starve others."""
    policy = os.sched_getscheduler(0)
    if policy != _POLICY and item.get_closest_marker("real_time") is None:
        os.sched_setscheduler(0, _POLICY, os.sched_param(0))
        pytest.fail(f"the test left the scheduling policy {policy}; it was {_POLICY}")


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests of graphs; leave out those that need Gazebo where there is none."""
    for item in items:
        if _runs_a_graph(item):
            item.add_marker(pytest.mark.xdist_group("graph"))
        elif _computes(item):
            item.add_marker(pytest.mark.numeric)
        if item.get_closest_marker("wall_time"):
            item.add_marker(pytest.mark.flaky(reruns=2))
    if find_installation() is not None:
        return
    needing = [item for item in items if "gazebo" in getattr(item, "fixturenames", ())]
    _left_out.extend(needing)
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in needing]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup`` a file that has no group is one: its fixtures are made once."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group: str = super()._split_scope(nodeid)
            return group.partition("::")[0]

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that they were left out, and why."""
    if _left_out:
        terminalreporter.write_line(f"{len(_left_out)} tests with Gazebo were left out: {MISSING}")
