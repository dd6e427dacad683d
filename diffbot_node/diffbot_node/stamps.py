"""Message stamps as seconds and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from rclpy.node import Node

NANOSECONDS = 1_000_000_000
# A stamp of a later second leaves no room to add to it: seconds have 32 bits with a sign.
LATEST = 2**31 - 3600


def seconds(stamp: Time) -> float:
    """A stamp in s."""
    return stamp.sec + stamp.nanosec / NANOSECONDS


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


# ---
# Whether there is the clock that a node is told to go by.

TOPIC = "/clock"


def missing_clock(node: Node) -> str:
    """Why the age of nothing can be known; empty where it can.

    A simulator's clock that nobody publishes stands still, and whatever came stays new for ever.
    """
    if not node.get_clock().ros_time_is_active or node.count_publishers(TOPIC):
        return ""
    return (
        f"use_sim_time is true and nobody publishes {TOPIC}; start the simulator, or leave "
        "use_sim_time false with a robot"
    )
