# SPDX-License-Identifier: Apache-2.0
"""The effort_watchdog node: protects the wheels from failing controllers.

Subscribes to `~/commands` ([left, right], N m), where controllers publish, and `emergency_stop`. As
the only publisher of `effort_controller/commands` it forwards each message at once, or zero in its
place. Publishes `diagnostics` and `~/holds` (std_msgs/Bool, latched, repeated as its sign of life):
whether the wheels get zero whatever is commanded. It subscribes only while a node takes its own
commands, as controllers begin once somebody subscribes to theirs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64MultiArray

from diffbot_description import load_robot
from diffbot_node.diagnostics import Diagnostics
from diffbot_node.effort_watchdog import ZERO, EffortWatchdog, Pair, WatchdogState
from diffbot_node.intra_process import Node
from diffbot_node.parameter_fields import RobotParameters, parameter
from diffbot_node.parameters import declare
from diffbot_node.presence import Complaints, Presence
from diffbot_node.robot_messages import NodeClock, create_wall_timer
from diffbot_node.stop_inputs import LAST_PERIOD, LAST_ZEROS, EmergencyStop
from diffbot_node.topic_nodes import LATCHED, Subscribers

# Relative rounding error of a torque that is converted to another unit and back.
ROUNDING = 1e-9
LOOK_PERIOD = 0.01  # s of wall time
# Longest wall time to wait at the end for controllers that end, too, s.
LEAVING_TIME = 1.0
# Wall time, s, after which several publishers count before any torque: DDS may list one twice.
CROWD_PATIENCE = 0.5
PULSE_PERIOD = 0.1  # longest wall time between two `~/holds`, s
LEVELS = {
    WatchdogState.WAITING: DiagnosticStatus.WARN,
    WatchdogState.PASSING: DiagnosticStatus.OK,
    WatchdogState.SILENT: DiagnosticStatus.STALE,
    WatchdogState.TRIPPED: DiagnosticStatus.ERROR,
}


@dataclass(frozen=True)
class WatchdogParameters(RobotParameters):
    """Parameters of effort_watchdog."""

    torque_limit: float = parameter(
        0.0, "largest torque passed, N m; 0: the robot's limits.torque", minimum=0.0
    )
    timeout: float = parameter(
        0.1, "age of the newest command after which zero torque is commanded, s", above=0.0
    )
    jitter: float = parameter(0.03, "how much earlier than due a command may arrive, s", above=0.0)
    leave_when_alone: bool = parameter(False, "end when no node publishes commands any more")
    patience: float = parameter(
        0.0,
        "with leave_when_alone: wall time to wait for the first publisher of commands, s; then "
        "status 1; 0: for ever",
        minimum=0.0,
    )


class EffortWatchdogNode(Node):
    """ROS interface of EffortWatchdog."""

    def __init__(self) -> None:
        super().__init__("effort_watchdog")
        self.values = values = declare(self, WatchdogParameters)
        self._robot = load_robot(values.robot)
        limits = self._robot.limits
        self._robot.check_limit("torque_limit", values.torque_limit, "torque", "N m")
        limit = values.torque_limit or limits.torque
        self._drive = self._robot.drive
        if self._drive.torque_constant is not None or len(self._robot.joints.names) > 2:
            limit *= 1.0 + ROUNDING
        self.watchdog = EffortWatchdog(limit, limits.torque_rate, values.timeout, values.jitter)
        self._pressed = ""
        self._crowded_since: float | None = None  # wall time, s; -inf: long enough
        self._judged_by, self._controllers = NodeClock(self), Presence(values.patience)
        self._trips = 0
        self._complaints = Complaints()
        self._joints = self._robot.joints
        self._commands: Subscription[Any] | None = None
        self._topic = self.resolve_topic_name("~/commands")
        self._wheels = self.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
        self._subscribers = Subscribers(self, self._wheels)
        self._diagnostics = Diagnostics(self, self._robot.name)
        self._holds = self.create_publisher(Bool, "~/holds", LATCHED)
        self._last_holds: tuple[float, bool | None] = 0.0, None  # wall time, s, and last value
        EmergencyStop(self, self._on_emergency_stop)
        create_wall_timer(self, LOOK_PERIOD, self._look)

    def close(self) -> None:
        """Send zero as the last command; three times, in case one gets lost.

        It leaves after its controllers: one that misses it takes it for dead.
        """
        zeros, deadline = LAST_ZEROS, time.monotonic() + LEAVING_TIME
        while zeros > 0 or (self.count_publishers(self._topic) and time.monotonic() < deadline):
            zeros -= 1
            self._send(ZERO)
            time.sleep(LAST_PERIOD)

    def _on_command(self, message: Float64MultiArray) -> None:
        if clockless := self._judged_by.missing():
            self.watchdog.hold(clockless.reason)
        data: Sequence[float] = message.data
        names, unfit = self._joints.names, ""
        if len(data) == len(names):
            data = self._drive.torque_of(self._joints.summed(data))
        elif len(names) > 2:
            unfit = f"command of {len(data)} values: must be one torque for each of {list(names)}"
        self._send(self.watchdog.command(self._now(), data, unfit))
        self._report()

    def _on_emergency_stop(self, why: str) -> None:
        self._pressed = why
        self._hold()

    def _look(self) -> None:
        if self.exit_code is None:
            self._hold()
            self._send(self.watchdog.look(self._now()))
            self._follow_wheels()
            self._report()
            self._leave()

    def _hold(self) -> None:
        why = f"{self._pressed}: release it" if self._pressed else ""
        if any(self.watchdog.passed):
            why = why or self._judged_by.missing().reason
        why = why or self._crowd()
        self._send(self.watchdog.hold(why))

    def _crowd(self) -> str:
        for topic in (self._topic, self._wheels.topic_name):
            if (count := self.count_publishers(topic)) > 1:
                now = time.monotonic()
                self._crowded_since = self._crowded_since or now
                # Once anything had to be stopped, nothing passes until one is left.
                if any(self.watchdog.passed) or now - self._crowded_since >= CROWD_PATIENCE:
                    self._crowded_since = -math.inf
                    return f"{count} nodes publish {topic}, limit 1: stop all but one"
                return ""
        self._crowded_since = None
        return ""

    def _follow_wheels(self) -> None:
        if not self._subscribers.are_there():
            if self._commands is not None:
                self.destroy_subscription(self._commands)
                self._commands = None
        elif self._commands is None and not self._judged_by.missing():
            self._commands = self.create_subscription(
                Float64MultiArray, self._topic, self._on_command, 10
            )

    def _leave(self) -> None:
        if self.values.leave_when_alone:
            self.exit_code = self._controllers.leave(
                self.count_publishers(self._topic) > 0,
                self.get_logger(),
                "no node publishes commands any more",
                f"no node published {self._topic} within {self._controllers.waited:.1f} s of wall "
                "time: start a controller with effort_controller/commands remapped to it",
            )

    def _report(self) -> None:
        self._publish_holds()
        watchdog, state, reason = self.watchdog, self.watchdog.state, self.watchdog.reason
        if self._commands is None:
            state = WatchdogState.WAITING
            reason = f"no node subscribes to {self._wheels.topic_name}: start the wheels' driver"
        if watchdog.trips != self._trips and self._complaints.due(watchdog.reason):
            self.get_logger().error(watchdog.reason)
        self._trips = watchdog.trips
        if self._diagnostics.due(reason):
            values = {"passed, N m": list(watchdog.passed), "trips": watchdog.trips}
            self._diagnostics.publish(reason, LEVELS[state], reason or state.value, values)

    def _publish_holds(self) -> None:
        at, reported = self._last_holds
        holds, now = self.watchdog.holds, time.monotonic()
        if holds is not reported or now - at >= PULSE_PERIOD:
            self._last_holds = now, holds
            self._holds.publish(Bool(data=holds))

    def _now(self) -> float:
        return self._judged_by.now()

    def _send(self, torque: Pair | None) -> None:
        if torque is not None:
            efforts = self._joints.shared(self._drive.effort_of(torque))
            self._wheels.publish(Float64MultiArray(data=list(efforts)))
