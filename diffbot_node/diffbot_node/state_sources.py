"""Subscriptions of what robots tell, from drivers that offer either reliability."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

try:
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks

DEPTH = 10  # messages


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[..., None]
) -> Subscription[Any]:
    """Subscribe to the states of a robot.

    The subscription is reliable: a lost message would stop a lock-step simulation for ever. A
    driver that offers best effort only, as is usual for sensors, never matches such a one; it gets
    a second subscription as soon as it shows.

    Args:
        node: subscribes.
        message_type: of the states.
        topic: name of the topic.
        callback: takes a message; WithSender where it matters who has sent it.

    Returns:
        The reliable subscription.
    """
    others: list[Subscription[Any]] = []

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


class WithSender:
    """A callback that is told who has sent a message, as a subscription takes it.

    rclpy gives a callback of two arguments what it knows of the message besides; its
    EventsExecutor gives both as one tuple (Kilted), which no function of two arguments takes.

    Args:
        callback: is called with the message and with what tells publishers apart, None where the
            middleware does not say (rclpy before Kilted).
    """

    __signature__ = Signature(
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("message", "information")]
    )

    def __init__(self, callback: Callable[[Any, Any], None]) -> None:
        self._callback = callback

    def __call__(self, *arguments: Any) -> None:
        """Hand a message on."""
        message, information = arguments[0] if len(arguments) == 1 else arguments
        gid = information.get("publisher_gid") if isinstance(information, dict) else None
        self._callback(message, None if gid is None else bytes(gid["data"]))
