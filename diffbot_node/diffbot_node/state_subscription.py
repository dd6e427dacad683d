# SPDX-License-Identifier: Apache-2.0
"""Reads the states of a robot: from messages to samples, and who sends them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from diffbot_node.command_interfaces import RobotInterface
from diffbot_node.endpoints import EndpointRole
from diffbot_node.intra_process import Node
from diffbot_node.robot_messages import seconds, stamp_problem, subscribe_to_states
from diffbot_node.senders import Origin, WithOrigin
from diffbot_node.source_watch import Finding, SourceWatch
from diffbot_node.topic_nodes import Instead, beyond_discovery, full_name
from diffbot_node.verdicts import GOOD, Level, Verdict, judged

# Timer ticks after which a stalled process answers the newest state.
LOOKS_AFTER_STALL = 2


class Arrival(NamedTuple):
    """A message about the robot, with its stamp, s; `sample` is None if it cannot be used."""

    stamp: float
    sample: Any
    stamp_problem: Verdict
    content_problem: Verdict
    came_from: Origin


def read(robot: RobotInterface, message: Any, came_from: Origin) -> Arrival:
    """Return what a message about a robot has brought."""
    written = robot.stamp(message)
    stamp = seconds(written)
    sample, content, wrong_stamp = None, GOOD, GOOD
    if problem := stamp_problem(written):
        wrong_stamp = Verdict(Level.HOLD, f"{robot.state_name}: {problem}")
    try:
        sample = robot.read(stamp, message)
    except ValueError as error:
        content = Verdict(Level.HOLD, str(error))
    return Arrival(stamp, sample, wrong_stamp, content, came_from)


class StateSubscription:
    """Receives the states of one robot and detects a second source of them; see SourceWatch."""

    def __init__(
        self, node: Node, robot: RobotInterface, callback: Callable[[Any, Origin], None]
    ) -> None:
        self._node, self._name = node, robot.state_name
        self._watch = SourceWatch(self.publishers, robot.counts)
        self.topic = subscribe_to_states(node, *robot.states, WithOrigin(callback)).topic_name
        self._foreigners = node.foreigners(self.topic)
        self._instead = Instead(node, EndpointRole.PUBLISHES, self.topic, robot.states[0])

    def publishers(self) -> int:
        return self._node.count_publishers(self.topic)

    def missing(self) -> Verdict:
        if self.publishers():
            return GOOD
        elsewhere = "" if self._node.composed else beyond_discovery()
        what = f"start the simulator or the robot's driver{elsewhere}{self._instead.text()}"
        return Verdict(Level.WAIT, f"no node publishes {self.topic}; {what}")

    def of_another_type(self) -> Verdict:
        return judged(Level.WAIT, self._instead.text().removeprefix("; "))

    def left(self) -> Verdict:
        """Whether the simulator, which published the states, has gone."""
        if self.publishers():
            return GOOD
        gone = f"no node publishes {self.topic} any more: the simulator has ended"
        return Verdict(Level.END, gone)

    @property
    def knows_senders(self) -> bool:
        return self._watch.knows_senders

    def take(
        self, stamp: float, wheel_angles: tuple[float, ...] | None, now: float, came_from: Origin
    ) -> Finding | None:
        """Process a message; see SourceWatch.update.

        In one process with a simulator, any message from another process is a second source. The
        simulator itself is one, however wildly its robot moves: its content tells nothing.
        """
        if self._foreigners.include(came_from):
            return Finding("another process sends them, too", True)
        by_content = not self._foreigners.none_beside(came_from)
        return self._watch.update(stamp, wheel_angles, now, came_from, by_content)

    def doubt(self, now: float) -> Verdict:
        """Whether the newest states may come from two sources; `now` is wall time, s."""
        doubt = self._watch.doubt(now)
        return judged(
            Level.HOLD,
            doubt and f"two sources may publish {self._name}s on {self.topic}: {doubt}",
        )

    def two_sources(self, finding: Finding) -> Verdict:
        names = sorted(
            full_name(info) for info in self._node.get_publishers_info_by_topic(self.topic)
        )
        publish = "publishes" if len(names) == 1 else "publish"
        return Verdict(
            Level.STOP,
            f"two sources tell {self._name}s of this robot: {finding.text}; {len(names)} {publish} "
            f"{self.topic} ({', '.join(names)}); stop all sources but one",
        )

    def replaced(self) -> Verdict:
        return Verdict(
            Level.STOP,
            f"another publisher sends {self.topic}: the robot's driver was restarted, or a second "
            "one runs; check that the robot may move",
        )


class Stall:
    """Detects that this process was stalled, so that only the newest waiting state is answered.

    Simulated clocks would not show that, as their messages wait in the queue, too. `limit`: time
    between two calls of `look` above which the process counts as stalled, s.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._looked = time.monotonic()
        self._looks_due = 0

    @property
    def lasts(self) -> bool:
        """Whether older states may still arrive; none is answered until then."""
        return self._looks_due > 0

    def notice(self) -> None:
        if time.monotonic() - self._looked > self._limit:
            self._looks_due = LOOKS_AFTER_STALL

    def look(self) -> bool:
        """Whether the newest state may be answered from now on; called every few ms."""
        self._looked = time.monotonic()
        if not self._looks_due:
            return False
        self._looks_due -= 1
        return not self._looks_due
