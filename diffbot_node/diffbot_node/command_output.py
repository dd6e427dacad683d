# SPDX-License-Identifier: Apache-2.0
"""The way of commands out of a node: what the guard allows, zero on every way out, diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.duration import Duration
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.publisher import Publisher

from diffbot_node.command_guard import CommandGuard, GuardState, Pair, PairLimiter
from diffbot_node.parameters import CommandParameters
from diffbot_node.presence import Takers
from diffbot_node.robot_messages import NOTHING
from diffbot_node.running import told_failures
from diffbot_node.stopping import StopInputs

# How often zero is sent at the end, and the wall time between two, s: one may get lost.
LAST_ZEROS, LAST_PERIOD = 3, 0.02
# Who may stand between a node and the wheels, and how long these may take to be found without it, s
# of wall time.
WATCHDOG, FINDING_TIME, ACKNOWLEDGING_TIME = "effort_watchdog", 4.0, 1.0
# Wall time after which diagnostics are said again, and between two that differ, s.
DIAGNOSTICS_PERIOD = 1.0
LEAST_DIAGNOSTICS_PERIOD = 0.1


class CommandOutput:
    """Publishes commands, and zero whenever there is a reason to.

    Args:
        node: publishes.
        values: the node's parameters.
        commands: type of message and name of the topic.
        limiter: of the commands.
        message_of: see RobotInterface.
        what: is commanded, for messages.
        hardware: name of the robot, for `diagnostics`; empty where it is not known.

    Attributes:
        guard: says what may be commanded.
        topic: name of the topic.
        answered: stamp of the newest state that was answered, s; see robot_messages.py.
        met: what another run that this one has met did, which stopped it; empty while none has.
    """

    def __init__(
        self,
        node: Node,
        values: CommandParameters,
        commands: tuple[type, str],
        limiter: PairLimiter,
        message_of: Callable[[Pair, float], Any],
        what: str,
        hardware: str = "",
    ) -> None:
        self._node, self._message_of, self._what = node, message_of, what
        self._commands = commands
        self.guard = CommandGuard(limiter)
        self._publisher: Publisher[Any] = node.create_publisher(*commands, 10)
        self._takers = Takers(node, self._publisher)
        self.topic = self._publisher.topic_name
        self.answered = NOTHING
        self.met = ""
        self._diagnostics = CommandDiagnostics(node, limiter.unit, hardware)
        if not values.enabled:
            self.stop("disabled from the start")
        self._inputs = StopInputs(
            node,
            values.emergency_stop_timeout,
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
        if self._is_cut_off():
            self._tell_wheels()
        self._diagnostics.publish(self.guard, "", refused)

    def _is_cut_off(self) -> bool:
        """Whether the watchdog, which passes commands on to the wheels, is dead.

        DDS counts a node that was killed for 20 s more; the launch knows it at once.
        """
        if not (self.guard.began and self.topic.endswith(f"/{WATCHDOG}/commands")):
            return False
        died = any(name.startswith(WATCHDOG) for name in told_failures())
        return died or not self.has_takers()

    def _tell_wheels(self) -> None:
        """Zero to the wheels themselves: they may hold the last torque for ever.

        By a node of its own, as this one's publishers are remapped to the watchdog.
        """
        kind, name = self._commands
        own = self._node
        topic = expand_topic_name(name, own.get_name(), own.get_namespace())
        node = Node(
            f"{own.get_name()}_last_zero",
            context=own.context,
            namespace=own.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        try:
            publisher: Publisher[Any] = node.create_publisher(kind, topic, 10)
            # All that this node knows of: the first to be found may be one that only looks on.
            deadline, takers = time.monotonic() + FINDING_TIME, max(1, own.count_subscribers(topic))
            while (found := publisher.get_subscription_count()) < takers:
                if time.monotonic() > deadline:
                    break
                time.sleep(LAST_PERIOD)
            for _ in range(LAST_ZEROS):
                publisher.publish(self._message_of((0.0, 0.0), self.answered))
                time.sleep(LAST_PERIOD)
            publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGING_TIME))
            own.get_logger().error(
                f"{WATCHDOG} is dead: zero {self._what} sent to {topic} itself"
                if found
                else f"{WATCHDOG} is dead, and nobody was found on {topic} to send zero to: see "
                "that the robot stands still"
            )
        finally:
            node.destroy_node()

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
        """Whether anybody takes the commands; see Takers."""
        return self._takers.are_there()

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


class CommandDiagnostics:
    """Publishes the state of a commanding node on `diagnostics`, when it changes and once a second.

    Args:
        node: publishes.
        unit: of the commands.
        hardware: name of the robot; empty where it is not known.
    """

    def __init__(self, node: Node, unit: str, hardware: str) -> None:
        self._node, self._unit, self._hardware = node, unit, hardware
        self._topic = node.create_publisher(DiagnosticArray, "diagnostics", 10)
        self._said: tuple[GuardState, bool] | None = None
        self._said_at = 0.0
        self._said_refused = 0

    def look(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Called every few ms: publishes when it is time.

        Args:
            guard: of the node.
            waits_for: what is missing before anything may be commanded.
            refused: states and inputs that could not be used so far.
        """
        since = time.monotonic() - self._said_at
        changed = (guard.state, guard.silent) != self._said
        if since >= DIAGNOSTICS_PERIOD or (changed and since >= LEAST_DIAGNOSTICS_PERIOD):
            self.publish(guard, waits_for, refused)

    def publish(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish now; see `look`."""
        lately = refused - self._said_refused
        self._said, self._said_at = (guard.state, guard.silent), time.monotonic()
        self._said_refused = refused
        reason = guard.reason
        if guard.state is GuardState.WAITING and waits_for:
            reason = waits_for
        elif guard.state is GuardState.ACTIVE and lately > 0:
            reason = f"{lately} of what came was refused lately"
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
    """OK, WARN, ERROR or STALE; `troubled`: something was refused lately, though it goes on."""
    if guard.state is GuardState.ACTIVE:
        return DiagnosticStatus.WARN if troubled else DiagnosticStatus.OK
    if guard.state is GuardState.STOPPED:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.STALE if guard.silent else DiagnosticStatus.WARN
