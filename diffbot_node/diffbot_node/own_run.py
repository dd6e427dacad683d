# SPDX-License-Identifier: Apache-2.0
"""Which run a node belongs to, and whether another run is in its graph.

Two runs in one ROS_DOMAIN_ID have the same node and topic names, and each would take the other's
for its own. So a launch file that starts a simulator generates a name for its run, in the
environment variable DIFFBOT_RUN of its nodes. The simulator, the node that commands it, and those
that this one waits for (report, estimator) are marked by a publisher on a hidden topic such as
`_run/r<name>/robot`, on which no message is ever published. It is created before the node's other
topics, so that other nodes discover it no later than these.

A node begins nothing, and processes no messages, before the partners of its own run are there; it
ends when it meets another run. There are no marks without the variable (a real robot, nodes started
by hand), nor in a graph with SROS 2 keys, which apply to topics that are known in advance: then all
nodes in the graph are taken for one run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Empty

VARIABLE = "DIFFBOT_RUN"
ROBOT, COMMANDER, REPORT, ESTIMATOR = "robot", "commander", "report", "estimator"
_CALLED = {
    ROBOT: "the simulator of this run",
    COMMANDER: "the node of this run that commands the robot",
    REPORT: "the report of this run",
    ESTIMATOR: "the estimator of this run",
}
# Topic that every simulator publishes, and no real robot.
TRUTH = "ground_truth"
# Longest time for a partner to appear at all, and once another run's simulator has been found, s of
# wall time: DDS announces a process every 3 s, and an announcement may be lost.
COMING_TIME, FINDING_TIME = 30.0, 4.0
# A partner that has been missing for so long has left, s of wall time.
PARTING = 1.0
# A simulator that has met another run stays in the graph, silent, for so long, s, so that the
# others detect it.
REFUSAL_TIME = 10.0
# Shortest period between two checks of the graph for another run, s of wall time.
LOOK_PERIOD = 0.05


def run_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the run that this process is started for; empty if there is none.

    Raises:
        ValueError: The name cannot be part of a topic name.
    """
    name = environment.get(VARIABLE, "")
    if environment.get("ROS_SECURITY_ENABLE", "").lower() == "true":
        return ""
    if name and not (name.isascii() and name.isalnum()):
        raise ValueError(f"{VARIABLE}={name!r}: must be letters and digits")
    return name


class OwnRun:
    """The run of a node; create it before the node's topics.

    Args:
        node: The node.
        role: ROBOT, COMMANDER, REPORT or ESTIMATOR; empty: none of them.

    Attributes:
        named: Whether the run has a name, by which nodes of other runs can be told apart.

    Raises:
        ValueError: See run_name.
    """

    def __init__(self, node: Node, role: str = "") -> None:
        self._node = node
        name = run_name()
        self.named = bool(name)
        self._marks = {
            other: node.resolve_topic_name(f"_run/r{name}/{other}") if name else ""
            for other in _CALLED
        }
        # No run begins without a robot and a commander; not every run has the others.
        self._partners = [other for other in (ROBOT, COMMANDER) if other != role]
        others = [REPORT, ESTIMATOR] if role == COMMANDER else []
        self._leaving = [*self._partners, *others]
        self._mark: Publisher[Any] | None = None
        if name and role:
            self._mark = node.create_publisher(Empty, self._marks[role], 1)
        self._truth = node.resolve_topic_name(TRUTH)
        self._seen: set[str] = set()
        self._since: dict[str, float] = {}  # when each partner was first missed, s
        self._met, self._looked = "", -math.inf

    def has(self, role: str) -> bool:
        """Whether the partner is there; true in a run without a name, where it is unknown."""
        if not self.named:
            return True
        there = self._node.count_publishers(self._marks[role]) > 0
        if there:
            self._seen.add(role)
        return there

    def missing(self) -> str:
        """Why nothing may begin yet; empty when it may."""
        if not self.named:
            return ""
        for role in self._partners:
            if not self.has(role):
                return f"{_CALLED[role]} has not started yet"
        return self._crowd()

    def left(self) -> str:
        """Which partner has gone or has not arrived, so that the run will not begin; else empty."""
        for role in self._leaving:
            away = self._away(role, not self.has(role))
            if role in self._seen and away >= PARTING:
                return f"{_CALLED[role]} has ended"
            if role in self._partners and away >= COMING_TIME:
                return f"{_CALLED[role]} has not started within {COMING_TIME:g} s of wall time"
        return ""

    def met(self) -> str:
        """Return that another run is in the graph, with advice; empty if none is. Cheap to call."""
        now = time.monotonic()
        if self.named and now - self._looked >= LOOK_PERIOD:
            self._looked, self._met = now, self._look()
        return self._met

    def _look(self) -> str:
        if crowd := self._crowd():
            return crowd
        # Once this run's own simulator has been there, a later run's may follow it.
        stranger = not self.has(ROBOT) and ROBOT not in self._seen and self._robots() > 0
        if self._away("stranger", stranger) < FINDING_TIME:
            return ""
        return self._sentence(f"its simulator publishes {self._truth}, that of this run does not")

    def _away(self, what: str, lasts: bool) -> float:
        """Return how long a condition has lasted, s."""
        if not lasts:
            self._since.pop(what, None)
            return 0.0
        now = time.monotonic()
        return now - self._since.setdefault(what, now)

    def _robots(self) -> int:
        return self._node.count_publishers(self._truth)

    def _crowd(self) -> str:
        if (robots := self._robots()) < 2:
            return ""
        return self._sentence(f"{robots} simulators publish {self._truth}")

    @staticmethod
    def _sentence(what: str) -> str:
        return (
            f"another run is in this graph: {what}; this run ends. Give each run its own "
            "ROS_DOMAIN_ID (a node that was killed outright counts for some 20 s more)"
        )
