# SPDX-License-Identifier: Apache-2.0
"""Nodes of the suite in one process, without DDS and in the robot's time.

The nodes are the real ones. A queue delivers messages from publisher to subscriber in the order of
sending; timers, clocks, `time.monotonic` and `time.sleep` follow the bus. A run is therefore
reproducible to the last digit, and takes less than real time.

    with Bus() as bus:
        robot = BusRobot(bus, "ideal")
        controller = bus.add(BackstepNode, duration=5.0)
        bus.publish("backstep_controller/command", Pose2D(x=1.0))
        bus.advance(3.0)
"""

from __future__ import annotations

import atexit
import functools
import heapq
import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from faults.bus_time import BusClock, BusTime, Member, nanoseconds
from faults.bus_topics import (
    BusGraph,
    BusPublisher,
    BusService,
    BusSubscription,
    BusTimer,
    matches,
    profile,
)

# The layer between a node of the suite and rclpy while it is on a bus.

# Disables a service that rclpy would create over DDS.
NO_SERVICE = Parameter("start_type_description_service", value=False)


def on_bus(kind: type[Node]) -> type[Node]:
    """Return a class of nodes whose topics, services, timers and time are those of a bus.

    The node's own code is unchanged: BusNode comes right before rclpy's Node in Python's method
    resolution order.
    """
    return type(kind)(kind.__name__, (kind, BusNode), {})


class BusNode(Node):
    """Node without DDS; its attributes are set on the class before it is created."""

    bus: ClassVar[Bus]
    member: ClassVar[Member]
    composed = False

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
        """Subscribe on the bus."""
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
        """Create a timer that follows the time of the bus, whatever clock is requested."""
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
        """Return the publishers of this node."""
        return [each for each in self.bus.publishers() if each.owner is self.member]

    @property
    def subscriptions(self) -> list[BusSubscription]:
        """Return the subscriptions of this node."""
        return [each for each in self.bus.subscriptions() if each.owner is self.member]

    def count_publishers(self, topic_name: str) -> int:
        """Return the number of publishers of a topic."""
        return len(self.bus.publishers(self.resolve_topic_name(topic_name)))

    def count_subscribers(self, topic_name: str) -> int:
        """Return the number of subscriptions of a topic."""
        return len(self.bus.subscriptions(self.resolve_topic_name(topic_name)))

    def get_publishers_info_by_topic(self, topic_name: str, *_: Any) -> list[Any]:
        """Return the publishers of a topic; names only."""
        result = self.bus.publishers(self.resolve_topic_name(topic_name))
        return [_named(each) for each in result]

    def get_subscriptions_info_by_topic(self, topic_name: str, *_: Any) -> list[Any]:
        """Return the subscribers of a topic; names only."""
        result = self.bus.subscriptions(self.resolve_topic_name(topic_name))
        return [_named(each) for each in result]

    # Time and log.

    def get_clock(self) -> BusClock:
        """Return the clock of the bus."""
        return BusClock(self._bus_now, self.member.simulated)

    def _bus_now(self) -> int:
        return self.bus.now_ns + self.member.clock_offset

    def get_logger(self) -> Any:
        """Return the logger, whose lines the member keeps."""
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


# Start of the bus time, s; not 0, which some programs interpret as "no stamp".
BEGINNING = 10.0


@functools.cache
def _context() -> Context:
    context = Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    atexit.register(context.try_shutdown)
    return context


class Bus(BusGraph):
    """An in-process graph; use it in a `with` statement, one at a time.

    Args:
        beginning: Time at the start, s.

    Raises:
        RuntimeError: another bus is open in this process.
    """

    _open: Bus | None = None

    def __init__(self, beginning: float = BEGINNING) -> None:
        super().__init__(nanoseconds(beginning))
        self.context = _context()
        self.members: list[Member] = []
        self._timers: list[tuple[int, int, BusTimer]] = []
        self._count = itertools.count()
        self._time = BusTime(lambda: self.now_ns, lambda seconds: self.advance(self.time + seconds))

    def __enter__(self) -> Bus:
        if Bus._open is not None:
            raise RuntimeError("another bus is open in this process; close it first")
        Bus._open = self
        self._time.install()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for member in self.members:
                self.kill(member)
        finally:
            self._time.remove()
            Bus._open = None

    # Nodes.

    def add(
        self,
        kind: type[Node],
        *arguments: Any,
        remap: Mapping[str, str] | None = None,
        namespace: str = "",
        simulated: bool = False,
        phase: float = 0.0,
        composed: bool = False,
        **parameters: Any,
    ) -> Member:
        """Create a node as `run_node` does; if that fails, `log` has the error and the status is 1.

        Args:
            kind: Class of the node.
            arguments: Arguments of its constructor.
            remap: Remapped topic names, as with -r.
            namespace: Namespace of the node.
            simulated: Whether its clock counts as a simulator's.
            phase: Time until its timers first fire, s.
            composed: Whether it believes that it shares the process of a simulator.
            parameters: Parameters of the node, except those with the names of arguments above.
        """
        member = Member(parameters, remap or {}, namespace, simulated, phase)
        self.members.append(member)
        made = on_bus(kind)
        made.bus, made.member, made.composed = self, member, composed
        self._time.install()
        try:
            member.node = made(*arguments)
        except (ValueError, ImportError, OSError) as error:
            member.logger.fatal(str(error))
            self._leave(member, 1)
        self.settle()
        return member

    def interrupt(self, member: Member, status: int = 0) -> None:
        """End a node as a signal would."""
        if member.runs:
            self._end(member, status)
        self.settle()

    def kill(self, member: Member) -> None:
        """End a node as kill -9 would: it publishes nothing more."""
        if member.status is None:
            self._leave(member, 137)

    def _end(self, member: Member, status: int) -> None:
        member.ending = True
        try:
            member.node.close()
        except Exception as error:
            member.logger.fatal(f"{type(error).__name__} while closing: {error}")
            status = status or 1
        self.settle()
        self._leave(member, status)

    def _leave(self, member: Member, status: int) -> None:
        member.status = status
        self.leave(member)
        node, member.node = member.node, None
        if node is not None:
            node.destroy_node()

    # Time.

    def schedule(self, timer: BusTimer) -> None:
        """Fire a timer when it is due."""
        heapq.heappush(self._timers, (timer.due, next(self._count), timer))

    def advance(self, to: float) -> None:
        """Let time pass up to a time, s."""
        end = nanoseconds(to)
        self.settle()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            owner = timer.owner
            ended = owner is not None and owner.status is not None
            if ended or timer.cancelled or timer.due != due:  # it was reset in the meantime
                continue
            self.now_ns = max(self.now_ns, due)
            timer.due = due + timer.timer_period_ns
            self.schedule(timer)
            self.run(owner, timer.callback)
            self.settle()
        self.now_ns = max(self.now_ns, end)

    def run(self, owner: Member | None, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a callback of a node as `run_node` does."""
        if owner is None:
            callback(*arguments)
            return
        if not owner.runs:
            return
        try:
            callback(*arguments)
        except Exception as error:
            owner.logger.fatal(f"{type(error).__name__}: {error}")
            self._end(owner, 1)
            return
        if owner.node is not None and owner.node.exit_code is not None and owner.runs:
            self._end(owner, owner.node.exit_code)
