# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions and services of the in-process graph, with rclpy's interface."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

if TYPE_CHECKING:
    from faults.bus_time import Member


# rclpy names the publishers of messages from Kilted on, and numbers the messages before. With
# Kilted its publishers became generic, too.
NAMES_PUBLISHERS = hasattr(Publisher, "__class_getitem__")


def profile(qos: QoSProfile | int) -> QoSProfile:
    """Return the QoS profile; a number is a queue depth, as in rclpy."""
    return qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos)


class BusPublisher:
    """Result of `create_publisher`; messages are serialised, as on a network."""

    def __init__(self, bus: BusGraph, owner: Any, kind: type, topic: str, qos: QoSProfile) -> None:
        self._bus, self.owner, self.msg_type = bus, owner, kind
        self.topic = self.topic_name = topic
        self.qos_profile = qos
        self.kept: deque[Any] = deque(maxlen=max(qos.depth, 1))

    @property
    def is_latched(self) -> bool:
        """Whether late subscribers receive earlier messages."""
        return self.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL

    def publish(self, message: Any) -> None:
        """Send a copy of a message to each subscriber."""
        if self.is_latched:
            self.kept.append(copied(message))
        self._bus.send(self, message)

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions that receive from this publisher."""
        return sum(matches(self, each) for each in self._bus.subscriptions(self.topic))

    def wait_for_all_acked(self, timeout: Any = None) -> bool:
        """Whether all messages have arrived; they do as soon as the bus continues."""
        return True

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


class BusSubscription:
    """Result of `create_subscription`."""

    def __init__(
        self,
        bus: BusGraph,
        owner: Any,
        kind: type,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoSProfile,
        events: Any = None,
    ) -> None:
        self._bus, self.owner, self.msg_type = bus, owner, kind
        self.topic = self.topic_name = topic
        self.callback = callback
        self.qos_profile = qos
        self.events = events
        self._report_incompatible = _takes_two(callback)
        self._numbers: dict[BusPublisher, int] = {}  # messages by publisher

    def tell(self, publisher: BusPublisher, message: Any) -> None:
        """Call the callback with a message, and with its origin if the callback accepts it."""
        if self._report_incompatible:
            self.callback(message, self._information(publisher))
        else:
            self.callback(message)

    def _information(self, publisher: BusPublisher) -> dict[str, Any]:
        """Return what the installed rclpy tells of a message's origin."""
        if NAMES_PUBLISHERS:
            return {"publisher_gid": {"data": id(publisher).to_bytes(16, "little")}}
        number = self._numbers[publisher] = self._numbers.get(publisher, 0) + 1
        return {"publication_sequence_number": number}

    def get_publisher_count(self) -> int:
        """Return the number of publishers that this subscription receives from."""
        return sum(matches(each, self) for each in self._bus.publishers(self.topic))

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


def _takes_two(callback: Callable[..., None]) -> bool:
    """Whether a callback also takes the message information, by rclpy's rule."""
    try:
        inspect.signature(callback).bind(object())
    except TypeError:
        return True
    return False


class BusService:
    """Result of `create_service`."""

    def __init__(self, bus: BusGraph, owner: Any, kind: type, name: str, callback: Any) -> None:
        self._bus, self.owner, self.srv_type = bus, owner, kind
        self.service_name = self.srv_name = name
        self.callback = callback

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


class BusTimer:
    """Result of `create_timer`; it fires by the time of the bus.

    Args:
        bus: Bus that fires it.
        owner: Node that it belongs to.
        period: Time between two calls, ns, > 0.
        callback: Function to call.
        first: Bus time of the first call, ns.
    """

    def __init__(
        self, bus: BusGraph, owner: Any, period: int, callback: Callable[[], None], first: int
    ) -> None:
        self._bus, self.owner, self.callback = bus, owner, callback
        self.timer_period_ns = period
        self.due = first
        self.cancelled = False
        bus.schedule(self)

    def cancel(self) -> None:
        """Stop firing."""
        self.cancelled = True

    destroy = cancel

    def is_canceled(self) -> bool:
        """Whether it is cancelled."""
        return self.cancelled

    def reset(self) -> None:
        """Restart the period from now; a cancelled timer fires again."""
        self.cancelled = False
        self.due = self._bus.now_ns + self.timer_period_ns
        self._bus.schedule(self)


def copied(message: Any) -> Any:
    """Return a copy of a message as it arrives, with the types that a subscriber sees."""
    return deserialize_message(serialize_message(message), type(message))


def incompatibility(publisher: QoSProfile, subscription: QoSProfile) -> QoSPolicyKind | None:
    """Return the first policy in which a subscription requests more than offered, or None."""
    if (
        publisher.reliability == ReliabilityPolicy.BEST_EFFORT
        and subscription.reliability == ReliabilityPolicy.RELIABLE
    ):
        return QoSPolicyKind.RELIABILITY
    if (
        subscription.durability == DurabilityPolicy.TRANSIENT_LOCAL
        and publisher.durability != DurabilityPolicy.TRANSIENT_LOCAL
    ):
        return QoSPolicyKind.DURABILITY
    return None


def matches(publisher: BusPublisher, subscription: BusSubscription) -> bool:
    """Whether the subscription receives the publisher's messages."""
    return incompatibility(publisher.qos_profile, subscription.qos_profile) is None


def greet(publisher: BusPublisher, subscription: BusSubscription) -> list[Any]:
    """Match publisher and subscription; return the messages that a late subscription receives."""
    policy = incompatibility(publisher.qos_profile, subscription.qos_profile)
    if policy is None:
        latched = subscription.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        return list(publisher.kept) if latched else []
    reported = getattr(subscription.events, "incompatible_qos", None)
    if reported is not None:
        reported(SimpleNamespace(last_policy_kind=policy, total_count=1, total_count_change=1))
    return []


# Topics and services of the in-process graph: its endpoints and the messages in transit.

LOOK_PERIOD = 1_000_000  # ns between two checks for messages that injectors delay


class Injector(Protocol):
    """A filter of a topic's messages, such as FaultInjector of diffbot_sim."""

    def push(self, now: float, message: Any) -> None:
        """Accept a message that is sent at a time, s."""

    def due(self, now: float) -> list[Any]:
        """Return the messages that pass by now, s."""


class BusGraph(ABC):
    """Publishers, subscriptions and services, and a queue of their messages.

    Attributes:
        now_ns: Time of the bus, ns.
    """

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self._ends: list[BusPublisher | BusSubscription | BusService] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._injectors: dict[str, tuple[Injector, list[BusPublisher]]] = {}
        self._own: dict[tuple[str, type], BusPublisher] = {}

    @property
    def time(self) -> float:
        """Return the robot time, s."""
        return 1e-9 * self.now_ns

    @abstractmethod
    def schedule(self, timer: BusTimer) -> None:
        """Fire a timer when it is due."""

    @abstractmethod
    def run(self, owner: Member | None, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a callback of a node, or of none."""

    # Messages.

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> BusPublisher:
        """Create a publisher that belongs to no node."""
        return self.join(BusPublisher(self, None, kind, absolute(topic), profile(qos)))

    def publish(self, topic: str, message: Any, qos: QoSProfile | int = 10) -> None:
        """Publish a message and deliver it and all responses."""
        key = (absolute(topic), type(message))
        if key not in self._own:
            self._own[key] = self.publisher(type(message), topic, qos)
        self._own[key].publish(message)
        self.settle()

    def subscribe(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile | int = 10
    ) -> BusSubscription:
        """Call a callback with each message of a topic."""
        return self.join(BusSubscription(self, None, kind, absolute(topic), callback, profile(qos)))

    def call(self, service: str, request: Any) -> Any:
        """Return the response of a service; raise LookupError if no node offers it."""
        name = absolute(service)
        results = [e for e in self._ends if isinstance(e, BusService) and e.service_name == name]
        if not results:
            raise LookupError(f"nobody offers the service {name}")
        response = results[0].srv_type.Response()
        self.run(results[0].owner, results[0].callback, request, response)
        self.settle()
        return response

    def inject(self, topic: str, injector: Injector) -> None:
        """Pass all messages of a topic through an injector from now on."""
        self._injectors[absolute(topic)] = (injector, [])
        if len(self._injectors) == 1:
            BusTimer(self, None, LOOK_PERIOD, self._look, self.now_ns)

    def _look(self) -> None:
        for injector, senders in self._injectors.values():
            for message in injector.due(self.time):
                if senders:
                    self._deliver(senders[-1], message)

    # For publishers, subscriptions and timers.

    def join(self, end: Any) -> Any:
        """Add a publisher, subscription or service, and return it."""
        self._ends.append(end)
        if isinstance(end, BusSubscription):
            for publisher in self.publishers(end.topic):
                self._greet(publisher, end)
        elif isinstance(end, BusPublisher):
            for subscription in self.subscriptions(end.topic):
                self._greet(end, subscription)
        return end

    def _greet(self, publisher: BusPublisher, subscription: BusSubscription) -> None:
        def meet() -> None:
            for message in greet(publisher, subscription):
                subscription.tell(publisher, copied(message))

        self._queue.append(lambda: self.run(subscription.owner, meet))

    def drop(self, end: Any) -> None:
        """Remove a publisher, subscription or service."""
        if end in self._ends:
            self._ends.remove(end)

    def publishers(self, topic: str | None = None) -> list[BusPublisher]:
        """Return the publishers of a topic, or all."""
        return [e for e in self._ends if isinstance(e, BusPublisher) and topic in (None, e.topic)]

    def subscriptions(self, topic: str | None = None) -> list[BusSubscription]:
        """Return the subscriptions of a topic, or all."""
        return [
            e for e in self._ends if isinstance(e, BusSubscription) and topic in (None, e.topic)
        ]

    def send(self, publisher: BusPublisher, message: Any) -> None:
        """Queue a message for delivery."""
        entry = self._injectors.get(publisher.topic)
        if entry is None:
            self._deliver(publisher, message)
            return
        entry[1].append(publisher)
        del entry[1][:-1]
        entry[0].push(self.time, copied(message))
        for passed in entry[0].due(self.time):
            self._deliver(publisher, passed)

    def _deliver(self, publisher: BusPublisher, message: Any) -> None:
        for subscription in self.subscriptions(publisher.topic):
            if matches(publisher, subscription):
                tell = functools.partial(subscription.tell, publisher, copied(message))
                self._queue.append(functools.partial(self.run, subscription.owner, tell))

    def settle(self) -> None:
        """Deliver all queued messages."""
        while self._queue:
            self._queue.popleft()()

    def leave(self, member: Member) -> None:
        """Remove all endpoints of a node."""
        self._ends = [end for end in self._ends if end.owner is not member]


def absolute(name: str) -> str:
    """Return the full name of a topic or service."""
    return name if name.startswith("/") else f"/{name}"
