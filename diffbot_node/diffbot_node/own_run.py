# SPDX-License-Identifier: Apache-2.0
"""Which run a node belongs to, and whether another one is in its graph.

Two runs in one ROS_DOMAIN_ID have nodes and topics of the same names, and each would take the
other's for its own. So a launch file that starts a simulator makes up a name for its run, in the
environment variable DIFFBOT_RUN of its nodes. The simulator, the node that commands it, and those
that this one waits for (report, estimator) are marked: by a publisher on a hidden topic such as
`_run/r<name>/robot`, on which nothing is ever said. It is made before the node's other topics, so
others know of it no later than of these.

A node begins nothing, and listens to nobody, before the partners of its own run are there; it ends
when it meets another run. Without the variable (a real robot, nodes started by hand) and in a graph
with the keys of SROS 2, which are for topics that are known beforehand, there are no marks: all
that is there is then taken for the one run.
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
# What every simulator publishes, and no robot.
TRUTH = "ground_truth"
# How long a partner may take to be found at all, and once another run's has been found, s of wall
# time: DDS announces a process each 3 s, and an announcement may get lost.
COMING_TIME, FINDING_TIME = 30.0, 4.0
# Who is not to be seen any more for so long has left, s of wall time.
PARTING = 1.0
# A simulator that has met another run stays for so long, silent, for the others to find out, s.
REFUSAL_TIME = 10.0
# The graph is asked for another run no more often than this, s of wall time.
LOOK_PERIOD = 0.05


def run_name(environment: Mapping[str, str] = os.environ) -> str:
    """Name of the run that this process is started for; empty where there is none.

    Raises:
        ValueError: it cannot be a part of a topic's name.
    """
    name = environment.get(VARIABLE, "")
    if environment.get("ROS_SECURITY_ENABLE", "").lower() == "true":
        return ""
    if name and not (name.isascii() and name.isalnum()):
        raise ValueError(f"{VARIABLE}={name!r}: must be letters and digits")
    return name


class OwnRun:
    """The run of a node; to be made before the node's topics.

    Args:
        node: looks.
        role: ROBOT, COMMANDER, REPORT or ESTIMATOR; empty: it is none of them.

    Attributes:
        named: whether nodes of other runs can be told from its own.

    Raises:
        ValueError: see run_name.
    """

    def __init__(self, node: Node, role: str = "") -> None:
        self._node = node
        name = run_name()
        self.named = bool(name)
        self._marks = {
            other: node.resolve_topic_name(f"_run/r{name}/{other}") if name else ""
            for other in _CALLED
        }
        # Nothing begins without the first two; not every run has the others.
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
        """Whether the partner is there; true where nobody can know."""
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
                return f"{_CALLED[role]} is not there yet"
        return self._crowd()

    def left(self) -> str:
        """Which partner has gone or has not come, so that nothing will begin; else empty."""
        for role in self._leaving:
            away = self._away(role, not self.has(role))
            if role in self._seen and away >= PARTING:
                return f"{_CALLED[role]} has gone"
            if role in self._partners and away >= COMING_TIME:
                return f"{_CALLED[role]} has not come within {COMING_TIME:g} s of wall time"
        return ""

    def met(self) -> str:
        """That another run is here, with what to do; empty while none is. Cheap."""
        now = time.monotonic()
        if self.named and now - self._looked >= LOOK_PERIOD:
            self._looked, self._met = now, self._look()
        return self._met

    def _look(self) -> str:
        if crowd := self._crowd():
            return crowd
        # Once its own has been there, another one's may come after it.
        stranger = not self.has(ROBOT) and ROBOT not in self._seen and self._robots() > 0
        if self._away("stranger", stranger) < FINDING_TIME:
            return ""
        return self._sentence(f"its simulator publishes {self._truth}, that of this run does not")

    def _away(self, what: str, lasts: bool) -> float:
        """How long something has lasted, s."""
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
