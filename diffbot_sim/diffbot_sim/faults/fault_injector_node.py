# SPDX-License-Identifier: Apache-2.0
"""The fault_injector node: relays topics, and injects the faults of a script.

Times of the script are the clock's with use_sim_time; otherwise they count from the first message.
Start a simulated run with composed:=false: in lock-step it would wait for delayed answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import QoSProfile

from diffbot_node import Node, declare, parameter, subscribe_to_states
from diffbot_node.message_types import message_class
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.topic_nodes import LATCHED
from diffbot_sim.faults.fault import Fault, Relay, load_script
from diffbot_sim.faults.injector import CAPACITY, FaultInjector, check_fields
from diffbot_sim.faults.message_fields import NANOSECONDS


@dataclass(frozen=True)
class FaultInjectorParameters:
    """Parameters of fault_injector."""

    script: str = parameter("", "path of the YAML with the topics and their faults")
    seed: int = parameter(-1, "seed of all chances; -1: the script's", minimum=-1)
    leave_when_alone: bool = parameter(
        False, "end with status 0 when a topic has lost its publisher or its subscriber"
    )
    patience: float = parameter(
        20.0, "with leave_when_alone: wall time to wait for them, s; then status 1", above=0.0
    )


# Time between two looks for due messages, s, and for partners, s of wall time.
RELEASE_PERIOD, LOOK_PERIOD = 0.002, 0.05
# A clock that goes back by more, ns, has restarted.
DISORDER = NANOSECONDS // 10
# When a clock jumps, all delayed messages are released at once.
DEPTH = 100
# Wall time for the last message to arrive, s.
ARRIVAL_PATIENCE = 1.0


class RelayedTopic:
    """Relays the messages of one topic, which `on_message` receives, through a fault injector.

    The output is reliable. Publishers of either reliability are received; latched ones need a
    latched relay. `patience` for publisher and subscriber is in s of wall time.

    Raises:
        ValueError: The message type does not exist, or lacks a field that a fault names.
    """

    def __init__(
        self,
        node: Node,
        relay: Relay,
        faults: Sequence[Fault],
        seed: int,
        on_message: Callable[[RelayedTopic, Any], None],
        patience: float,
    ) -> None:
        self.relay, self._node = relay, node
        message_type = message_class(relay.type)
        for fault in faults:
            try:
                check_fields(message_type(), fault)
            except ValueError as error:
                where = f"{fault.topic}, {fault.kind} at {fault.start:g} s"
                raise ValueError(f"{where}: {error}") from None
        self.injector = FaultInjector(faults, seed)
        self._partners, self._patience = Presence(patience), patience
        take = partial(on_message, self)
        if relay.latched:
            qos = LATCHED
            self._input = node.create_subscription(message_type, relay.input, take, qos)
        else:
            qos = QoSProfile(depth=DEPTH)
            self._input = subscribe_to_states(node, message_type, relay.input, take)
        self._output: Any = node.create_publisher(message_type, relay.output, qos)
        self._names = (self._input.topic_name, self._output.topic_name)
        if self._names[0] == self._names[1]:
            raise ValueError(
                f"{relay.topic}: input and output are both {self._names[0]}: remap one of them"
            )

    def __str__(self) -> str:
        return " -> ".join(self._names)

    def release(self, now: float) -> None:
        """Publish the messages that are due at a time, s."""
        for message in self.injector.due(now):
            self._output.publish(message)

    @property
    def is_holding(self) -> bool:
        return self.injector.next_release is not None

    def missing(self) -> str | None:
        """Return which of publisher and subscriber is missing, in words; None if both are there."""
        if not self._node.count_publishers(self._names[0]):
            return f"a publisher of {self._names[0]}"
        if not self._output.get_subscription_count():
            return f"a subscriber of {self._names[1]}"
        return None

    def leave(self) -> int | None:
        """Return the exit status if a partner has left (0) or never arrived (1); else None."""
        missing = self.missing()
        partner = str(missing).removeprefix("a ")
        return self._partners.leave(
            missing is None,
            self._node.get_logger(),
            f"no {partner} any more; ends",
            f"gave up after {self._patience:g} s of wall time: no {partner}; "
            "start it, or remap the topics",
        )

    def close(self) -> None:
        """Wait until the last message has arrived, which would otherwise be lost."""
        self._output.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))


class FaultInjectorNode(Node):
    """Relays topics through fault injectors; ValueError for a wrong parameter or script."""

    def __init__(self) -> None:
        super().__init__("fault_injector")
        self.exit_code: int | None = None
        self.values = declare(self, FaultInjectorParameters)
        if not self.values.script:
            raise ValueError("parameter 'script' = '': must be the path of a script of faults")
        script = load_script(self.values.script)
        if not script.relays:
            raise ValueError(f"{self.values.script}: relays: must name at least one topic")
        seed = script.seed if self.values.seed < 0 else self.values.seed
        self._simulated = self.get_parameter("use_sim_time").value
        self._origin: int | None = None  # time 0 of the script by the clock, ns
        self._newest = 0  # ns
        self._active: list[Fault] = []
        self._topics = [
            RelayedTopic(
                self, relay, script.of(relay.topic), seed, self._on_message, self.values.patience
            )
            for relay in script.relays
        ]
        for topic in self._topics:
            self.get_logger().info(f"relays {topic}")
        self._release_timer = self.create_timer(RELEASE_PERIOD, self._release)
        self._release_timer.cancel()
        create_wall_timer(self, LOOK_PERIOD, self._look_around)

    def _time(self) -> float:
        now = self.get_clock().now().nanoseconds
        if now < self._newest - DISORDER:
            self.get_logger().warning(
                f"time went back from {self._newest / NANOSECONDS:g} s to {now / NANOSECONDS:g} s: "
                "faults start again"
            )
            self._newest = now
            self._origin = None
        self._newest = max(self._newest, now)
        if self._origin is None:
            self._origin = 0 if self._simulated else now
        return (self._newest - self._origin) / NANOSECONDS

    def _on_message(self, topic: RelayedTopic, message: Any) -> None:
        now = self._time()
        full = topic.injector.lost
        topic.injector.push(now, message)
        if topic.injector.lost and not full:
            self.get_logger().error(
                f"{CAPACITY} messages of {topic.relay.topic} wait: more are lost; shorten the delay"
            )
        topic.release(now)
        self._log_faults()
        if topic.is_holding and self._release_timer.is_canceled():
            self._release_timer.reset()

    def _release(self) -> None:
        now = self._time()
        for topic in self._topics:
            topic.release(now)
        self._log_faults()
        if not any(topic.is_holding for topic in self._topics):
            self._release_timer.cancel()

    def _log_faults(self) -> None:
        active = [fault for topic in self._topics for fault in topic.injector.active]
        if active == self._active:
            return
        for fault in active:
            if fault not in self._active:
                self.get_logger().warning(f"begins: {fault}")
        for fault in self._active:
            if fault not in active:
                self.get_logger().info(f"has ended: {fault}")
        self._active = active

    def _look_around(self) -> None:
        if self._origin is not None:
            self._release()
        if self.values.leave_when_alone and self.exit_code is None:
            ends = (topic.leave() for topic in self._topics)
            self.exit_code = next((code for code in ends if code is not None), None)

    def close(self) -> None:
        for topic in self._topics:
            topic.close()
