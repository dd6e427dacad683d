"""Publishers, subscriptions and services of the in-process graph, as rclpy's look from outside."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

if TYPE_CHECKING:
    from diffbot_bringup.faults.bus_graph import BusGraph


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
