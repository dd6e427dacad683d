"""The way of commands out of a node: what the guard allows, and the ways to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from diffbot_node.answers import NOTHING
from diffbot_node.command_diagnostics import CommandDiagnostics
from diffbot_node.command_guard import CommandGuard, GuardState
from diffbot_node.limiters import Pair, PairLimiter
from diffbot_node.stopping import StopInputs

# How often zero is sent at the end, and the wall time between two, s: one may get lost.
LAST_ZEROS, LAST_PERIOD = 3, 0.02


class CommandOutput:
    """Publishes commands, and zero whenever there is a reason to.

    Args:
        node: publishes; its values hold COMMAND_PARAMETERS.
        commands: type of message and name of the topic.
        limiter: of the commands.
        message_of: makes a message of a command and of the stamp, s, of the state that it names; it
            may be the same object each time.
        what: is commanded, for messages.
        hardware: name of the robot, for `diagnostics`; empty where it is not known.

    Attributes:
        guard: says what may be commanded.
        topic: name of the topic.
        answered: stamp of the newest state that was answered, s; see answers.py.
        met: what another run that this one has met did, which stopped it; empty while none has.
    """

    def __init__(
        self,
        node: Node,
        commands: tuple[type, str],
        limiter: PairLimiter,
        message_of: Callable[[Pair, float], Any],
        what: str,
        hardware: str = "",
    ) -> None:
        self._node, self._message_of, self._what = node, message_of, what
        self.guard = CommandGuard(limiter)
        self._publisher = node.create_publisher(*commands, 10)
        self.topic = self._publisher.topic_name
        self.answered = NOTHING
        self.met = ""
        self._diagnostics = CommandDiagnostics(node, limiter.unit, hardware)
        if not node.values.enabled:
            self.stop("disabled from the start")
        self._inputs = StopInputs(
            node,
            node.values.emergency_stop_timeout,
            self._press,
            self.guard.release,
            self._on_enable,
        )

    def send(self, command: Pair) -> None:
        """Publish a command that the guard has allowed."""
        self._publisher.publish(self._message_of(command, self.answered))

    def answer_again(self) -> None:
        """Say again what was last commanded: the answer may have been lost."""
        self.send(self.guard.command)

    def hold(self, why: str, silent: bool = False) -> None:
        """Zero until the next good state; see CommandGuard.hold."""
        self.send(self.guard.hold(why, silent))

    def stop(self, why: str) -> None:
        """Zero until somebody enables it; sent only where a robot has been commanded."""
        first = self.guard.may_command
        zero = self.guard.stop(why)
        if self.guard.began:
            self.send(zero)
        if first:
            self._node.get_logger().error(
                f"stopped: {why}. Zero {self._what} until "
                f"{self._node.get_fully_qualified_name()}/enable is called with data: true"
            )

    def stop_for_another(self, why: str) -> None:
        """Stop because somebody else drives the same robot, or tells its states."""
        self.met = self.met or why
        self.stop(why)

    def end(self, why: str) -> None:
        """Zero for ever; not sent where it never began because another node drives the robot."""
        zero = self.guard.end(why)
        if self.guard.began or not self.rivals():
            self.send(zero)

    def close(self, refused: int) -> None:
        """Zero as the last thing on the wire; see `look` for what was refused."""
        for _ in range(LAST_ZEROS):
            self.end("the process ends")
            time.sleep(LAST_PERIOD)
        self._diagnostics.publish(self.guard, "", refused)

    def rivals(self) -> str:
        """What is wrong when others command the same robot; empty when nobody does."""
        others = self._node.count_publishers(self.topic) - 1
        if others <= 0:
            return ""
        return (
            f"{others} other node{'s publish' if others > 1 else ' publishes'} {self.topic}; "
            "leave one, or give each robot its own namespace or ROS_DOMAIN_ID (a node that was "
            "killed outright counts for some 20 s more)"
        )

    def has_takers(self) -> bool:
        """Whether anybody takes the commands."""
        return self._publisher.get_subscription_count() > 0

    def look(self, waits_for: Callable[[], str], refused: int) -> None:
        """Called every few ms: notices rivals and a lost emergency stop, and tells the state.

        Args:
            waits_for: what is missing before anything may be commanded.
            refused: states and inputs that could not be used so far.
        """
        self._inputs.look()
        guard = self.guard
        if guard.began and guard.may_command and (rivals := self.rivals()):
            self.stop_for_another(rivals)
        missing = waits_for() if guard.state is GuardState.WAITING else ""
        self._diagnostics.look(guard, missing, refused)

    def _press(self, why: str) -> None:
        self.stop(why)
        self.guard.press(why)

    def _on_enable(self, on: bool) -> str:
        if not on:
            self.stop("stopped by ~/enable")
            return ""
        problem = self.rivals() or self.guard.enable()
        if not problem:
            self._node.get_logger().info("enabled")
        return problem
