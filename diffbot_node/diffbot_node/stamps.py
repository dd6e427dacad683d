# SPDX-License-Identifier: Apache-2.0
"""Message stamps: as seconds, which state a command answers by them, and the clocks of a node.

A simulator in lock-step says a state, and says it again until the command that answers it has come;
then it goes on by one control period. A command may come twice, late, or unasked (zero because
somebody pressed the emergency stop), so each names the newest state that its sender has answered:

- std_msgs/Float64MultiArray by the label of its first dimension, "answers 12.340000000";
- geometry_msgs/TwistStamped by its stamp (0 without a frame is that of a tool without a clock).

Both are left alone by the drivers of real robots: ros2_control's controllers read the data only. A
command without a name, as other programs send it, answers whatever state waits. A Twist cannot say
what it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # Humble: no clock_type
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

NANOSECONDS = 1_000_000_000
# A stamp of a later second leaves no room to add to it: seconds have 32 bits with a sign.
LATEST = 2**31 - 3600
PREFIX = "answers "
# Stamps go through floats, s.
TOLERANCE = 1e-6
# Named by a command that is sent before any state was answered: a stamp that no state has, s.
NOTHING = 1e-9


def seconds(stamp: Time) -> float:
    """A stamp in s."""
    return float(stamp.sec + stamp.nanosec / NANOSECONDS)


def to_stamp(time: float) -> Time:
    """A time in s, >= 0, as a stamp, to the nearest nanosecond."""
    whole, rest = divmod(round(time * NANOSECONDS), NANOSECONDS)
    return Time(sec=whole, nanosec=rest)


def stamp_problem(stamp: Time) -> str:
    """Why a stamp cannot be used, as a sentence; empty where it can."""
    if 0 <= stamp.sec < LATEST and stamp.nanosec < NANOSECONDS:
        return ""
    return (
        f"stamp = {stamp.sec} s and {stamp.nanosec} ns: must be >= 0 s and < {LATEST} s, with less "
        f"than {NANOSECONDS} ns; left out; check the clock of who stamps it"
    )


def effort_command(joints: int = 2) -> Float64MultiArray:
    """A command of a torque for each joint, left ones first, zero, N m, with room for a name."""
    message = Float64MultiArray(data=[0.0] * joints)
    message.layout.dim = [MultiArrayDimension(label=label(NOTHING), size=joints, stride=joints)]
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


class NodeClock:
    """The clock that a node goes by: a simulator's with use_sim_time, else the computer's.

    Args:
        node: whose it is.
    """

    TOPIC = "/clock"

    def __init__(self, node: Node) -> None:
        self._node = node

    def now(self) -> float:
        """What it shows, s."""
        return 1e-9 * self._node.get_clock().now().nanoseconds

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulator's: it may be slow, stand still, or be set back."""
        clock: Any = self._node.get_clock()  # rclpy's type knows nothing of the ROS clock
        return bool(clock.ros_time_is_active)

    def missing(self) -> str:
        """Why the age of nothing can be known; empty where it can.

        A simulator's clock that nobody publishes stands still, and what came stays new for ever.
        """
        if not self.is_simulated or self._node.count_publishers(self.TOPIC):
            return ""
        return (
            f"use_sim_time is true and nobody publishes {self.TOPIC}; start the simulator, or "
            "leave use_sim_time false with a robot"
        )


def create_wall_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call back every `period` s of wall time, whatever the node's clock does."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))
