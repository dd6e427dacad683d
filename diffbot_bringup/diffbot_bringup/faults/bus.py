"""Nodes of the suite in one process, without DDS and in the robot's time.

The nodes are the real ones. Messages go from publisher to subscriber by a queue, in the order in
which they are sent; timers, clocks, `time.monotonic` and `time.sleep` follow the bus. So a run
repeats to the last digit, and a second of robot time takes some ten ms.

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
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions

from diffbot_bringup.faults.bus_node import on_bus
from diffbot_bringup.faults.bus_time import BusTime, nanoseconds
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
from diffbot_bringup.faults.kept_xacro import KeptXacro
from diffbot_bringup.faults.member import Member

LOOK_PERIOD = 1_000_000  # ns between two looks at what injectors hold back
# A robot's time does not begin at 0, which some programs take for "no stamp".
BEGINNING = 10.0


class Injector(Protocol):
    """What may sit on a topic; FaultInjector of diffbot_sim is one."""

    def push(self, now: float, message: Any) -> None:
        """Take a message that is sent, s."""

    def due(self, now: float) -> list[Any]:
        """What comes out by now, s."""


@functools.cache
def _context() -> Context:
    context = Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    atexit.register(context.try_shutdown)
    return context


class Bus:
    """An in-process graph; use it in a `with` statement, one at a time.

    Args:
        beginning: time at the beginning, s.

    Raises:
        RuntimeError: another bus is open in this process.
    """

    _open: Bus | None = None

    def __init__(self, beginning: float = BEGINNING) -> None:
        self.now_ns = nanoseconds(beginning)
        self.context = _context()
        self.members: list[Member] = []
        self._ends: list[BusPublisher | BusSubscription | BusService] = []
        self._timers: list[tuple[int, int, BusTimer]] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._count = itertools.count()
        self._injectors: dict[str, tuple[Injector, list[BusPublisher]]] = {}
        self._own: dict[tuple[str, type], BusPublisher] = {}
        self._xacro = KeptXacro()
        self._time = BusTime(lambda: self.now_ns, lambda seconds: self.advance(self.time + seconds))

    def __enter__(self) -> Bus:
        if Bus._open is not None:
            raise RuntimeError("another bus is open in this process; close it first")
        Bus._open = self
        self._time.install()
        self._xacro.install()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for member in self.members:
                self.kill(member)
        finally:
            self._xacro.remove()
            self._time.remove()
            Bus._open = None

    @property
    def time(self) -> float:
        """Robot time, s."""
        return 1e-9 * self.now_ns

    # Nodes.

    def add(
        self,
        kind: type[Node],
        *arguments: Any,
        remap: Mapping[str, str] | None = None,
        namespace: str = "",
        simulated: bool = False,
        phase: float = 0.0,
        **parameters: Any,
    ) -> Member:
        """Make a node as `run_node` does; what it refuses is in `log`, and its status is 1.

        Args:
            kind: class of the node.
            arguments: of its constructor.
            remap: names of topics, as -r gives them.
            namespace: of the node.
            simulated: whether its clock counts as a simulator's.
            phase: when its timers fire first, s.
            parameters: of the node; those whose names are taken above cannot be given.
        """
        member = Member(parameters, remap or {}, namespace, simulated, phase)
        self.members.append(member)
        made = on_bus(kind)
        made.bus, made.member = self, member
        self._time.install()
        try:
            member.node = made(*arguments)
        except (ValueError, ImportError, OSError) as error:
            member.logger.fatal(str(error))
            self._leave(member, 1)
        self.settle()
        return member

    def interrupt(self, member: Member, status: int = 0) -> None:
        """End a node as a signal does."""
        if member.runs:
            self._end(member, status)
        self.settle()

    def kill(self, member: Member) -> None:
        """End a node as kill -9 does: it says nothing more."""
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
        self._ends = [end for end in self._ends if end.owner is not member]
        node, member.node = member.node, None
        if node is not None:
            node.destroy_node()

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
        self._run(found[0].owner, found[0].callback, request, response)
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
                subscription.callback(copied(message))

        self._queue.append(lambda: self._run(subscription.owner, meet))

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
                self._queue.append(
                    functools.partial(
                        self._run, subscription.owner, subscription.callback, copied(message)
                    )
                )

    def schedule(self, timer: BusTimer) -> None:
        """Fire a timer when it is due."""
        heapq.heappush(self._timers, (timer.due, next(self._count), timer))

    # Time.

    def advance(self, to: float) -> None:
        """Let time pass up to a time, s."""
        end = nanoseconds(to)
        self.settle()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            owner = timer.owner
            if timer.cancelled or (owner is not None and owner.status is not None):
                continue
            self.now_ns = max(self.now_ns, due)
            timer.due = due + timer.timer_period_ns
            self.schedule(timer)
            self._run(owner, timer.callback)
            self.settle()
        self.now_ns = max(self.now_ns, end)

    def settle(self) -> None:
        """Deliver all that is under way."""
        while self._queue:
            self._queue.popleft()()

    def _run(self, owner: Member | None, callback: Callable[..., None], *arguments: Any) -> None:
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


def absolute(name: str) -> str:
    """A topic's or service's full name."""
    return name if name.startswith("/") else f"/{name}"
