# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions and services of the in-process graph, with rclpy's interface."""

from __future__ import annotations

import functools
import inspect
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

from faults.bus_time import nanoseconds

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
        found = [each for each in self._bus.subscriptions(self.topic) if matches(self, each)]
        return len(self._bus.known(self, found, BusSubscription, self.topic))

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
        self._told_more = _takes_two(callback)
        self._waiting: deque[Any] = deque()
        self._numbers: dict[BusPublisher, int] = {}  # messages by publisher

    def arrive(self, publisher: BusPublisher, message: Any) -> None:
        """Pass a message to the owner, or keep it for an ending owner that takes it itself."""
        if self.owner is not None and self.owner.ending:
            self._waiting.append(message)
        else:
            self._bus.run(self.owner, self.tell, publisher, message)

    @property
    def handle(self) -> BusSubscription:
        """Stand-in for the handle of an rclpy subscription."""
        return self

    def __enter__(self) -> BusSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no resources to free."""

    def take_message(self, kind: type, raw: bool) -> tuple[Any, dict[str, Any]] | None:
        """Return the oldest message that no callback has received; None if there is none."""
        return (self._waiting.popleft(), {}) if self._waiting else None

    def tell(self, publisher: BusPublisher, message: Any) -> None:
        """Call the callback with a message, and with its origin if the callback accepts it."""
        if self._told_more:
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
        found = [each for each in self._bus.publishers(self.topic) if matches(each, self)]
        return len(self._bus.known(self, found, BusPublisher, self.topic))

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
    told = getattr(subscription.events, "incompatible_qos", None)
    if told is not None:
        told(SimpleNamespace(last_policy_kind=policy, total_count=1, total_count_change=1))
    return []


# A network model for the in-process graph: delayed discovery, late and lost messages.
#
# It reproduces these properties of DDS: a publisher and a subscription discover each other at
# different times. A message that is sent before the publisher knows the subscription never arrives;
# one that is sent before the subscription knows the publisher arrives once it does. Messages of one
# publisher stay in order. Nodes count others after they have discovered them, and count killed
# processes for GHOST longer. A process may be stopped for a while.

# Time for which DDS still counts a process that was killed with SIGKILL, s.
GHOST = 20.0


@dataclass(frozen=True)
class Disturbance:
    """Disturbances of a network; times in s of the bus.

    Attributes:
        discovery: Longest time until two endpoints know each other.
        latency: Mean time from sending to arrival.
        late: Share of the messages that take up to `delay` instead.
        delay: Longest delay of late messages.
        lost: Share of the messages that never arrive.
        lossy: Names of the topics on which messages are lost.
    """

    discovery: float = 1.0
    latency: float = 0.0003
    late: float = 0.01
    delay: float = 0.2
    lost: float = 0.0
    lossy: Collection[str] = ()


class Network:
    """Decides which messages arrive, and when; for Bus.network.

    Args:
        bus: Bus that carries the messages; its `network` is set.
        disturbance: Disturbances of the network.
        seed: Seed of all random decisions.
    """

    def __init__(self, bus: BusGraph, disturbance: Disturbance, seed: int) -> None:
        self._bus, self._how, self._chance = bus, disturbance, random.Random(seed)
        self._known: dict[tuple[int, int], int] = {}  # (knowing, known) -> since, ns
        self._newest: dict[tuple[int, int], int] = {}  # (from, to) -> last arrival, ns
        self._stalls: list[tuple[Member, int, int]] = []  # stopped member, begin, end, ns
        self._ghosts: dict[int, int] = {}  # endpoint -> counted until, ns
        self._ends: list[Any] = []  # keeps the endpoints, so that their ids stay unique
        bus.network = self

    def knows(self, who: object, whom: object) -> bool:
        """Whether a node, or an endpoint of a topic, has discovered an endpoint."""
        return self._bus.now_ns >= self._known_from(who, whom)

    def _known_from(self, who: object, whom: object) -> int:
        key = (id(who), id(whom))
        if key not in self._known:
            self._ends += (who, whom)
            share = self._chance.choice((0.05, 1.0)) * self._chance.random()
            self._known[key] = self._bus.now_ns + nanoseconds(share * self._how.discovery)
        return self._known[key]

    def deliver(self, publisher: BusPublisher, subscription: BusSubscription, message: Any) -> None:
        """Queue a message for one subscription."""
        now, latched = self._bus.now_ns, publisher.is_latched
        if not (latched or self.knows(publisher, subscription)) or self._loses(publisher.topic):
            return
        arrival = max(now + self._latency(), self._known_from(subscription, publisher))
        pair = (id(publisher), id(subscription))
        arrival = self._newest[pair] = max(arrival, self._newest.get(pair, 0) + 1)
        due = self.awake(subscription.owner, arrival)
        self._bus.at(due, None, partial(subscription.arrive, publisher, message))

    def _latency(self) -> int:
        if self._chance.random() < self._how.late:
            return nanoseconds(self._how.delay * self._chance.random())
        return nanoseconds(self._chance.expovariate(1.0 / self._how.latency))

    def _loses(self, topic: str) -> bool:
        return topic in self._how.lossy and self._chance.random() < self._how.lost

    # Processes.

    def stall(self, member: Member, begin: float, duration: float) -> None:
        """Stop a process, as SIGSTOP does; begin and duration in s of the bus."""
        start = nanoseconds(begin)
        self._stalls.append((member, start, start + nanoseconds(duration)))

    def awake(self, member: Member | None, time: int) -> int:
        """Return the earliest time from `time` (ns) on at which a process runs, ns."""
        for who, begin, end in self._stalls:
            if who is member and begin <= time < end:
                time = end
        return time

    def keep_ghosts(self, ends: Collection[Any]) -> None:
        """Keep counting the endpoints of a killed process for a while."""
        for end in ends:
            self._ends.append(end)
            self._ghosts[id(end)] = self._bus.now_ns + nanoseconds(GHOST)

    def is_ghost(self, end: object) -> bool:
        """Whether an endpoint belongs to a killed process and still counts."""
        return self._bus.now_ns < self._ghosts.get(id(end), 0)


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
        network: Network between the nodes; None: messages arrive at once, in the order of sending.
    """

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.network: Network | None = None
        self._ends: list[BusPublisher | BusSubscription | BusService] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._injectors: dict[str, tuple[Injector, list[BusPublisher]]] = {}
        self._ghosts: list[Any] = []
        self._own: dict[tuple[str, type], BusPublisher] = {}

    @property
    def time(self) -> float:
        """Return the robot time, s."""
        return 1e-9 * self.now_ns

    @abstractmethod
    def schedule(self, timer: BusTimer) -> None:
        """Fire a timer when it is due."""

    @abstractmethod
    def at(self, due: int, owner: Member | None, callback: Callable[[], None]) -> None:
        """Call a callback of a node, or of none, once, at a time of the bus, ns."""

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
        found = [e for e in self._ends if isinstance(e, BusService) and e.service_name == name]
        if not found:
            raise LookupError(f"nobody offers the service {name}")
        response = found[0].srv_type.Response()
        self.run(found[0].owner, found[0].callback, request, response)
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
                if self.network is not None:
                    self.network.deliver(publisher, subscription, copied(message))
                else:
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
                if self.network is not None and publisher.owner is not subscription.owner:
                    self.network.deliver(publisher, subscription, copied(message))
                    continue
                self._queue.append(
                    functools.partial(subscription.arrive, publisher, copied(message))
                )

    def settle(self) -> None:
        """Deliver all queued messages."""
        while self._queue:
            self._queue.popleft()()

    def leave(self, member: Member, outright: bool = False) -> None:
        """Remove all endpoints of a node; after a kill the network may still count them."""
        if outright and self.network is not None:
            self.network.keep_ghosts([end for end in self._ends if end.owner is member])
            self._ghosts += [end for end in self._ends if end.owner is member]
        self._ends = [end for end in self._ends if end.owner is not member]

    def known(self, who: object, ends: list[Any], kind: type, topic: str) -> list[Any]:
        """Return the endpoints that a node or endpoint knows, followed by the topic's ghosts."""
        if self.network is None:
            return ends
        own = getattr(who, "owner", who)
        ghosts = [
            end
            for end in self._ghosts
            if isinstance(end, kind) and end.topic == topic and self.network.is_ghost(end)
        ]
        return [
            end
            for end in (*ends, *ghosts)
            if (own is not None and end.owner is own) or self.network.knows(who, end)
        ]


def absolute(name: str) -> str:
    """Return the full name of a topic or service."""
    return name if name.startswith("/") else f"/{name}"
