# SPDX-License-Identifier: Apache-2.0
"""What nodes that send commands publish about them, or about slip, on `diagnostics`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

# Longest and shortest wall time between two messages, s; the latter if there is news.
PERIOD, LEAST_PERIOD = 1.0, 0.1


class Diagnostics:
    """Publishes on `diagnostics` once a second, and sooner if there is news."""

    def __init__(self, node: Node, hardware: str, about: str = "commands") -> None:
        self._node, self._hardware, self._about = node, hardware, about
        self._topic = node.create_publisher(DiagnosticArray, "diagnostics", 10)
        self._news: object = None
        self._published = 0.0

    def due(self, news: object) -> bool:
        """Whether it is time; `news` differs from that of the last message if anything changed."""
        since = time.monotonic() - self._published
        return since >= (PERIOD if news == self._news else LEAST_PERIOD)

    def publish(self, news: object, level: Any, text: str, values: Mapping[str, object]) -> None:
        """Publish now, with the time of the node's clock; `news` as in `due`."""
        self._news, self._published = news, time.monotonic()
        status = DiagnosticStatus(
            level=level,
            name=f"{self._node.get_name()}: {self._about}",
            message=text,
            hardware_id=self._hardware,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._topic.publish(array)
