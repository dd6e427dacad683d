"""The topic `emergency_stop`."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool

from diffbot_node.state_subscription import SubscriptionEventCallbacks, subscribe_to_states

TOPIC = "emergency_stop"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Of states that who comes late has to know, too."""


class EmergencyStop:
    """Subscribes to `emergency_stop` (std_msgs/Bool, true: pressed).

    From publishers of either reliability, and twice: a latched state that was told before this node
    was there reaches a latched subscription only, and a publisher that does not latch reaches a
    volatile one only. What comes twice does no harm.

    It is released by false from its only publisher. Of several nobody tells whose message came
    (rclpy's fast executor fails when asked), and the button that is released need not be the one
    that was pressed.

    Args:
        node: listens.
        callback: called after each message, with why the emergency stop counts as pressed; empty
            when it does not.

    Attributes:
        topic: its full name.
    """

    def __init__(self, node: Node, callback: Callable[[str], None]) -> None:
        self._node, self._callback = node, callback
        self._why = ""
        self.topic = node.resolve_topic_name(TOPIC)
        subscribe_to_states(node, Bool, TOPIC, self._on_message)
        # That only one of the two matches is no news.
        quiet = SubscriptionEventCallbacks(incompatible_qos=lambda event: None)
        node.create_subscription(Bool, TOPIC, self._on_message, LATCHED, event_callbacks=quiet)

    def _on_message(self, message: Bool) -> None:
        if message.data:
            self._why = "the emergency stop is pressed"
        elif self._why and (count := self._node.count_publishers(self.topic)) > 1:
            self._why = (
                f"the emergency stop is pressed, and {count} nodes publish {self.topic}: stop all "
                "but one, or let one node join the buttons"
            )
        else:
            self._why = ""
        self._callback(self._why)
