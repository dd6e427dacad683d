"""Topics and services of the in-process graph: who is there, and what is under way."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from rclpy.qos import QoSProfile

from diffbot_bringup.faults.bus_topics import (
    BusPublisher,
    BusService,
    BusSubscription,
    BusTimer,
    copied,
    greet,
    matches,
    profile,
)
from diffbot_bringup.faults.member import Member
from diffbot_bringup.faults.network import Network

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
