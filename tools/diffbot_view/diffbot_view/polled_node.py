# SPDX-License-Identifier: Apache-2.0
"""A node that fetches its messages in batches, when it chooses to."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from diffbot_node import Node


class PolledNode(Node):
    """Hides subscriptions from the executor, to fetch their messages in batches.

    A simulator may send some thousand messages a second; a callback for each would take a core.
    """

    # The base class reads its subscriptions before this class has created any.
    _polled: tuple[Subscription[Any], ...] = ()

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """The subscriptions that an executor serves."""
        polled = {id(subscription) for subscription in self._polled}
        return (s for s in super().subscriptions if id(s) not in polled)

    def create_polled(self, message_type: type, topic: str, qos: QoSProfile) -> Subscription[Any]:
        """Create a raw subscription for `take`; its queue must last until the next one."""
        subscription = self.create_subscription(message_type, topic, lambda _: None, qos, raw=True)
        self._polled = (*self._polled, subscription)
        return subscription

    @staticmethod
    def take(subscription: Subscription[Any]) -> Iterator[bytes]:
        """Yield the serialized messages received, oldest first."""
        handle, kind = subscription.handle, subscription.msg_type
        with handle:
            while (taken := handle.take_message(kind, True)) is not None:
                yield taken[0]


def raw_stamp(serialized: bytes) -> Time:
    """Return the stamp of a serialized message whose first field is a std_msgs/Header.

    CDR puts 4 bytes in front, of which the second gives the byte order.
    """
    order = "<" if serialized[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(order + "iI", serialized, 4)
    return Time(sec=seconds, nanosec=nanoseconds)
