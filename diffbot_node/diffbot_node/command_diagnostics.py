# SPDX-License-Identifier: Apache-2.0
"""What a commanding node publishes about itself on `diagnostics`."""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from diffbot_node.command_guard import CommandGuard, GuardState

# Longest and shortest wall time between two diagnostics, s; the latter if the state changes.
DIAGNOSTICS_PERIOD = 1.0
LEAST_DIAGNOSTICS_PERIOD = 0.1


class CommandDiagnostics:
    """Publishes the state of a commanding node, when it changes and once a second."""

    def __init__(self, node: Node, unit: str, hardware: str) -> None:
        self._node, self._unit, self._hardware = node, unit, hardware
        self._topic = node.create_publisher(DiagnosticArray, "diagnostics", 10)
        self._published: tuple[GuardState, bool] | None = None
        self._published_at = 0.0
        self._published_refused = 0

    def look(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish if it is time; called every few ms.

        `waits_for` is what is missing before commands may begin, `refused` the number of states and
        inputs so far that could not be used.
        """
        since = time.monotonic() - self._published_at
        changed = (guard.state, guard.silent) != self._published
        if since >= DIAGNOSTICS_PERIOD or (changed and since >= LEAST_DIAGNOSTICS_PERIOD):
            self.publish(guard, waits_for, refused)

    def publish(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish now; see `look`."""
        lately = refused - self._published_refused
        self._published, self._published_at = (guard.state, guard.silent), time.monotonic()
        self._published_refused = refused
        reason = guard.reason
        if guard.state is GuardState.WAITING and waits_for:
            reason = waits_for
        elif guard.state is GuardState.ACTIVE and lately > 0:
            reason = f"refused {lately} of the latest messages"
        status = DiagnosticStatus(
            level=_level(guard, lately > 0),
            name=f"{self._node.get_name()}: commands",
            message=f"{guard.state.value}: {reason}" if reason else guard.state.value,
            hardware_id=self._hardware,
        )
        status.values = [
            KeyValue(key="state", value=guard.state.value),
            KeyValue(key="reason", value=reason),
            KeyValue(key="emergency stop", value=guard.pressed or "not pressed"),
            KeyValue(key=f"command, {self._unit}", value=f"{list(guard.command)}"),
            KeyValue(key="refused", value=str(refused)),
        ]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._topic.publish(array)


def _level(guard: CommandGuard, troubled: bool) -> Any:
    """Return OK, WARN, ERROR or STALE; `troubled`: whether an input was refused lately."""
    if guard.state is GuardState.ACTIVE:
        return DiagnosticStatus.WARN if troubled else DiagnosticStatus.OK
    if guard.state is GuardState.STOPPED:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.STALE if guard.silent else DiagnosticStatus.WARN
