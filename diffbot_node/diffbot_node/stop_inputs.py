# SPDX-License-Identifier: Apache-2.0
"""Inputs by which people and programs stop and enable a commanding node; the last zero command."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from diffbot_node.robot_messages import SubscriptionEventCallbacks, subscribe_to_states
from diffbot_node.topic_nodes import LATCHED

TOPIC = "emergency_stop"
# Zeros sent at the end, as one may get lost, and wall time after each, s.
LAST_ZEROS, LAST_PERIOD = 3, 0.02
# Longest times to find the wheels' driver without the watchdog, and for it to acknowledge, s.
WATCHDOG, FINDING_TIME, ACKNOWLEDGING_TIME = "effort_watchdog", 4.0, 1.0
# Longest duration of `zero_to_wheels`, s of wall time.
LONGEST_LAST_ZEROS = FINDING_TIME + LAST_ZEROS * LAST_PERIOD + ACKNOWLEDGING_TIME


class EmergencyStop:
    """Subscribes to `emergency_stop` (std_msgs/Bool, true: pressed), latched or not.

    False releases it only if the topic has a single publisher: the released button need not be the
    pressed one. `callback` gets the reason why it counts as pressed; empty if it does not.
    """

    def __init__(self, node: Node, callback: Callable[[str], None]) -> None:
        self._node, self._callback = node, callback
        self._why = ""
        self.topic = node.resolve_topic_name(TOPIC)
        subscribe_to_states(node, Bool, TOPIC, self._on_message)
        # No warning when only one of the two subscriptions matches.
        quiet = SubscriptionEventCallbacks(incompatible_qos=lambda event: None)
        node.create_subscription(Bool, TOPIC, self._on_message, LATCHED, event_callbacks=quiet)

    def _on_message(self, message: Bool) -> None:
        if message.data:
            self._why = "the emergency stop is pressed"
        elif self._why and (count := self._node.count_publishers(self.topic)) > 1:
            self._why = (
                f"the emergency stop is pressed, and {count} nodes publish {self.topic}: stop all "
                "but one, or let one node combine the buttons"
            )
        else:
            self._why = ""
        self._callback(self._why)


class StopInputs:
    """The topic `emergency_stop` and the service `~/enable` (std_srvs/SetBool) of a node.

    Args:
        timeout: Longest time between two messages on the topic, s of wall time; 0: no limit.
        on_press: Called with the reason.
        on_enable: Called with the service's data; returns why that is refused, empty if it is not.
    """

    def __init__(
        self,
        node: Node,
        timeout: float,
        on_press: Callable[[str], None],
        on_release: Callable[[], None],
        on_enable: Callable[[bool], str],
    ) -> None:
        self._timeout = timeout
        self._on_press, self._on_release, self._on_enable = on_press, on_release, on_enable
        self._heard = time.monotonic()
        self._pressed = self._missed = False
        self._topic = EmergencyStop(node, self._on_message).topic
        node.create_service(SetBool, "~/enable", self._on_request)

    def look(self) -> None:
        silence = time.monotonic() - self._heard
        if 0.0 < self._timeout < silence and not self._missed:
            self._missed = True
            if not self._pressed:
                self._on_press(
                    f"no message on {self._topic} for {self._timeout:g} s, which counts as pressed"
                )

    def _on_message(self, why: str) -> None:
        self._heard = time.monotonic()
        was, self._pressed = self._pressed or self._missed, bool(why)
        self._missed = False
        if why:
            self._on_press(why)
        elif was:
            self._on_release()

    def _on_request(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        problem = self._on_enable(request.data)
        response.success = not problem
        response.message = problem or ("enabled" if request.data else "stopped")
        return response


class Pulse:
    """Detects that a periodic signal has ceased, s of wall time, after it was heard at least once.

    While this process is stalled, messages wait in the queue: the time between two calls of `look`
    counts as LONGEST_LOOK at most.
    """

    LONGEST_LOOK = 0.05  # s

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._looked: float | None = None
        self._silence = 0.0

    def beat(self) -> None:
        self._looked = self._looked or time.monotonic()
        self._silence = 0.0

    def look(self) -> str:
        """Return the silence, with its unit, if it is too long; else empty. Called every few ms."""
        if self._looked is None:
            return ""
        now = time.monotonic()
        self._silence += min(now - self._looked, self.LONGEST_LOOK)
        self._looked = now
        return f"{self._silence:.2g} s" if self._silence > self._patience else ""


def last_zero_name(name: str) -> str:
    """Return the name of the temporary node by which the node `name` sends the wheels zero."""
    return f"{name}_last_zero"


def zero_to_wheels(own: Node, commands: tuple[type, str], zero: object, what: str) -> None:
    """Send zero directly to the wheels, as the watchdog is dead and they may hold the last torque.

    By a temporary node, as the publishers of `own`, which ends, are remapped to the watchdog.
    `commands`: type and topic name as without a watchdog; `what`: the quantity, for messages.
    """
    kind, name = commands
    topic = expand_topic_name(name, own.get_name(), own.get_namespace())
    node = Node(
        last_zero_name(own.get_name()),
        context=own.context,
        namespace=own.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )
    try:
        publisher: Publisher[Any] = node.create_publisher(kind, topic, 10)
        # The first subscriber to be found may only be an observer.
        subscribers = max(1, own.count_subscribers(topic))
        deadline, zeros = time.monotonic() + FINDING_TIME, LAST_ZEROS
        while zeros:
            subscription_count = publisher.get_subscription_count()
            if subscription_count >= subscribers or time.monotonic() > deadline:
                zeros -= 1
            publisher.publish(zero)
            time.sleep(LAST_PERIOD)
        publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGING_TIME))
        own.get_logger().error(
            f"{WATCHDOG} is dead: zero {what} sent directly to {topic}"
            if subscription_count
            else f"{WATCHDOG} is dead, and no subscriber of {topic} was found to send zero to: "
            "check that the robot stands still"
        )
    finally:
        node.destroy_node()
