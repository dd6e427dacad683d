"""The ROS side of one relayed topic: its subscription, its injector and its publisher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from diffbot_node import subscribe_to_states
from diffbot_sim.faults.content import check_fields
from diffbot_sim.faults.fault import Fault
from diffbot_sim.faults.injector import FaultInjector
from diffbot_sim.faults.relay import Relay

# Messages: what a delay has held back comes out at once where a clock jumps.
DEPTH = 100
# How long the last message may take to arrive, s of wall time: the process waits for it.
ARRIVAL_PATIENCE = 1.0


class RelayedTopic:
    """Hands the messages of one topic on, as the faults make them.

    The output is reliable, which suits reliable and best-effort subscribers. Publishers of either
    reliability are heard; latched ones by latched relays.

    Args:
        node: has the subscription and the publisher.
        relay: from where to where.
        faults: of this topic.
        seed: of their chances.
        on_message: is called with this and each message that comes.

    Attributes:
        relay: as given.
        injector: has the faults.

    Raises:
        ValueError: the type of message is not there, or has not the fields of a fault.
    """

    def __init__(
        self,
        node: Node,
        relay: Relay,
        faults: Sequence[Fault],
        seed: int,
        on_message: Callable[[RelayedTopic, Any], None],
    ) -> None:
        self.relay, self._node = relay, node
        message_type = find_message_type(relay.type)
        for fault in faults:
            _check(message_type, fault)
        self.injector = FaultInjector(faults, seed)
        self._met = False
        take = partial(on_message, self)
        if relay.latched:
            qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
            self._input = node.create_subscription(message_type, relay.input, take, qos)
        else:
            qos = QoSProfile(depth=DEPTH)
            self._input = subscribe_to_states(node, message_type, relay.input, take)
        self._output = node.create_publisher(message_type, relay.output, qos)
        # As they are after remaps.
        self._names = (self._input.topic_name, self._output.topic_name)
        if self._names[0] == self._names[1]:
            raise ValueError(
                f"{relay.topic}: input and output are both {self._names[0]}: remap one of them"
            )

    def __str__(self) -> str:
        return " -> ".join(self._names)

    def release(self, now: float) -> None:
        """Publish what is due, s."""
        for message in self.injector.due(now):
            self._output.publish(message)

    @property
    def is_holding(self) -> bool:
        """Whether messages wait for their time."""
        return self.injector.next_release is not None

    def missing(self) -> str:
        """Who is not there, in words; empty when there are a publisher and a subscriber."""
        if not self._node.count_publishers(self._names[0]):
            return f"a publisher of {self._names[0]}"
        if not self._output.get_subscription_count():
            return f"a subscriber of {self._names[1]}"
        return ""

    def has_met(self) -> bool:
        """Whether publisher and subscriber are there, or have been at one time."""
        self._met = self._met or not self.missing()
        return self._met

    def close(self) -> None:
        """Wait for the last message: a process that ends at once takes it with it."""
        self._output.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))


def find_message_type(name: str) -> type:
    """Return the class of a message type such as sensor_msgs/msg/JointState.

    Raises:
        ValueError: there is none of this name.
    """
    package, _, short = name.replace("/msg/", "/").partition("/")
    try:
        return getattr(import_module(f"{package}.msg"), short)
    except (ImportError, AttributeError):
        raise ValueError(
            f"type = {name!r}: there is no such message; write package/msg/Type of an installed "
            "and sourced package"
        ) from None


def _check(message_type: type, fault: Fault) -> None:
    try:
        check_fields(message_type(), fault)
    except ValueError as error:
        raise ValueError(f"{fault.topic}, {fault.kind} at {fault.start:g} s: {error}") from None
