# SPDX-License-Identifier: Apache-2.0
"""What commanding nodes publish about themselves on `diagnostics`."""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node

from diffbot_node.command_guard import CommandGuard, GuardState
from diffbot_node.diagnostics_message import diagnostics

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
        message = f"{guard.state.value}: {reason}" if reason else guard.state.value
        values = {
            "state": guard.state.value,
            "reason": reason,
            "emergency stop": guard.pressed or "not pressed",
            f"command, {self._unit}": list(guard.command),
            "refused": refused,
        }
        level = _level(guard, lately > 0)
        self._topic.publish(diagnostics(self._node, level, message, self._hardware, values))


def _level(guard: CommandGuard, troubled: bool) -> Any:
    """Return OK, WARN, ERROR or STALE; `troubled`: whether an input was refused lately."""
    if guard.state is GuardState.ACTIVE:
        return DiagnosticStatus.WARN if troubled else DiagnosticStatus.OK
    if guard.state is GuardState.STOPPED:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.STALE if guard.silent else DiagnosticStatus.WARN
