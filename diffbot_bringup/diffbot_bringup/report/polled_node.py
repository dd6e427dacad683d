"""A node that takes its messages when it wants them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


class PolledNode(Node):
    """Hides subscriptions from the executor, to take their messages a batch at a time.

    In lock-step a simulator sends some thousand messages per second of wall time; a callback for
    each would cost a large part of a core, which the simulator needs.
    """

    # The base class asks for its subscriptions before this class has made any.
    _polled: tuple[Subscription, ...] = ()

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """The subscriptions that an executor serves."""
        polled = {id(subscription) for subscription in self._polled}
        return (s for s in super().subscriptions if id(s) not in polled)

    def create_polled(
        self, message_type: type, topic: str, qos: QoSProfile, raw: bool = False
    ) -> Subscription:
        """A subscription for `take`; the queue of the qos must last from one take to the next."""
        subscription = self.create_subscription(message_type, topic, lambda _: None, qos, raw=raw)
        self._polled = (*self._polled, subscription)
        return subscription

    @staticmethod
    def take(subscription: Subscription) -> Iterator[Any]:
        """The messages that have come, oldest first; bytes when the subscription is raw."""
        handle, kind, raw = subscription.handle, subscription.msg_type, subscription.raw
        with handle:
            while (taken := handle.take_message(kind, raw)) is not None:
                yield taken[0]
