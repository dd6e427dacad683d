# SPDX-License-Identifier: Apache-2.0
"""Messages of a topic, collected until they are read."""

from __future__ import annotations

import time
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from diffbot_node import COUNTED, Node

# Longest time to take the messages of a topic at once, s.
FETCHING_TIME = 0.1
# For values that a late subscriber receives, too.
LATEST = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Inbox:
    """A subscription whose messages wait until `take`."""

    def __init__(
        self, node: Node, message_type: type, topic: str, qos: QoSProfile = COUNTED
    ) -> None:
        self._messages: list[Any] = []
        self._node = node
        self._subscription = node.create_subscription(
            message_type, topic, self._messages.append, qos
        )

    @property
    def topic(self) -> str:
        return str(self._subscription.topic_name)

    def fetch(self) -> None:
        """Collect what has arrived while no executor runs, as in a node's `close`.

        Of a publisher that is faster than this, it takes what FETCHING_TIME permits.
        """
        if self._node.composed:
            return
        handle, kind = self._subscription.handle, self._subscription.msg_type
        end = time.monotonic() + FETCHING_TIME
        with handle:
            while (taken := handle.take_message(kind, False)) is not None:
                self._messages.append(taken[0])
                if time.monotonic() > end:
                    return

    def close(self) -> None:
        """Subscribe no more: publishers no longer count this node."""
        self._node.destroy_subscription(self._subscription)

    def take(self) -> list[Any]:
        """Return the messages received since the last call, oldest first."""
        messages = list(self._messages)
        self._messages.clear()
        return messages
