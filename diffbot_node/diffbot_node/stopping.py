# SPDX-License-Identifier: Apache-2.0
"""How people and other programs stop a commanding node, and let it go on; the last zero."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from diffbot_node.robot_messages import SubscriptionEventCallbacks, subscribe_to_states

TOPIC = "emergency_stop"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Of states that who comes late has to know, too."""
# How often zero is sent at the end, and the wall time between two, s: one may get lost.
LAST_ZEROS, LAST_PERIOD = 3, 0.02
# Who may stand between a node and the wheels, and how long these may take to be found without it, s
# of wall time.
WATCHDOG, FINDING_TIME, ACKNOWLEDGING_TIME = "effort_watchdog", 4.0, 1.0
# Zero to the wheels themselves takes no longer, s of wall time.
LONGEST_LAST_ZEROS = FINDING_TIME + LAST_ZEROS * LAST_PERIOD + ACKNOWLEDGING_TIME


class EmergencyStop:
    """Subscribes to `emergency_stop` (std_msgs/Bool, true: pressed).

    From publishers of either reliability, and twice: a latched state that was told before this node
    was there reaches a latched subscription only, and a publisher that does not latch reaches a
    volatile one only. What comes twice does no harm.

    It is released by false from its only publisher. Of several nobody tells whose message came
    (rclpy's fast executor fails when asked), and the button that is released need not be the one
    that was pressed.

    Args:
        node: listens.
        callback: called after each message, with why the emergency stop counts as pressed; empty
            when it does not.

    Attributes:
        topic: its full name.
    """

    def __init__(self, node: Node, callback: Callable[[str], None]) -> None:
        self._node, self._callback = node, callback
        self._why = ""
        self.topic = node.resolve_topic_name(TOPIC)
        subscribe_to_states(node, Bool, TOPIC, self._on_message)
        # That only one of the two matches is no news.
        quiet = SubscriptionEventCallbacks(incompatible_qos=lambda event: None)
        node.create_subscription(Bool, TOPIC, self._on_message, LATCHED, event_callbacks=quiet)

    def _on_message(self, message: Bool) -> None:
        if message.data:
            self._why = "the emergency stop is pressed"
        elif self._why and (count := self._node.count_publishers(self.topic)) > 1:
            self._why = (
                f"the emergency stop is pressed, and {count} nodes publish {self.topic}: stop all "
                "but one, or let one node join the buttons"
            )
        else:
            self._why = ""
        self._callback(self._why)


class StopInputs:
    """The topic `emergency_stop` and the service `~/enable` (std_srvs/SetBool) of a node.

    Args:
        node: whose they are.
        timeout: the topic has to be heard at least this often, s of wall time; 0: it need not.
        on_press: called with the reason when the emergency stop is pressed.
        on_release: called when it is released.
        on_enable: called with the service's data; returns why that is refused, empty if it is not.
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
        """Called every few ms: notices that the emergency stop is not heard any more."""
        silence = time.monotonic() - self._heard
        if 0.0 < self._timeout < silence and not self._missed:
            self._missed = True
            if not self._pressed:
                self._on_press(
                    f"nothing on {self._topic} for {self._timeout:g} s, which counts as pressed"
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
    """Notices the silence of one who should be heard again and again, once it was heard.

    Where the own process stands still, messages wait and nobody is silent: of the time between two
    looks LONGEST_LOOK counts at most.

    Args:
        patience: silence that is too long, s of wall time.
    """

    LONGEST_LOOK = 0.05  # s

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._looked: float | None = None
        self._silence = 0.0

    def beat(self) -> None:
        """It was heard."""
        self._looked = self._looked or time.monotonic()
        self._silence = 0.0

    def look(self) -> str:
        """Called every few ms: the silence, with its unit, where it is too long; else empty."""
        if self._looked is None:
            return ""
        now = time.monotonic()
        self._silence += min(now - self._looked, self.LONGEST_LOOK)
        self._looked = now
        return f"{self._silence:.2g} s" if self._silence > self._patience else ""


def last_zero_name(name: str) -> str:
    """Name of the node by which the node `name` tells the wheels zero itself, while it does."""
    return f"{name}_last_zero"


def zero_to_wheels(own: Node, commands: tuple[type, str], zero: object, what: str) -> None:
    """Zero to the wheels themselves, as the watchdog is dead: they may hold the last torque.

    By a node of its own, as those of the ending node's publishers are remapped to the watchdog.

    Args:
        own: the node that ends.
        commands: type of message and name of the topic, as if there were no watchdog.
        zero: the message.
        what: is commanded, for messages.
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
        # All that this node knows of: the first to be found may be one that only looks on.
        deadline, takers = time.monotonic() + FINDING_TIME, max(1, own.count_subscribers(topic))
        while (found := publisher.get_subscription_count()) < takers:
            if time.monotonic() > deadline:
                break
            time.sleep(LAST_PERIOD)
        for _ in range(LAST_ZEROS):
            publisher.publish(zero)
            time.sleep(LAST_PERIOD)
        publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGING_TIME))
        own.get_logger().error(
            f"{WATCHDOG} is dead: zero {what} sent to {topic} itself"
            if found
            else f"{WATCHDOG} is dead, and nobody was found on {topic} to send zero to: see "
            "that the robot stands still"
        )
    finally:
        node.destroy_node()
