"""A network for the in-process graph: discovery that takes time, messages that are late or lost.

What it imitates of DDS: a publisher and a subscription find each other at different times, and a
message that is sent before the publisher knows of the subscription never arrives; one that is sent
before the subscription knows of the publisher arrives once it does. Messages of one publisher stay
in order. Nodes count others once they know of them, and those that were killed outright for GHOST
more. A process may stand still for a while.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from diffbot_bringup.faults.bus_time import nanoseconds

if TYPE_CHECKING:
    from diffbot_bringup.faults.bus_graph import BusGraph
    from diffbot_bringup.faults.bus_topics import BusPublisher, BusSubscription
    from diffbot_bringup.faults.member import Member

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
