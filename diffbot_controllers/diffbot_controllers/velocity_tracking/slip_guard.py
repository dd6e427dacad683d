# SPDX-License-Identifier: Apache-2.0
"""Stops a robot that takes velocities, slows it down or warns, where its wheels slip.

Subscribes to `imu/data` (sensor_msgs/Imu: angular_velocity.z, rad/s); what it knows is on
`diagnostics`. How slip is told: diffbot_ident/velocity/slip_watch.py.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu

from arc_odometry import Velocity
from arc_odometry.odometry_checks import OdometrySample
from diffbot_ident.velocity.slip_watch import SlipWatch
from diffbot_node import parameter
from diffbot_node.command_guard import Pair
from diffbot_node.diagnostics import Diagnostics
from diffbot_node.intra_process import Node
from diffbot_node.verdicts import GOOD, Level, Verdict

# Longest time for which a reading of the gyro counts, s.
FRESH = 0.1
# Part of the commands after an alarm, and the robot time for which it lasts, s.
SLOW, LASTS = 0.3, 5.0


class SlipAction(str, Enum):
    """What follows from slip, besides a warning and the diagnostics."""

    STOP = "stop"
    SLOW = "slow"
    WARN = "warn"


@dataclass(frozen=True)
class SlipParameters:
    """Parameters of the slip guard."""

    imu: bool = parameter(
        False,
        "tell slip of the wheels by a gyro, sensor_msgs/Imu on imu/data (angular_velocity.z, "
        "rad/s), from 45 s of turns on; the twist of odom must be that of the wheels",
    )
    slip_action: str = parameter(
        SlipAction.STOP.value,
        f"what slip leads to: stop (zero until ~/enable), slow ({SLOW:g} of the commands for "
        f"{LASTS:g} s) or warn (log and diagnostics, as with the others)",
        choices=tuple(action.value for action in SlipAction),
    )


class SlipGuard:
    """Judges each odometry of a node; `limits` of its commands, m/s and rad/s."""

    def __init__(self, node: Node, action: SlipAction, limits: Velocity) -> None:
        self._node, self._action, self._watch = node, action, SlipWatch(limits)
        # Since the last odometry, rad/s; as many as come within FRESH at 2 kHz.
        self._readings: deque[float] = deque(maxlen=200)
        self._rate, self._heard = 0.0, -math.inf  # newest mean, rad/s, and its stamp, s
        self._alarm, self._stamp = -math.inf, -math.inf  # stamps, s
        self._slip = ""
        self._topic = node.resolve_topic_name("imu/data")
        self._diagnostics = Diagnostics(node, "", "slip")
        best_effort = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(Imu, "imu/data", self._on_imu, best_effort)

    def _on_imu(self, message: Imu) -> None:
        rate = float(message.angular_velocity.z)
        if math.isfinite(rate):
            self._readings.append(rate)

    def needs(self) -> Verdict:
        if self._node.count_publishers(self._topic):
            return GOOD
        return Verdict(
            Level.WAIT,
            f"no node publishes {self._topic}; start the gyro's driver, or set imu to false: slip "
            "cannot be told without it",
        )

    @property
    def part(self) -> float:
        """Part of the law's command that may be sent, 0 to 1."""
        slowed = self._action is SlipAction.SLOW and self._stamp - self._alarm < LASTS
        return SLOW if slowed else 1.0

    def judge(self, sample: OdometrySample, commanded: Pair, anew: bool) -> Verdict:
        """See RobotInterface.contradiction."""
        readings = list(self._readings)
        self._readings.clear()
        self._stamp = sample.stamp
        if readings:
            self._rate, self._heard = sum(readings) / len(readings), sample.stamp
        heard = 0.0 <= sample.stamp - self._heard <= FRESH
        if anew or not heard:
            self._watch.reset()
        slip = ""
        if heard:
            command = Velocity(*commanded)
            slip = self._watch.update(sample.stamp, sample.velocity, command, self._rate)
        if slip:
            self._alarm = sample.stamp
            self._slip = f"the wheels slip: {slip}"
            if self._action is SlipAction.STOP:
                self._report(True)
                return Verdict(Level.STOP, self._slip)
            self._node.get_logger().warning(self._slip)
        self._report(heard)
        return GOOD

    def _report(self, heard: bool) -> None:
        level, text = DiagnosticStatus.OK, "the wheels follow their drive"
        if self._stamp - self._alarm < LASTS:
            level, text = DiagnosticStatus.ERROR, self._slip
        elif not heard:
            level, text = DiagnosticStatus.WARN, f"cannot be told: {self._topic} is silent"
        elif self._watch.missing > 0.0:
            text = f"cannot be told yet: {self._watch.missing:.0f} s of turns are missing"
        news = (level, text.partition(":")[0])
        if self._diagnostics.due(news):
            self._diagnostics.publish(news, level, text, {"action": self._action.value})
