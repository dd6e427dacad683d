# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions and services of the in-process graph, as rclpy's look from outside."""

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

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

from faults.bus_time import nanoseconds

if TYPE_CHECKING:
    from faults.bus_time import Member


def profile(qos: QoSProfile | int) -> QoSProfile:
    """The profile that a number stands for, as in rclpy."""
    return qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos)


class BusPublisher:
    """What `create_publisher` gives; messages leave it serialised, as on a wire."""

    def __init__(self, bus: BusGraph, owner: Any, kind: type, topic: str, qos: QoSProfile) -> None:
        self._bus, self.owner, self.msg_type = bus, owner, kind
        self.topic = self.topic_name = topic
        self.qos_profile = qos
        self.kept: deque[Any] = deque(maxlen=max(qos.depth, 1))

    @property
    def is_latched(self) -> bool:
        """Whether late subscribers get what was sent before."""
        return self.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL

    def publish(self, message: Any) -> None:
        """Send a message to all who listen; they get a copy each."""
        if self.is_latched:
            self.kept.append(copied(message))
        self._bus.send(self, message)

    def get_subscription_count(self) -> int:
        """Subscriptions that get what is published here."""
        found = [each for each in self._bus.subscriptions(self.topic) if matches(self, each)]
        return len(self._bus.known(self, found, BusSubscription, self.topic))

    def wait_for_all_acked(self, timeout: Any = None) -> bool:
        """Whether all has arrived: it has, as soon as the bus goes on."""
        return True

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


class BusSubscription:
    """What `create_subscription` gives."""

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

    def arrive(self, publisher: BusPublisher, message: Any) -> None:
        """Hand a message to the owner, or keep it for one that ends and takes it by itself."""
        if self.owner is not None and self.owner.ending:
            self._waiting.append(message)
        else:
            self._bus.run(self.owner, self.tell, publisher, message)

    @property
    def handle(self) -> BusSubscription:
        """What rclpy has below a subscription."""
        return self

    def __enter__(self) -> BusSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing has to be freed."""

    def take_message(self, kind: type, raw: bool) -> tuple[Any, dict[str, Any]] | None:
        """The oldest message that no callback has got; None: there is none."""
        return (self._waiting.popleft(), {}) if self._waiting else None

    def tell(self, publisher: BusPublisher, message: Any) -> None:
        """Call back with a message, and with who has sent it where the callback takes that."""
        if self._told_more:
            gid = id(publisher).to_bytes(16, "little")
            self.callback(message, {"publisher_gid": {"data": gid}})
        else:
            self.callback(message)

    def get_publisher_count(self) -> int:
        """Publishers that are heard here."""
        found = [each for each in self._bus.publishers(self.topic) if matches(each, self)]
        return len(self._bus.known(self, found, BusPublisher, self.topic))

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


def _takes_two(callback: Callable[..., None]) -> bool:
    """Whether a callback wants to know more of a message, by rclpy's rule."""
    try:
        inspect.signature(callback).bind(object())
    except TypeError:
        return True
    return False


class BusService:
    """What `create_service` gives."""

    def __init__(self, bus: BusGraph, owner: Any, kind: type, name: str, callback: Any) -> None:
        self._bus, self.owner, self.srv_type = bus, owner, kind
        self.service_name = self.srv_name = name
        self.callback = callback

    def destroy(self) -> None:
        """Leave the graph."""
        self._bus.drop(self)


class BusTimer:
    """What `create_timer` gives; it fires by the time of the bus.

    Args:
        bus: fires it.
        owner: node that it belongs to.
        period: time between two calls, ns, > 0.
        callback: is called.
        first: when it fires first, ns of the bus.
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
        """Fire no more."""
        self.cancelled = True

    destroy = cancel

    def is_canceled(self) -> bool:
        """Whether it fires no more."""
        return self.cancelled

    def reset(self) -> None:
        """Fire a period from now on; one that was cancelled fires again."""
        self.cancelled = False
        self.due = self._bus.now_ns + self.timer_period_ns
        self._bus.schedule(self)


def copied(message: Any) -> Any:
    """What arrives of a message: another object, with the types that a subscriber sees."""
    return deserialize_message(serialize_message(message), type(message))


def incompatibility(publisher: QoSProfile, subscription: QoSProfile) -> QoSPolicyKind | None:
    """The first policy in which a subscription asks for more than is offered; None: it hears it."""
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
    """Whether messages go from one to the other."""
    return incompatibility(publisher.qos_profile, subscription.qos_profile) is None


def greet(publisher: BusPublisher, subscription: BusSubscription) -> list[Any]:
    """Let the two meet; returns the messages that a late subscription gets."""
    policy = incompatibility(publisher.qos_profile, subscription.qos_profile)
    if policy is None:
        latched = subscription.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        return list(publisher.kept) if latched else []
    told = getattr(subscription.events, "incompatible_qos", None)
    if told is not None:
        told(SimpleNamespace(last_policy_kind=policy, total_count=1, total_count_change=1))
    return []


# A network for the in-process graph: discovery that takes time, messages that are late or lost.
#
# What it imitates of DDS: a publisher and a subscription find each other at different times, and a
# message that is sent before the publisher knows of the subscription never arrives; one that is
# sent before the subscription knows of the publisher arrives once it does. Messages of one
# publisher stay in order. Nodes count others once they know of them, and those that were killed
# outright for GHOST more. A process may stand still for a while.

# For so long DDS counts a process that was killed outright, s.
GHOST = 20.0


@dataclass(frozen=True)
class Disturbance:
    """How bad a network is; times in s of the bus.

    Attributes:
        discovery: longest time until two ends know of each other.
        latency: mean time from sending to arrival.
        late: share of the messages that take up to `delay` instead.
        delay: longest time of those.
        lost: share of the messages that never arrive.
        lossy: names of the topics on which messages are lost.
    """

    discovery: float = 1.0
    latency: float = 0.0003
    late: float = 0.01
    delay: float = 0.2
    lost: float = 0.0
    lossy: Collection[str] = ()


class Network:
    """Decides when what arrives; for Bus.network.

    Args:
        bus: that carries the messages; its `network` is set.
        disturbance: how bad it is.
        seed: of all chance.
    """

    def __init__(self, bus: BusGraph, disturbance: Disturbance, seed: int) -> None:
        self._bus, self._how, self._chance = bus, disturbance, random.Random(seed)
        self._known: dict[tuple[int, int], int] = {}  # (who, of whom) -> from when on, ns
        self._newest: dict[tuple[int, int], int] = {}  # (from, to) -> last arrival, ns
        self._stalls: list[tuple[Member, int, int]] = []  # who stands still from when to when, ns
        self._ghosts: dict[int, int] = {}  # end -> until when it counts, ns
        self._ends: list[Any] = []  # holds the ends, so that their ids stay theirs
        bus.network = self

    def knows(self, who: object, whom: object) -> bool:
        """Whether a node, or one end of a topic, knows of an end by now."""
        return self._bus.now_ns >= self._known_from(who, whom)

    def _known_from(self, who: object, whom: object) -> int:
        key = (id(who), id(whom))
        if key not in self._known:
            self._ends += (who, whom)
            share = self._chance.choice((0.05, 1.0)) * self._chance.random()
            self._known[key] = self._bus.now_ns + nanoseconds(share * self._how.discovery)
        return self._known[key]

    def deliver(self, publisher: BusPublisher, subscription: BusSubscription, message: Any) -> None:
        """Put a message under way to one subscription."""
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
        """Let a process stand still, as SIGSTOP does; both s of the bus."""
        start = nanoseconds(begin)
        self._stalls.append((member, start, start + nanoseconds(duration)))

    def awake(self, member: Member | None, time: int) -> int:
        """When a process next does something from a time (ns) on, ns."""
        for who, begin, end in self._stalls:
            if who is member and begin <= time < end:
                time = end
        return time

    def keep_ghosts(self, ends: Collection[Any]) -> None:
        """What a process has that was killed outright still counts for a while."""
        for end in ends:
            self._ends.append(end)
            self._ghosts[id(end)] = self._bus.now_ns + nanoseconds(GHOST)

    def is_ghost(self, end: object) -> bool:
        """Whether an end belongs to a process that was killed outright, and still counts."""
        return self._bus.now_ns < self._ghosts.get(id(end), 0)


# Topics and services of the in-process graph: who is there, and what is under way.

LOOK_PERIOD = 1_000_000  # ns between two looks at what injectors hold back


class Injector(Protocol):
    """What may sit on a topic; FaultInjector of diffbot_sim is one."""

    def push(self, now: float, message: Any) -> None:
        """Take a message that is sent, s."""

    def due(self, now: float) -> list[Any]:
        """What comes out by now, s."""


class BusGraph(ABC):
    """Publishers, subscriptions and services, and a queue of what they have said.

    Attributes:
        now_ns: time, ns.
        network: between the nodes; None: messages arrive at once, in the order of sending.
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
        """Robot time, s."""
        return 1e-9 * self.now_ns

    @abstractmethod
    def schedule(self, timer: BusTimer) -> None:
        """Fire a timer when it is due."""

    @abstractmethod
    def at(self, due: int, owner: Member | None, callback: Callable[[], None]) -> None:
        """Call a callback of a node, or of nobody, once, at a time of the bus, ns."""

    @abstractmethod
    def run(self, owner: Member | None, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a callback of a node, or of nobody."""

    # Messages.

    def publisher(self, kind: type, topic: str, qos: QoSProfile | int = 10) -> BusPublisher:
        """A publisher that belongs to no node."""
        return self.join(BusPublisher(self, None, kind, absolute(topic), profile(qos)))

    def publish(self, topic: str, message: Any, qos: QoSProfile | int = 10) -> None:
        """Publish a message, and let all answer it."""
        key = (absolute(topic), type(message))
        if key not in self._own:
            self._own[key] = self.publisher(type(message), topic, qos)
        self._own[key].publish(message)
        self.settle()

    def subscribe(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile | int = 10
    ) -> BusSubscription:
        """Call back with each message of a topic."""
        return self.join(BusSubscription(self, None, kind, absolute(topic), callback, profile(qos)))

    def call(self, service: str, request: Any) -> Any:
        """The response of a service; LookupError when nobody offers it."""
        name = absolute(service)
        found = [e for e in self._ends if isinstance(e, BusService) and e.service_name == name]
        if not found:
            raise LookupError(f"nobody offers the service {name}")
        response = found[0].srv_type.Response()
        self.run(found[0].owner, found[0].callback, request, response)
        self.settle()
        return response

    def inject(self, topic: str, injector: Injector) -> None:
        """Let all messages of a topic pass through an injector from now on."""
        self._injectors[absolute(topic)] = (injector, [])
        if len(self._injectors) == 1:
            BusTimer(self, None, LOOK_PERIOD, self._look, self.now_ns)

    def _look(self) -> None:
        for injector, senders in self._injectors.values():
            for message in injector.due(self.time):
                if senders:
                    self._deliver(senders[-1], message)

    # What publishers, subscriptions and timers ask for.

    def join(self, end: Any) -> Any:
        """A publisher, subscription or service comes; returns it."""
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
        """A publisher, subscription or service leaves."""
        if end in self._ends:
            self._ends.remove(end)

    def publishers(self, topic: str | None = None) -> list[BusPublisher]:
        """Those of a topic, or all."""
        return [e for e in self._ends if isinstance(e, BusPublisher) and topic in (None, e.topic)]

    def subscriptions(self, topic: str | None = None) -> list[BusSubscription]:
        """Those of a topic, or all."""
        return [
            e for e in self._ends if isinstance(e, BusSubscription) and topic in (None, e.topic)
        ]

    def send(self, publisher: BusPublisher, message: Any) -> None:
        """Put a message under way."""
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
        """Deliver all that is under way."""
        while self._queue:
            self._queue.popleft()()

    def leave(self, member: Member, outright: bool = False) -> None:
        """All that a node has leaves; where it was killed outright, the network may not know."""
        if outright and self.network is not None:
            self.network.keep_ghosts([end for end in self._ends if end.owner is member])
            self._ghosts += [end for end in self._ends if end.owner is member]
        self._ends = [end for end in self._ends if end.owner is not member]

    def known(self, who: object, ends: list[Any], kind: type, topic: str) -> list[Any]:
        """Which of these ends a node, or an end, knows of; ghosts of the topic come after them."""
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
    """A topic's or service's full name."""
    return name if name.startswith("/") else f"/{name}"
