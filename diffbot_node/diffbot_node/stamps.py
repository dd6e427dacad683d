"""Message stamps as seconds and back, and the clocks of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # Humble: no clock_type
from rclpy.node import Node

NANOSECONDS = 1_000_000_000
# A stamp of a later second leaves no room to add to it: seconds have 32 bits with a sign.
LATEST = 2**31 - 3600


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
