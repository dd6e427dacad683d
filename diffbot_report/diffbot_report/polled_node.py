# SPDX-License-Identifier: Apache-2.0
"""A node that fetches its messages in batches, when it chooses to."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from diffbot_node import KEPT, KEPT_LATCHED, Receipts


class PolledNode(Node):
    """Hides subscriptions from the executor, to fetch their messages in batches.

    In lock-step a simulator sends some thousand messages per second of wall time. A callback for
    each would take a large part of a core, which the simulator needs.
    """

    # The base class reads its subscriptions before this class has created any.
    _polled: tuple[Subscription[Any], ...] = ()
    _receipts: Mapping[Subscription[Any], Receipts] = MappingProxyType({})

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """The subscriptions that an executor serves."""
        polled = {id(subscription) for subscription in self._polled}
        return (s for s in super().subscriptions if id(s) not in polled)

    def create_polled(
        self, message_type: type, topic: str, qos: QoSProfile, raw: bool = False
    ) -> Subscription[Any]:
        """Create a subscription for `take`; its queue must suffice from one take to the next."""
        subscription = self.create_subscription(message_type, topic, lambda _: None, qos, raw=raw)
        self._polled = (*self._polled, subscription)
        return subscription

    def create_kept(
        self, message_type: type, topic: str, raw: bool = False, latched: bool = False
    ) -> Subscription[Any]:
        """Create a subscription for `take_kept` to a topic with headers, written by a KeptTopic."""
        qos = KEPT_LATCHED if latched else KEPT
        subscription = self.create_polled(message_type, topic, qos, raw)
        self._receipts = {**self._receipts, subscription: Receipts(self, topic)}
        return subscription

    def take_kept(self, subscription: Subscription[Any]) -> list[Any]:
        """Like `take`, and acknowledge the messages to their publisher, which may wait for that."""
        messages = list(self.take(subscription))
        if messages:
            last = messages[-1]
            stamp = raw_stamp(last) if subscription.raw else last.header.stamp
            self._receipts[subscription].taken(stamp)
        return messages

    def leave(self) -> None:
        """End all subscriptions: publishers neither wait for this node nor count it as a reader."""
        for subscription, receipts in self._receipts.items():
            receipts.leave()
            self.destroy_subscription(subscription)
        self._receipts = MappingProxyType({})

    @staticmethod
    def take(subscription: Subscription[Any]) -> Iterator[Any]:
        """Yield the received messages, oldest first; bytes if the subscription is raw."""
        handle, kind, raw = subscription.handle, subscription.msg_type, subscription.raw
        with handle:
            while (taken := handle.take_message(kind, raw)) is not None:
                yield taken[0]


def raw_stamp(serialized: bytes) -> Time:
    """Return the stamp of a serialized message whose first field is a std_msgs/Header.

    CDR puts 4 bytes in front, of which the second gives the byte order, then the stamp. This takes
    some µs; deserialising the whole message takes 40 µs.
    """
    order = "<" if serialized[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(order + "iI", serialized, 4)
    return Time(sec=seconds, nanosec=nanoseconds)
