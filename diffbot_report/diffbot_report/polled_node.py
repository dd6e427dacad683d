# SPDX-License-Identifier: Apache-2.0
"""A node that takes its messages when it wants them, a batch at a time."""

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
    """Hides subscriptions from the executor, to take their messages a batch at a time.

    In lock-step a simulator sends some thousand messages per second of wall time; a callback for
    each would cost a large part of a core, which the simulator needs.
    """

    # The base class asks for its subscriptions before this class has made any.
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
        """A subscription for `take`; the queue of the qos must last from one take to the next."""
        subscription = self.create_subscription(message_type, topic, lambda _: None, qos, raw=raw)
        self._polled = (*self._polled, subscription)
        return subscription

    def create_kept(
        self, message_type: type, topic: str, raw: bool = False, latched: bool = False
    ) -> Subscription[Any]:
        """A subscription for `take_kept` of a topic that a KeptTopic writes, with a header."""
        qos = KEPT_LATCHED if latched else KEPT
        subscription = self.create_polled(message_type, topic, qos, raw)
        self._receipts = {**self._receipts, subscription: Receipts(self, topic)}
        return subscription

    def take_kept(self, subscription: Subscription[Any]) -> list[Any]:
        """As `take`; the writer hears of it, and may wait until it does."""
        messages = list(self.take(subscription))
        if messages:
            last = messages[-1]
            stamp = raw_stamp(last) if subscription.raw else last.header.stamp
            self._receipts[subscription].taken(stamp)
        return messages

    def leave(self) -> None:
        """Nothing more will be taken: no writer has to wait, nor takes this node for a reader."""
        for subscription, receipts in self._receipts.items():
            receipts.leave()
            self.destroy_subscription(subscription)
        self._receipts = MappingProxyType({})

    @staticmethod
    def take(subscription: Subscription[Any]) -> Iterator[Any]:
        """The messages that have come, oldest first; bytes when the subscription is raw."""
        handle, kind, raw = subscription.handle, subscription.msg_type, subscription.raw
        with handle:
            while (taken := handle.take_message(kind, raw)) is not None:
                yield taken[0]


def raw_stamp(serialized: bytes) -> Time:
    """Stamp of a serialized message whose first field is a std_msgs/Header.

    CDR puts 4 bytes ahead, of which the second tells the byte order, then the stamp. This takes
    some µs; unpacking the whole message takes 40 µs.
    """
    order = "<" if serialized[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(order + "iI", serialized, 4)
    return Time(sec=seconds, nanosec=nanoseconds)
