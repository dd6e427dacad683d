# SPDX-License-Identifier: Apache-2.0
"""What commanding nodes publish about themselves on `diagnostics`."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from diffbot_node.command_guard import CommandGuard, GuardState
from diffbot_node.diagnostics import Diagnostics


class CommandDiagnostics:
    """Publishes the state of a commanding node, when it changes and once a second."""

    def __init__(self, node: Node, unit: str, hardware: str) -> None:
        self._topic, self._unit = Diagnostics(node, hardware), unit
        self._published_refused = 0

    def look(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish if it is time, with what is missing before commands may begin.

        `refused` is the number of states and inputs so far that could not be used.
        """
        if self._topic.due((guard.state, guard.silent)):
            self.publish(guard, waits_for, refused)

    def publish(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish now; see `look`."""
        lately, self._published_refused = refused - self._published_refused, refused
        state, reason = guard.state, guard.reason
        if state is GuardState.WAITING and waits_for:
            reason = waits_for
        elif state is GuardState.ACTIVE and lately > 0:
            reason = f"refused {lately} of the latest messages"
        values = {
            "state": state.value,
            "reason": reason,
            "emergency stop": guard.pressed or "not pressed",
            f"command, {self._unit}": list(guard.command),
            "refused": refused,
        }
        text = f"{state.value}: {reason}" if reason else state.value
        self._topic.publish((state, guard.silent), _level(guard, lately > 0), text, values)


def _level(guard: CommandGuard, troubled: bool) -> Any:
    """Return OK, WARN, ERROR or STALE; `troubled`: whether an input was refused lately."""
    if guard.state is GuardState.ACTIVE:
        return DiagnosticStatus.WARN if troubled else DiagnosticStatus.OK
    if guard.state is GuardState.STOPPED:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.STALE if guard.silent else DiagnosticStatus.WARN
