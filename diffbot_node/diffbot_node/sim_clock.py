"""Whether there is the clock that a node is told to go by."""

from __future__ import annotations

from rclpy.node import Node

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
