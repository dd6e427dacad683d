"""The topic `emergency_stop`: pressed while any of those who publish it says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool

from diffbot_node.state_subscription import (
    SubscriptionEventCallbacks,
    subscribe_to_states,
    with_information,
)

TOPIC = "emergency_stop"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Of states that who comes late has to know, too."""
GID = 16  # bytes of a publisher's id; some versions of ROS fill it up with zeros


class EmergencyStop:
    """Subscribes to `emergency_stop` (std_msgs/Bool, true: pressed).

    From publishers of either reliability, and twice: a latched state that was told before this node
    was there reaches a latched subscription only, and a publisher that does not latch reaches a
    volatile one only. What comes twice does no harm.

    Each publisher's last word counts: one button that is released does not release another. A
    publisher that has gone while it pressed is released by the next one that says false. Where ROS
    does not tell who sent a message (before Kilted), the last word of all counts.

    Args:
        node: listens.
        callback: called with each message, with whether the emergency stop is pressed.
    """

    def __init__(self, node: Node, callback: Callable[[bool], None]) -> None:
        self._node, self._callback = node, callback
        self._pressing: set[bytes] = set()
        self.topic = node.resolve_topic_name(TOPIC)
        told = with_information(self._on_message)
        subscribe_to_states(node, Bool, TOPIC, told)
        # That only one of the two matches is no news.
        quiet = SubscriptionEventCallbacks(incompatible_qos=lambda event: None)
        node.create_subscription(Bool, TOPIC, told, LATCHED, event_callbacks=quiet)

    def _on_message(self, message: Bool, information: dict[str, Any]) -> None:
        gid = information.get("publisher_gid") or {"data": b""}
        sender = bytes(gid["data"])[:GID]
        if message.data:
            self._pressing.add(sender)
        else:
            self._pressing.discard(sender)
            if self._pressing:
                self._pressing &= self._publishers()
        self._callback(bool(self._pressing))

    def _publishers(self) -> set[bytes]:
        """Ids of those who publish it now."""
        found = self._node.get_publishers_info_by_topic(self.topic)
        return {bytes(publisher.endpoint_gid)[:GID] for publisher in found}
