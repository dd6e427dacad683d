# SPDX-License-Identifier: Apache-2.0
"""Messages of a topic, collected until they are read."""

from __future__ import annotations

from typing import Any

from rclpy.qos import QoSProfile

from diffbot_node import COUNTED, Node


class Inbox:
    """A subscription whose messages wait until `take`.

    Args:
        node: The node that subscribes.
        message_type: Type of the messages.
        topic: Name of the topic.
        qos: Quality of service.
    """

    def __init__(
        self, node: Node, message_type: type, topic: str, qos: QoSProfile = COUNTED
    ) -> None:
        self._messages: list[Any] = []
        self._subscription = node.create_subscription(
            message_type, topic, self._messages.append, qos
        )

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return str(self._subscription.topic_name)

    def take(self) -> list[Any]:
        """Return the messages received since the last call, oldest first."""
        messages = list(self._messages)
        self._messages.clear()
        return messages
