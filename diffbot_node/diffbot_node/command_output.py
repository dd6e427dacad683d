# SPDX-License-Identifier: Apache-2.0
"""Publishes commands within their limits, zero whenever there is a reason to stop, and why."""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.publisher import Publisher

from diffbot_node.command_guard import CommandGuard, Pair
from diffbot_node.command_interfaces import CommandParameters, RobotInterface
from diffbot_node.diagnostics import Diagnostics
from diffbot_node.endpoints import EndpointRole
from diffbot_node.intra_process import Node
from diffbot_node.launch_supervision import reported_failures
from diffbot_node.presence import Complaints
from diffbot_node.stop_inputs import LAST_PERIOD, LAST_ZEROS, WATCHDOG, StopInputs, zero_to_wheels
from diffbot_node.stop_states import GuardState, Sends
from diffbot_node.topic_nodes import Instead, Subscribers, beyond_discovery
from diffbot_node.verdicts import GOOD, Level, Verdict


class CommandOutput:
    """Publishes commands, and zero whenever there is a reason to stop, as `guard` decides.

    `refused` counts states and inputs that could not be used. While `withheld`, answers are not
    sent, to see what the driver does in silence; zero for any reason to stop is sent all the same.
    """

    def __init__(self, node: Node, values: CommandParameters, robot: RobotInterface) -> None:
        self._node, self._robot = node, robot
        self.refused, self.withheld = 0, False
        self._complaints = Complaints()
        self.guard = CommandGuard(robot.limiter)
        self._publisher: Publisher[Any] = node.create_publisher(*robot.commands, 10)
        self._subscribers = Subscribers(node, self._publisher)
        self.topic = self._publisher.topic_name
        self._instead = Instead(node, EndpointRole.SUBSCRIBES, self.topic, robot.commands[0])
        self._diagnostics = CommandDiagnostics(node, robot.limiter.unit, robot.hardware)
        if not values.enabled:
            self.stop("disabled from the start")
        self._inputs = StopInputs(
            node,
            values.emergency_stop_timeout,
            self._press,
            self.guard.release,
            self._on_enable,
        )

    @property
    def ended(self) -> bool:
        return self.guard.ended

    @property
    def stopped_by(self) -> str:
        """Why it waits for somebody to enable the node; empty if it does not."""
        return self.guard.reason if self.guard.stopped else ""

    def send(self, command: Pair) -> None:
        self._publisher.publish(self._robot.message_of(command))

    def answer(self, wanted: Pair, period: float) -> Pair:
        command = self.guard.apply(wanted, period)
        if not (self.ended or self.withheld):
            self.send(command)
        return command

    def answer_again(self) -> None:
        if not self.withheld:
            self.send(self.guard.command)

    def hold(self, why: str, silent: bool = False) -> None:
        self.withheld = False
        self.guard.hold(why, silent)
        self._send_zero()

    def refuse(self, why: str) -> None:
        self.refused += 1
        self.hold(why)
        self.complain(f"{why}; zero {self._robot.command_name}")

    def ignore(self, why: str) -> None:
        self.refused += 1
        self.complain(why)

    def complain(self, what: str) -> None:
        """Warn, at most once a second for sentences that differ in numbers only."""
        if self._complaints.due(what):
            self._node.get_logger().warning(what)

    def inform(self, what: str) -> None:
        self._node.get_logger().info(what)

    def stop(self, why: str) -> None:
        """Command zero until somebody enables the node; sent if it was commanded before."""
        first, self.withheld = self.guard.may_command, False
        self.guard.stop(why)
        self._send_zero()
        if first:
            self._node.get_logger().error(
                f"stopped: {why}. Zero {self._robot.command_name} until "
                f"{self._node.get_fully_qualified_name()}/enable is called with data: true"
            )

    def end(self, why: str) -> None:
        """Command zero for ever."""
        self.guard.end(why)
        self._send_zero()

    def _send_zero(self) -> None:
        """Send zero if the state sends any."""
        sends = self.guard.state.sends
        if sends is Sends.ZERO or (sends is Sends.ZERO_IF_ALONE and not self.rivals()):
            self.send((0.0, 0.0))

    def close(self) -> None:
        # First to the wheels if the way to them is known to be cut off: they hold the last torque.
        if cut_off := self._is_cut_off():
            self.send_zero_to_wheels()
        for _ in range(1 if self._node.composed else LAST_ZEROS):
            self.end("the process ends")
            time.sleep(0.0 if self._node.composed else LAST_PERIOD)
        if not cut_off and self._is_cut_off():
            self.send_zero_to_wheels()
        self._diagnostics.publish(self.guard, "", self.refused)

    def send_zero_to_wheels(self) -> None:
        zero, what = self._robot.message_of((0.0, 0.0)), self._robot.command_name
        zero_to_wheels(self._node, self._robot.commands, zero, what)

    @property
    def through_watchdog(self) -> bool:
        return bool(self.topic.endswith(f"/{WATCHDOG}/commands"))

    def _is_cut_off(self) -> bool:
        """Whether the watchdog is dead: DDS counts a killed node for 20 s more."""
        died = any(name.startswith(WATCHDOG) for name in reported_failures())
        return self.guard.began and self.through_watchdog and (died or bool(self.missing()))

    def rivals(self) -> Verdict:
        others = self._node.count_publishers(self.topic) - 1
        if others <= 0:
            return GOOD
        return Verdict(
            Level.STOP,
            f"{others} other node{'s publish' if others > 1 else ' publishes'} {self.topic}; "
            "stop all but one, or give each robot its own namespace or ROS_DOMAIN_ID (a node that "
            "was killed outright counts for some 20 s more)",
        )

    def missing(self) -> Verdict:
        if self._subscribers.are_there():
            return GOOD
        elsewhere = "" if self._node.composed else beyond_discovery()
        return Verdict(
            Level.WAIT,
            f"no node subscribes to {self.topic}; start {self._robot.subscriber}{elsewhere}"
            f"{self._instead.text()}",
        )

    def look(self) -> None:
        self._inputs.look()

    def report(self, waits_for: str) -> None:
        self._diagnostics.look(self.guard, waits_for, self.refused)

    def _press(self, why: str) -> None:
        self.stop(why)
        self.guard.press(why)

    def _on_enable(self, on: bool) -> str:
        if not on:
            self.stop("stopped by ~/enable")
            return ""
        problem = self.rivals().reason or self.guard.enable()
        if not problem:
            self._node.get_logger().info("enabled")
        return problem


class CommandDiagnostics:
    """Publishes the state of a commanding node, when it changes and once a second."""

    def __init__(self, node: Node, unit: str, hardware: str) -> None:
        self._topic, self._unit = Diagnostics(node, hardware), unit
        self._published_refused = 0

    def look(self, guard: CommandGuard, waits_for: str, refused: int) -> None:
        """Publish if it is time, with what is missing before commands may begin.

        `refused` is the number of states and inputs so far that could not be used.
        """
        if self._topic.due(guard.state):
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
            "state": state.label,
            "reason": reason,
            "emergency stop": guard.pressed or "not pressed",
            f"command, {self._unit}": list(guard.command),
            "refused": refused,
        }
        text = f"{state.label}: {reason}" if reason else state.label
        self._topic.publish(state, _level(state, lately > 0), text, values)


def _level(state: GuardState, troubled: bool) -> Any:
    level = "WARN" if state is GuardState.ACTIVE and troubled else state.level
    return getattr(DiagnosticStatus, level)
