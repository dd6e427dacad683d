# SPDX-License-Identifier: Apache-2.0
"""A look at what a robot publishes of its motion, before it is commanded.

Finds the first source with usable samples, how often and how late they arrive, and the input
timeout that follows. What cannot work is refused by name.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from diffbot_node.odometry_sources import OdometrySource
from diffbot_node.robot_messages import NodeClock, seconds, stamp_problem
from diffbot_node.state_age import SAME_CLOCK

# Length of the look from the first usable message on, s of wall time, and fewest messages.
DURATION, FEWEST = 1.5, 4
# Longest look, for seldom messages, s.
LONGEST = 4.0
# Longest usual time between two messages, and longest usual age of one, s.
LONGEST_PERIOD, OLDEST = 0.4, 0.5
# Least and greatest timeout, s; between them multiples of the usual period and greatest age.
SHORTEST_TIMEOUT, PERIODS, AGES, LONGEST_TIMEOUT = 0.25, 2.5, 1.5, 1.0


@dataclass
class SourceArrivals:
    """What arrived of one source."""

    source: OdometrySource
    stamps: list[float] = field(default_factory=list)  # s
    ages: list[float] = field(default_factory=list)  # lead of the node's clock, s
    problem: str = ""

    def take(self, message: Any, now: float) -> None:
        source = self.source
        if not source.concerns(message):
            self.problem = source.unrelated() or self.problem
            return
        written = source.stamp(message)
        if problem := stamp_problem(written):
            self.problem = problem
            return
        stamp = seconds(written)
        try:
            source.read(stamp, message)
        except ValueError as error:
            self.problem = str(error)
            return
        self.stamps.append(stamp)
        self.ages.append(now - stamp)

    def timeout(self) -> float:
        """Return the input timeout that this source needs, s.

        Raises:
            ValueError: The messages come too seldom or too late, or their stamps do not advance.
        """
        topic, one = self.source.states[1], f"one {self.source.state_name}"
        steps = [after - before for before, after in pairwise(self.stamps)]
        period = median(steps)
        if period <= 0.0:
            raise ValueError(
                f"{topic}: the stamps repeat {self.stamps[-1]} s, or go back: the driver must give "
                "each message the time at which it was measured"
            )
        if period > 1.01 * LONGEST_PERIOD:
            raise ValueError(
                f"{topic}: {one} arrives every {period:.2f} s: at most {LONGEST_PERIOD:g} s "
                "(2.5 Hz); let the driver publish more often"
            )
        oldest = max(self.ages)
        if abs(median(self.ages)) > SAME_CLOCK:  # of another clock: only differences tell
            oldest -= min(self.ages)
        if oldest > OLDEST:
            raise ValueError(
                f"{topic}: {one} arrives up to {oldest:.2f} s after its stamp: at most "
                f"{OLDEST:g} s; check network and load of the computers, and that their clocks "
                "agree"
            )
        needed = max(PERIODS * period, period + AGES * oldest)
        return min(max(SHORTEST_TIMEOUT, needed), LONGEST_TIMEOUT)


def look_at(node: Node, sources: Sequence[OdometrySource], patience: float) -> SourceArrivals:
    """Return the first of several sources that gives usable samples, with what arrived of it.

    Args:
        node: No executor has it yet.
        sources: In the order of preference.
        patience: Longest wall time to wait, s; 0: for ever.

    Raises:
        ValueError: None does in time; the message says why, for each.
    """
    clock = NodeClock(node)
    seen = [SourceArrivals(source) for source in sources]
    # Best effort receives from every publisher.
    qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

    def subscribe(each: SourceArrivals) -> Any:
        def take(message: Any) -> None:
            each.take(message, clock.now())

        return node.create_subscription(*each.source.states, take, qos)

    subscriptions = [subscribe(each) for each in seen]
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        return _first_usable(node, executor, seen, patience)
    finally:
        executor.remove_node(node)
        for subscription in subscriptions:
            node.destroy_subscription(subscription)


def _first_usable(
    node: Node, executor: SingleThreadedExecutor, seen: Sequence[SourceArrivals], patience: float
) -> SourceArrivals:
    began, usable, waiting = time.monotonic(), 0.0, False
    topics = ", ".join(node.resolve_topic_name(each.source.states[1]) for each in seen)
    while True:
        executor.spin_once(timeout_sec=0.1)
        now = time.monotonic()
        if not usable and any(each.stamps for each in seen):
            usable = now
        complete = [each for each in seen if len(each.stamps) >= FEWEST]
        if usable and complete and now - usable > DURATION:
            return complete[0]
        if usable and now - usable > LONGEST:
            raise ValueError(_why(seen, f"fewer than {FEWEST} messages in {LONGEST:g} s"))
        waited = now - began
        if 0.0 < patience < waited:
            raise ValueError(f"no motion of the robot within {patience:g} s: {_why(seen)}")
        if not waiting and waited > 2.0:
            waiting = True
            node.get_logger().info(f"waiting for the robot's motion on {topics}: {_why(seen)}")


def _why(seen: Sequence[SourceArrivals], otherwise: str = "nothing arrives") -> str:
    return "; ".join(f"{each.source.states[1]}: {each.problem or otherwise}" for each in seen)
