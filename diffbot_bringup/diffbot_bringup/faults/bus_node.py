"""What stands between a node of the suite and rclpy while it is on a bus."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from rclpy.node import Node
from rclpy.parameter import Parameter

from diffbot_bringup.faults.bus_time import BusClock, nanoseconds
from diffbot_bringup.faults.bus_topics import (
    BusPublisher,
    BusService,
    BusSubscription,
    BusTimer,
    matches,
    profile,
)

if TYPE_CHECKING:
    from diffbot_bringup.faults.bus import Bus
    from diffbot_bringup.faults.member import Member

# A service that rclpy would make over DDS.
NO_SERVICE = Parameter("start_type_description_service", value=False)


def on_bus(kind: type[Node]) -> type[Node]:
    """A class of nodes whose topics, services, timers and time are a bus's.

    The node's own code is as it is: BusNode comes right before rclpy's Node in the order in which
    Python looks for methods.
    """
    return type(kind)(kind.__name__, (kind, BusNode), {})


class BusNode(Node):
    """Node without DDS; `member` and `bus` are set on the class before one is made."""

    bus: ClassVar[Bus]
    member: ClassVar[Member]

    def __init__(self, name: str, **arguments: Any) -> None:
        member = self.member
        words = [word for pair in member.remap.items() for word in ("-r", ":=".join(pair))]
        arguments |= {
            "context": self.bus.context,
            "namespace": member.namespace,
            "cli_args": ["--ros-args", *words],
            "use_global_arguments": False,
            "enable_rosout": False,
            "start_parameter_services": False,
            "parameter_overrides": [NO_SERVICE, *member.overrides],
        }
        super().__init__(name, **arguments)
        member.name = self.get_fully_qualified_name()

    # Topics and services.

    def create_publisher(
        self, msg_type: type, topic: str, qos_profile: Any, **_: Any
    ) -> BusPublisher:
        """Publish on the bus."""
        name = self.resolve_topic_name(topic)
        return self.bus.join(
            BusPublisher(self.bus, self.member, msg_type, name, profile(qos_profile))
        )

    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[[Any], None],
        qos_profile: Any,
        *,
        event_callbacks: Any = None,
        **_: Any,
    ) -> BusSubscription:
        """Listen on the bus."""
        name = self.resolve_topic_name(topic)
        qos = profile(qos_profile)
        return self.bus.join(
            BusSubscription(self.bus, self.member, msg_type, name, callback, qos, event_callbacks)
        )

    def create_service(
        self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any], **_: Any
    ) -> BusService:
        """Serve on the bus."""
        name = self.resolve_service_name(srv_name)
        return self.bus.join(BusService(self.bus, self.member, srv_type, name, callback))

    def create_timer(
        self, timer_period_sec: float, callback: Callable[[], None], *_: Any, **__: Any
    ) -> BusTimer:
        """A timer by the time of the bus, whatever clock it asks for."""
        period = max(nanoseconds(float(timer_period_sec)), 1)
        first = self.bus.now_ns + self.member.phase % period
        return BusTimer(self.bus, self.member, period, callback, first)

    def destroy_publisher(self, publisher: BusPublisher) -> bool:
        """Leave a topic."""
        publisher.destroy()
        return True

    destroy_subscription = destroy_service = destroy_timer = destroy_publisher

    # The graph.

    @property
    def publishers(self) -> list[BusPublisher]:
        """Those of this node."""
        return [each for each in self.bus.publishers() if each.owner is self.member]

    @property
    def subscriptions(self) -> list[BusSubscription]:
        """Those of this node."""
        return [each for each in self.bus.subscriptions() if each.owner is self.member]

    def _known_publishers(self, topic_name: str) -> list[BusPublisher]:
        name = self.resolve_topic_name(topic_name)
        return self.bus.known(self.member, self.bus.publishers(name), BusPublisher, name)

    def count_publishers(self, topic_name: str) -> int:
        """Publishers of a topic."""
        return len(self._known_publishers(topic_name))

    def count_subscribers(self, topic_name: str) -> int:
        """Subscriptions of a topic."""
        name = self.resolve_topic_name(topic_name)
        found = self.bus.subscriptions(name)
        return len(self.bus.known(self.member, found, BusSubscription, name))

    def get_publishers_info_by_topic(self, topic_name: str, *_: Any) -> list[Any]:
        """Who publishes a topic; names only."""
        return [_named(each) for each in self._known_publishers(topic_name)]

    def get_subscriptions_info_by_topic(self, topic_name: str, *_: Any) -> list[Any]:
        """Who listens to a topic; names only."""
        found = self.bus.subscriptions(self.resolve_topic_name(topic_name))
        return [_named(each) for each in found]

    # Time and words.

    def get_clock(self) -> BusClock:
        """The time of the bus."""
        return BusClock(self._bus_now, self.member.simulated)

    def _bus_now(self) -> int:
        told = self.member.told_time
        return self.bus.now_ns + self.member.clock_offset if told is None else told

    def get_logger(self) -> Any:
        """What is said is kept by the member."""
        return self.member.logger


def _named(endpoint: Any) -> SimpleNamespace:
    owner = endpoint.owner
    namespace, _, name = (owner.name if owner is not None else "/tester").rpartition("/")
    return SimpleNamespace(
        node_name=name,
        node_namespace=namespace or "/",
        qos_profile=endpoint.qos_profile,
        topic_type=endpoint.msg_type.__name__,
        matches=matches,
    )
