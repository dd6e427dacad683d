# SPDX-License-Identifier: Apache-2.0
"""A ROS participant that records the wheels' commands, presses buttons, and misbehaves on demand.

The probe has its own context, in the domain of the graph under attack, and its own receiving
thread. It publishes nothing on the robot's topics unless requested.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool

from diffbot_node import seconds
from diffbot_node.senders import Senders, origin
from faults.process_nodes import WHEELS
from faults.process_record import Pair, Record

try:
    from rclpy.event_handler import PublisherEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks

DEEP = 1000  # messages; a probe that is blocked for a while loses none
IN_TRANSIT = 0.1  # s of wall time for messages in transit to arrive
NANOSECONDS = 1e-9


def with_information(callback: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    """Return a subscription's callback that also receives the message information.

    Humble does not provide it; the information is empty there.
    """
    if hasattr(Subscription, "CallbackType"):
        return lambda message, information: callback(message, information)
    return lambda message: callback(message, {})


def _sent(information: dict[str, Any]) -> float:
    """Return the wall time at which a message was sent, s; now if ROS lacks it (Humble)."""
    return NANOSECONDS * information["source_timestamp"] if information else time.time()


class Probe:
    """Records the commands to the wheels and the robot's states.

    Args:
        domain: DDS domain.
        period: Period of the joint states, s.

    Attributes:
        record: Received commands and joint states.
        odd: Commands on the wheels' topic that were not two numbers.
        diagnosed: Wall time (s), name and text of the messages on `diagnostics`.
        asked: Wall time of the last service call, s.
        answer: Function called with each joint state's stamp, s, in the probe's thread; None: none.
    """

    def __init__(self, domain: int, period: float) -> None:
        self.record = Record(period)
        self.odd: list[list[float]] = []
        self.diagnosed: list[tuple[float, str, str]] = []
        self.asked = 0.0
        self.answer: Callable[[float], None] | None = None
        self._news = threading.Condition()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        # The probe must not use a launch's arguments. It publishes no log: that of a second probe
        # in the process would cause a warning of rcl.
        self.node = rclpy.create_node(
            "fault_probe", context=self._context, use_global_arguments=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        for kind, topic, callback in (
            (Float64MultiArray, WHEELS, self._on_command),
            (JointState, "joint_states", self._on_state),
        ):
            self.node.create_subscription(kind, topic, with_information(callback), DEEP)
        self.node.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, DEEP)
        self._stop_button = self.node.create_publisher(
            # Nodes subscribe twice, also for latched buttons; one of them is expected not to match.
            *(Bool, "emergency_stop", 10),
            event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
        )
        self._publishers: dict[str, Publisher] = {}
        self._heard: Subscription | None = None
        self._leaving = False
        self._thread = threading.Thread(target=self._listen, name="fault probe", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._leaving:
            self._executor.spin_once(timeout_sec=0.05)
            with self._news:
                self._news.notify_all()

    def _on_command(self, message: Float64MultiArray, information: dict[str, Any]) -> None:
        if len(message.data) == 2:
            torque = float(message.data[0]), float(message.data[1])
            self.record.add_command(_sent(information), torque)
        else:
            self.odd.append(list(message.data))

    def _on_state(self, message: JointState, information: dict[str, Any]) -> None:
        stamp = seconds(message.header.stamp)
        effort = float(message.effort[0]), float(message.effort[1])
        self.record.add_state(_sent(information), stamp, effort)
        if self.answer is not None:
            self.answer(stamp)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.time()
        self.diagnosed += [(now, status.name, status.message) for status in message.status]

    def until(self, condition: Callable[[], Any], patience: float) -> bool:
        """Wait for a condition, which is checked whenever a message has arrived.

        Returns:
            Whether it became true within `patience` s of wall time.
        """
        with self._news:
            return bool(self._news.wait_for(condition, patience))

    def hears_for(self, wall: float) -> float:
        """Receive all messages sent in the next `wall` s; return the wall time at the end, s."""
        end, reported = time.time() + wall, self.record.reported
        self.until(lambda: time.time() >= end, wall)
        # Messages sent by then may still be in transit; a dead robot sends nothing more.
        self.until(lambda: reported and reported[-1] >= end, IN_TRANSIT)
        return end

    def commanders(self, topic: str) -> int:
        """Return the number of other publishers of a topic."""
        own = topic in self._publishers
        return self.node.count_publishers(self.node.resolve_topic_name(topic)) - own

    def listen(self, topic: str) -> dict[object, list[Pair]]:
        """Record a command topic from now on; return the commands by sender.

        Returns after the first message, or after 1 s.
        """
        heard: dict[object, list[Pair]] = {}
        senders = Senders()

        def on_message(message: Float64MultiArray, information: dict[str, Any]) -> None:
            sender = senders.identify(origin(information))
            heard.setdefault(sender, []).append(tuple(map(float, message.data)))

        self._heard = self.node.create_subscription(Float64MultiArray, topic, on_message, DEEP)
        self.until(lambda: heard, 1.0)
        return heard

    # Messages of the probe.

    def press(self, pressed: bool) -> float:
        """Press or release the emergency stop; return the wall time, s."""
        now = time.time()
        self._stop_button.publish(Bool(data=pressed))
        return now

    def ask(self, service: str, data: bool, patience: float = 5.0) -> tuple[bool, str]:
        """Call a std_srvs/SetBool service, store the wall time in `asked`, and return its answer.

        Raises:
            RuntimeError: No answer.
        """
        client = self.node.create_client(SetBool, service)
        try:
            if self.until(client.service_is_ready, patience):
                self.asked = time.time()
                future = client.call_async(SetBool.Request(data=data))
                if self.until(future.done, patience):
                    return future.result().success, future.result().message
            raise RuntimeError(f"no answer from the service {service} within {patience:g} s")
        finally:
            self.node.destroy_client(client)

    def appear(self, topic: str) -> None:
        """Become a publisher of a command topic; return when its subscriber has discovered it.

        Raises:
            RuntimeError: The topic has no subscriber.
        """
        publisher = self.node.create_publisher(Float64MultiArray, topic, 10)
        self._publishers[topic] = publisher
        if not self.until(publisher.get_subscription_count, 5.0):
            raise RuntimeError(f"nobody subscribes to {topic}")

    def say(self, topic: str, values: Sequence[float]) -> float:
        """Publish a command on a topic after `appear`; return the wall time, s."""
        now = time.time()
        self._publishers[topic].publish(Float64MultiArray(data=[float(v) for v in values]))
        return now

    def vanish(self) -> None:
        """Stop publishing commands, and record only the commands to the wheels."""
        self.answer = None
        if self._heard is not None:
            self.node.destroy_subscription(self._heard)
            self._heard = None
        for publisher in self._publishers.values():
            self.node.destroy_publisher(publisher)
        self._publishers.clear()

    def close(self) -> None:
        """Leave the graph."""
        self._leaving = True
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
