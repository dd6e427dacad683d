# SPDX-License-Identifier: Apache-2.0
"""Topics whose messages are counted, so that a report can say how many it has missed."""

from __future__ import annotations

from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile

from diffbot_node.topic_nodes import Subscribers
from diffbot_node.verdicts import GOOD, Level, Verdict

# Messages that are kept for a late subscriber.
COUNTED = QoSProfile(depth=200)
# How long a last message may take to arrive, s of wall time.
ARRIVAL_PATIENCE = 0.5


class CountedTopic:
    """Counts messages 1, 2, 3 and so on, in their field `count` if they have one."""

    def __init__(self, node: Node, message_type: Any, topic: str) -> None:
        self.count = 0
        self._tells = "count" in message_type.get_fields_and_field_types()
        self._publisher = node.create_publisher(message_type, topic, COUNTED)
        self._subscribers = Subscribers(node, self._publisher)

    @property
    def name(self) -> str:
        return str(self._publisher.topic_name)

    @property
    def subscribers(self) -> int:
        return self._subscribers.count()

    def publish(self, message: Any) -> None:
        """Publish a message; it must not be changed from then on."""
        self.count += 1
        if self._tells:
            message.count = self.count
        self._publisher.publish(message)

    def await_arrival(self) -> None:
        self._publisher.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))

    def missing(self, listeners: int) -> Verdict:
        """Whether anybody must arrive before the first message for so many."""
        more = listeners - self.subscribers if listeners else 0
        if more <= 0:
            return GOOD
        missing = f"{more} more subscriber{'s' if more > 1 else ''} of {self.name} needed"
        return Verdict(Level.WAIT, missing)

    def left_by(self, listeners: int) -> Verdict:
        """Whether a run that began with so many subscribers must end."""
        there = self.subscribers if listeners else 0
        if there >= listeners:
            return GOOD
        left = f"{there} of {listeners} subscribers of {self.name} are left: the report has ended"
        return Verdict(Level.END, left)
