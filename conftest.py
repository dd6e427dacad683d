# SPDX-License-Identifier: Apache-2.0
"""Configuration of the tests: fixtures, markers, and the grouping of tests of whole graphs.

Tests that need Gazebo request the fixture `gazebo`; without Gazebo they are skipped with one line.

Tests that check wall time get the marker `wall_time`: on a busy machine they may miss their limit,
so that the best of three tries counts. Code that is too slow misses all three.

Tests that compute, and need neither a graph nor Gazebo, get the marker `numeric`.

Tests of whole graphs request `domain` or `gazebo` and come first. Those in real time run one after
the other in one process: others would slow their nodes down, and so go on with less priority, also
graphs that run at full speed (`full_speed`), whose results do not depend on how long they take. The
tests of each file stay in one process, so that their fixtures are created once. ``colcon test``
tests packages in parallel; only one graph in real time runs in a checkout.

This file also applies to a single package: pytest finds it next to pyproject.toml, in the folder
above the package.
"""

from __future__ import annotations

import fcntl
import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# Makes a message field of the wrong type an error, which ROS accepts otherwise. Messages read the
# variable once, on import.
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
_ROOT = Path(__file__).resolve().parent
# Scheduling policy of this process; a child of a process at real-time priority inherits that one.
_POLICY = os.sched_getscheduler(0)

try:
    import hypothesis
except ImportError:  # single package whose tests do not need it
    pass
else:
    # A busy machine is no error: a limit of wall time per example, 200 ms by default, finds nothing
    # else. Tests of wall time have their marker. `suite` draws the same few examples in each run;
    # HYPOTHESIS_PROFILE=thorough searches for new ones.
    hypothesis.settings.register_profile("suite", max_examples=12, derandomize=True, deadline=None)
    hypothesis.settings.register_profile("thorough", max_examples=1000, deadline=None)
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

try:
    from diffbot_bringup import domains
except ImportError:  # single package; the module has no dependencies
    # The package's folder, which is beside this file, looks like a package without __init__.py.
    sys.modules.pop("diffbot_bringup", None)
    sys.path.append(str(_ROOT / "diffbot_bringup"))
    from diffbot_bringup import domains

try:
    from diffbot_sim.gazebo.installation import MISSING, find_installation
except ImportError:  # single package that does not need diffbot_sim
    MISSING = "diffbot_sim is not there"

    def find_installation() -> None:
        """Return None: there is no Gazebo."""


# DDS domain of this test session, for nodes in this process and the processes that it starts.
# Parallel sessions must not connect.
_session = domains.claim("tests")
os.environ[domains.VARIABLE] = str(_session.domain)

# Priority below that of graphs of the processes that compute beside them.
_BESIDE = 3
_left_out: list[pytest.Item] = []
# What the text of each file with tests of a marker has.
_MENTIONS = {
    "graph": re.compile(r"\bdomain\b"),
    "kernels": re.compile(r"^@pytest\.mark\.kernels", re.MULTILINE),
}
_begun = pytest.StashKey[float]()


def _work() -> float:
    """Processor time of this process and of those it started that have ended, s."""
    return sum(os.times()[:4])


@cache
def _computes(module: object) -> bool:
    """Whether a file's tests are numeric: it uses NumPy or math, but no nodes and no processes."""
    names = vars(module)
    if {"rclpy", "subprocess"} & names.keys():
        return False
    homes = {
        getattr(value, "__module__", None) or getattr(value, "__name__", "")
        for value in names.values()
    }
    others = [sys.modules.get(home) for home in homes if isinstance(home, str)]
    return any(
        other is not None and ("np" in vars(other) or "math" in vars(other)) for other in others
    )


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give the test its own DDS domain, isolated from processes that an earlier test left."""
    with domains.claim("test") as own:
        monkeypatch.setenv(domains.VARIABLE, str(own.domain))
        yield own.domain


@pytest.fixture(scope="session")
def gazebo() -> object:
    """Return the installation of Gazebo to test with."""
    return find_installation()


class _Kind(IntEnum):
    """Kinds of tests, in the order in which they run."""

    REAL_TIME = 0  # graph that needs the machine for itself, or Gazebo, which burns time waiting
    FULL_SPEED = 1  # other graphs
    ALONE = 2


def _kind(item: pytest.Item) -> _Kind:
    requested = {"domain", "gazebo"} & set(getattr(item, "fixturenames", ()))
    if not requested:
        return _Kind.ALONE
    full_speed = item.get_closest_marker("full_speed") is not None and "gazebo" not in requested
    return _Kind.FULL_SPEED if full_speed else _Kind.REAL_TIME


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let graphs in real time run one at a time in this checkout; others give way to them."""
    item.stash[_begun] = _work()
    kind = _kind(item)
    if kind is _Kind.REAL_TIME and "domain" in getattr(item, "fixturenames", ()):
        with open(_ROOT / "conftest.py") as checkout:
            fcntl.flock(checkout, fcntl.LOCK_EX)  # which any end of this process releases
            yield
        return
    beside = kind is _Kind.FULL_SPEED or (
        kind is _Kind.ALONE and "PYTEST_XDIST_WORKER" in os.environ
    )
    if beside and os.nice(0) < _BESIDE:
        os.nice(_BESIDE - os.nice(0))
    yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail if a test leaves its process at real-time priority: later tests would starve others.

    What it took is a property of the test in a report in the format of JUnit.
    """
    item.user_properties.append(("work", f"{_work() - item.stash[_begun]:.3f}"))
    policy = os.sched_getscheduler(0)
    if policy != _POLICY and item.get_closest_marker("real_time") is None:
        os.sched_setscheduler(0, _POLICY, os.sched_param(0))
        pytest.fail(f"the test left the scheduling policy {policy}; it was {_POLICY}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m graph`` or ``-m kernels`` import only files that have such tests."""
    words = config.option.markexpr.split() or [""]
    mention = _MENTIONS.get(words[0])
    if mention is None or "or" in words or not collection_path.match("test_*.py"):
        return None
    return None if mention.search(collection_path.read_text(encoding="utf-8")) else True


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude modules and tests, which stay, from garbage collection: it would visit them often."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist evaluates the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group and order the tests; skip those that need Gazebo if it is not installed."""
    counts = Counter(item.path for item in items)
    # Files of few tests, which are short, fill the end of a run.
    items.sort(key=lambda item: (_kind(item), -counts[item.path]))
    for item in items:
        kind = _kind(item)
        if kind is _Kind.REAL_TIME:
            item.add_marker(pytest.mark.xdist_group("graph"))
        elif kind is _Kind.ALONE and _computes(getattr(item, "module", None) or object):
            item.add_marker(pytest.mark.numeric)
        for name in {"domain", "gazebo"} & set(getattr(item, "fixturenames", ())):
            item.add_marker({"domain": "graph"}.get(name, name))
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
    """Treat each file without a group as one with ``--dist loadgroup``: it shares its fixtures.

    They are distributed in the order in which they were collected.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group: str = super()._split_scope(nodeid)
            return group.partition("::")[0]

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report that these tests were skipped, and why."""
    if _left_out:
        terminalreporter.write_line(f"{len(_left_out)} tests with Gazebo were left out: {MISSING}")
