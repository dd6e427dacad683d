# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes in one process, without the middleware.

All messages wait in one queue, in the order of publication; nobody changes one from then on. When
the queue is empty, everything that a message has caused is done, and the functions given to
`when_idle` are called: by that a simulator advances in lock-step. Every topic exists in the
middleware, too: a message is published there if another process subscribes, or may do so later
(transient_local). The copy that comes back equals one of the latest sent, and is dropped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import rclpy.node
from rclpy.exceptions import InvalidHandle
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription

from diffbot_node.printable_log import PrintableLogger
from diffbot_node.senders import WITH_METADATA, Foreigners, message_and_metadata

# Sent messages of a topic that are remembered to recognise their copies: half a second of them.
REMEMBERED = 5000
# Period at which publishers count their subscribers in other processes, s of wall time.
COUNT_PERIOD = 0.02

Step = Callable[[], bool]
"""Does what is due when no message waits; returns whether it did anything."""


class IntraProcess:
    """The queue of one process; `parameters` are its nodes with the names of their parameters."""

    def __init__(self) -> None:
        self._queue: deque[tuple[LocalSubscription, Any, dict[str, Any]]] = deque()
        self._topics: dict[tuple[str, type], _Topic] = {}
        self._steps: list[Step] = []
        self._counted = 0.0
        self.parameters: list[tuple[rclpy.node.Node, list[str]]] = []

    def when_idle(self, step: Step) -> None:
        """Call `step` whenever all published messages have been delivered."""
        self._steps.append(step)

    def forget(self, step: Step) -> None:
        self._steps = [each for each in self._steps if each != step]

    def deliver(self, duration: float) -> bool:
        """Deliver what waits, and call the idle functions; return whether there is a rest.

        After `duration`, s of wall time, the rest is left for the next call.
        """
        queue, clock = self._queue, time.monotonic
        end = (now := clock()) + duration
        if now - self._counted >= COUNT_PERIOD:
            self._counted = now
            for topic in self._topics.values():
                topic.count()
        while True:
            while queue:
                subscription, message, information = queue.popleft()
                subscription.take(message, information)
                if clock() >= end:
                    return True
            if not any([step() for step in self._steps]):
                return bool(queue)
            if clock() >= end:
                return True

    def deliver_waiting(self) -> None:
        """Deliver all that waits now, however long it takes, and nothing that follows from it."""
        for _ in range(len(self._queue)):
            subscription, message, information = self._queue.popleft()
            subscription.take(message, information)

    def enqueue(
        self, subscription: LocalSubscription, message: Any, information: dict[str, Any]
    ) -> None:
        self._queue.append((subscription, message, information))

    def keep_only(self, nodes: Sequence[rclpy.node.Node]) -> None:
        for topic in self._topics.values():
            for subscription in topic.subscriptions:
                if not any(subscription.node is node for node in nodes):
                    subscription.end()

    def origins(self, topic: str) -> frozenset[bytes]:
        """Return the origins (senders.py) of what this process publishes on a topic."""
        return frozenset(
            publisher.origin
            for (name, _), parts in self._topics.items()
            if name == topic
            for publisher in parts.publishers
        )

    def topic(self, name: str, message_type: type) -> _Topic:
        return self._topics.setdefault((name, message_type), _Topic())


class _Topic:
    """Publishers and subscriptions of one topic in this process, and what was sent to others."""

    def __init__(self) -> None:
        self.publishers: list[LocalPublisher] = []
        self.subscriptions: list[LocalSubscription] = []
        # Kept when a publisher leaves: its last copies are still to come back.
        self._sent: dict[bytes, None] = {}

    def add_publisher(self, publisher: LocalPublisher) -> None:
        self.publishers.append(publisher)
        publisher.connect(self.subscriptions)

    def add_subscription(self, subscription: LocalSubscription) -> None:
        self.subscriptions.append(subscription)
        for publisher in self.publishers:
            publisher.connect(self.subscriptions)
            publisher.send_kept(subscription)

    def remove(self, part: LocalPublisher | LocalSubscription) -> None:
        self.publishers = [each for each in self.publishers if each is not part]
        self.subscriptions = [each for each in self.subscriptions if each is not part]
        for publisher in self.publishers:
            publisher.connect(self.subscriptions)

    def count(self) -> None:
        for publisher in self.publishers:
            publisher.count()

    def remember(self, data: bytes) -> None:
        self._sent[data] = None
        if len(self._sent) > REMEMBERED:
            del self._sent[next(iter(self._sent))]

    def has_sent(self, data: bytes) -> bool:
        return data in self._sent


class LocalPublisher:
    """An rclpy Publisher that also reaches its own process directly; see `origin` in senders.py.

    `receiving_nodes`: names of this process's nodes that subscribe, one for each subscription.
    """

    def __init__(self, publisher: Publisher[Any], room: IntraProcess, topic: _Topic) -> None:
        self._publisher, self._room, self._topic = publisher, room, topic
        qos: QoSProfile = publisher.qos_profile
        latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self._kept: deque[Any] | None = deque(maxlen=max(qos.depth, 1)) if latched else None
        self._receivers: tuple[LocalSubscription, ...] = ()
        self.receiving_nodes: tuple[str, ...] = ()
        self._subscribers = 0
        self._sends = latched
        # Stands for rclpy's metadata.
        self.origin = f"{publisher.topic_name} {id(self)}".encode()
        self._information: dict[str, Any] = {"publisher_gid": {"data": self.origin}}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._publisher, name)

    def publish(self, message: Any) -> None:
        enqueue, information = self._room.enqueue, self._information
        for subscription in self._receivers:
            enqueue(subscription, message, information)
        if self._kept is not None:
            self._kept.append(message)
        if self._sends:
            data = serialize_message(message)
            self._topic.remember(data)
            self._publisher.publish(data)

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions, as counted within the last COUNT_PERIOD."""
        return self._subscribers

    def connect(self, subscriptions: list[LocalSubscription]) -> None:
        own = self._publisher.qos_profile
        self._receivers = tuple(each for each in subscriptions if _fit(own, each.qos))
        self.receiving_nodes = tuple(each.node.get_name() for each in self._receivers)
        self.count()

    def send_kept(self, subscription: LocalSubscription) -> None:
        """Deliver what a new subscription must receive although it was published before."""
        if self._kept is None or subscription not in self._receivers or not subscription.latched:
            return
        for message in self._kept:
            self._room.enqueue(subscription, message, self._information)

    def count(self) -> None:
        """Count the subscribers; send messages from then on if other processes have any."""
        try:
            count = self._publisher.get_subscription_count()
        except InvalidHandle:  # its node has been destroyed with its context
            count = 0
        self._subscribers = max(count, len(self._receivers))
        self._sends = self._kept is not None or self._subscribers > len(self._receivers)


class LocalSubscription:
    """A subscription that publishers of its own process reach directly.

    `callback` also gets rclpy's metadata if it needs two arguments; `raw`: serialized messages.
    """

    __signature__ = WITH_METADATA

    def __init__(
        self,
        callback: Callable[..., None],
        message_type: type,
        qos: QoSProfile,
        raw: bool,
        topic: _Topic,
        node: rclpy.node.Node,
    ) -> None:
        self._callback, self._type, self._raw, self._topic = callback, message_type, raw, topic
        self._informed = not _can_be_called(callback, 1)
        self._ended = False
        self.node, self.qos = node, qos
        self.latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL

    def __call__(self, *arguments: Any) -> None:
        """Receive a serialized message from the middleware, unless it is an own one."""
        data, information = message_and_metadata(arguments)
        if not self._topic.has_sent(bytes(data)):
            self._call(data if self._raw else deserialize_message(data, self._type), information)

    def take(self, message: Any, information: dict[str, Any]) -> None:
        if not self._ended:
            self._call(serialize_message(message) if self._raw else message, information)

    def _call(self, message: Any, information: Any) -> None:
        if self._informed:
            self._callback(message, information)
        else:
            self._callback(message)

    def end(self) -> None:
        self._ended = True
        self._topic.remove(self)


def _can_be_called(callback: Callable[..., None], arguments: int) -> bool:
    try:
        signature(callback).bind(*range(arguments))
    except TypeError:
        return False
    return True


def _fit(offered: QoSProfile, wanted: QoSProfile) -> bool:
    return bool(qos_check_compatible(offered, wanted)[0] != QoSCompatibility.ERROR)


class Node(rclpy.node.Node):
    """The base of all nodes: an rclpy node whose messages stay in its process if they can.

    Composed nodes share the queue `room`; without one this is an rclpy node like any other. Those
    with `leaves_first` are closed before the others.
    """

    room: IntraProcess | None = None
    leaves_first = False
    exit_code: int | None = None
    """Exit status once the node has ended on its own, or `close` has set it; None before."""

    # rclpy's constructor creates publishers before a subclass could set these.
    _local_parts: dict[int, Any] = {}
    _log: Any = None

    def get_logger(self) -> Any:
        if self._log is None:
            self._log = PrintableLogger.of(super().get_logger())
        return self._log

    def close(self) -> None:
        """Called once, with the context still valid, on every way out."""

    @property
    def composed(self) -> bool:
        """Whether the node shares its process with others."""
        return self.room is not None

    def foreigners(self, topic: str) -> Foreigners:
        """Return what recognises other processes' messages on a topic of this full name."""
        room = self.room
        return Foreigners(None if room is None else lambda: room.origins(topic))

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: QoSProfile | int, **more: Any
    ) -> Any:
        publisher = super().create_publisher(msg_type, topic, qos_profile, **more)
        if self.room is None:
            return publisher
        topic_here = self.room.topic(publisher.topic_name, msg_type)
        local = LocalPublisher(publisher, self.room, topic_here)
        topic_here.add_publisher(local)
        self._local_parts = {**self._local_parts, id(publisher): local}
        return local

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[..., None],
        qos_profile: QoSProfile | int,
        *,
        raw: bool = False,
        **more: Any,
    ) -> Subscription[Any]:
        room = self.room
        if room is None:
            return super().create_subscription(
                msg_type, topic, callback, qos_profile, raw=raw, **more
            )
        qos = qos_profile if isinstance(qos_profile, QoSProfile) else QoSProfile(depth=qos_profile)
        name = self.resolve_topic_name(topic)
        joined = room.topic(name, msg_type)
        local = LocalSubscription(callback, msg_type, qos, raw, joined, self)
        subscription = super().create_subscription(msg_type, topic, local, qos, raw=True, **more)
        joined.add_subscription(local)
        self._local_parts = {**self._local_parts, id(subscription): local}
        return subscription

    def destroy_publisher(self, publisher: Any) -> bool:
        inner = publisher._publisher if isinstance(publisher, LocalPublisher) else publisher
        self._leave_room(inner)
        return bool(super().destroy_publisher(inner))

    def destroy_subscription(self, subscription: Subscription[Any]) -> bool:
        done = super().destroy_subscription(subscription)
        self._leave_room(subscription)  # publishers count again: it is gone from the middleware
        return bool(done)

    def destroy_node(self) -> None:
        for part in [*self.publishers, *self.subscriptions]:
            self._leave_room(part)
        super().destroy_node()

    def _leave_room(self, part: Any) -> None:
        local = self._local_parts.get(id(part))
        if isinstance(local, LocalSubscription):
            local.end()
        elif isinstance(local, LocalPublisher) and self.room is not None:
            self.room.topic(local.topic_name, local.msg_type).remove(local)
