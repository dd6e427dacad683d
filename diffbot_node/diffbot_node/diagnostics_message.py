# SPDX-License-Identifier: Apache-2.0
"""The message on `diagnostics`, of commanding nodes and of the watchdog alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node


def diagnostics(
    node: Node, level: Any, message: str, hardware: str, values: Mapping[str, object]
) -> DiagnosticArray:
    """Return a message about a node's commands, with the time of its clock."""
    status = DiagnosticStatus(
        level=level, name=f"{node.get_name()}: commands", message=message, hardware_id=hardware
    )
    status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array
