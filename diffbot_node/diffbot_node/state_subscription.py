"""Subscriptions of what robots tell, from drivers that offer either reliability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

DEPTH = 10  # messages


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[[Any], None]
) -> Subscription:
    """Subscribe to the states of a robot.

    The subscription is reliable: a lost message would stop a lock-step simulation for ever. A
    driver that offers best effort only, as is usual for sensors, never matches such a one; it gets
    a second subscription as soon as it shows.

    Returns:
        The reliable subscription.
    """
    others: list[Subscription] = []

    def on_incompatible(event: Any) -> None:
        if event.last_policy_kind == QoSPolicyKind.RELIABILITY and not others:
            qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
            others.append(node.create_subscription(message_type, topic, callback, qos))

    return node.create_subscription(
        message_type,
        topic,
        callback,
        DEPTH,
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=on_incompatible),
    )
