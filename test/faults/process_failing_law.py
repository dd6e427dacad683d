# SPDX-License-Identifier: Apache-2.0
"""Nodes that raise after SIGUSR1: a bug that appears in mid-run."""

from __future__ import annotations

import signal
from types import FrameType

from diffbot_controllers.laws.motion import State
from diffbot_controllers.nodes.backstep_node import BackstepNode
from diffbot_description import Torque
from diffbot_node import Node, run_node
from pose2d_trajectories import Reference

FAILURE = "the law has met a case that nobody thought of"


class FailingController(BackstepNode):
    """Drives like its parent until SIGUSR1 makes it fail."""

    def __init__(self) -> None:
        super().__init__()
        self._fails = False
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._fails = True

    def drive(self, state: State, reference: Reference, dt: float) -> Torque:
        """Return the law's torque, N m.

        Raises:
            ZeroDivisionError: After SIGUSR1.
        """
        if self._fails:
            raise ZeroDivisionError(FAILURE)
        return super().drive(state, reference, dt)


class FailingOnlooker(Node):
    """A node that commands nothing, until SIGUSR1 makes it fail."""

    def __init__(self) -> None:
        super().__init__("onlooker")
        self.exit_code: int | None = None
        self._fails = False
        signal.signal(signal.SIGUSR1, self._on_signal)
        self.create_timer(0.01, self._look)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._fails = True

    def _look(self) -> None:
        if self._fails:
            raise ZeroDivisionError(FAILURE)

    def close(self) -> None:
        """Do nothing: no final message."""


def failing_controller() -> int:
    """Run the node; return the exit status."""
    return run_node(FailingController)
