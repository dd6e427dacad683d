"""The way of commands out of a node: what the guard allows, and the ways to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from diffbot_node.command_diagnostics import CommandDiagnostics
from diffbot_node.command_guard import CommandGuard, GuardState
from diffbot_node.limiters import Pair, PairLimiter
from diffbot_node.stamps import seconds
from diffbot_node.stopping import StopInputs

# ---
# Which state of the robot a command answers, in the command itself.
#
# A simulator in lock-step says a state, and says it again until the command that answers it has
# come; then it goes on by one control period. A command may come twice, late, or unasked (zero
# because somebody pressed the emergency stop), so each names the newest state that its sender has
# answered:
#
# - std_msgs/Float64MultiArray by the label of its first dimension, "answers 12.340000000";
# - geometry_msgs/TwistStamped by its stamp (0 without a frame is that of a tool without a clock).
#
# Both are left alone by the drivers of real robots: ros2_control's controllers read the data only.
# A command without a name, as other programs send it, answers whatever state waits. A Twist cannot
# say what it answers.

PREFIX = "answers "
# Stamps go through floats, s.
TOLERANCE = 1e-6
# Named by a command that is sent before any state was answered: a stamp that no state has, s.
NOTHING = 1e-9


def effort_command() -> Float64MultiArray:
    """A command of two torques [left, right], zero, N m, with room for a name."""
    message = Float64MultiArray(data=[0.0, 0.0])
    message.layout.dim = [MultiArrayDimension(label=label(NOTHING), size=2, stride=2)]
    return message


def label(stamp: float) -> str:
    """The name of a state by its stamp, s."""
    return f"{PREFIX}{stamp:.9f}"


def named_by(message: Float64MultiArray | TwistStamped) -> float | None:
    """Stamp of the state that a command names, s; None where it names none."""
    if isinstance(message, TwistStamped):
        header = message.header
        return seconds(header.stamp) or (0.0 if header.frame_id else None)
    for dimension in message.layout.dim[:1]:
        if dimension.label.startswith(PREFIX):
            try:
                return float(dimension.label.removeprefix(PREFIX))
            except ValueError:
                return None
    return None


def answers(named: float | None, stamp: float) -> bool:
    """Whether a command that names a state answers the one with this stamp, s.

    One that names a later state answers it, too: programs that stamp by another clock.
    """
    return named is None or (named != NOTHING and named > stamp - TOLERANCE)


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
