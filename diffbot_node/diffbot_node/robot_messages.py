# SPDX-License-Identifier: Apache-2.0
"""Stamps of a robot's messages, the clock of a node, and the subscription to states."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # Humble: no clock_type
from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from diffbot_node.verdicts import GOOD, Level, Verdict

try:
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks

NANOSECONDS = 1_000_000_000
# Seconds are signed 32-bit numbers; an hour is left to add to them, s.
LATEST = 2**31 - 3600


def seconds(stamp: Time) -> float:
    """Return a stamp in s."""
    return float(stamp.sec + stamp.nanosec / NANOSECONDS)


def to_stamp(time: float) -> Time:
    """Return a time in s, >= 0, as a stamp, rounded to the nearest nanosecond."""
    whole, rest = divmod(round(time * NANOSECONDS), NANOSECONDS)
    return Time(sec=whole, nanosec=rest)


def stamp_problem(stamp: Time) -> str:
    """Why a stamp cannot be used, as a sentence; empty if it can."""
    if 0 <= stamp.sec < LATEST and stamp.nanosec < NANOSECONDS:
        return ""
    return (
        f"stamp = {stamp.sec} s and {stamp.nanosec} ns: must be >= 0 s and < {LATEST} s, with less "
        f"than {NANOSECONDS} ns; ignored; check the clock of the node that stamps it"
    )


class NodeClock:
    """The clock that a node uses: a simulator's with use_sim_time, otherwise the computer's."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock: Any = node.get_clock()  # rclpy's type knows nothing of the ROS clock
        # Remapped for a robot in a namespace, which has its own time.
        self._topic = node.resolve_topic_name("/clock")

    def now(self) -> float:
        """Return the clock's time, s."""
        return float(1e-9 * self._clock.now().nanoseconds)

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulator's clock, which may be slow, stand still, or be set back."""
        return bool(self._clock.ros_time_is_active)

    def missing(self) -> Verdict:
        """Whether a simulator's clock is used that nobody publishes: no message would grow old."""
        if not self.is_simulated or self._node.count_publishers(self._topic):
            return GOOD
        return Verdict(
            Level.WAIT,
            f"use_sim_time is true and no node publishes {self._topic}; start the simulator, or "
            "leave use_sim_time false with a robot",
        )


class _WithoutArguments:
    """A timer's callback with a stored signature, which rclpy inspects at each call."""

    __signature__ = Signature()

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __call__(self) -> None:
        self._callback()


def create_wall_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call `callback` every `period` s of wall time, whatever the node's clock does."""
    called = _WithoutArguments(callback)
    node.create_timer(period, called, clock=Clock(clock_type=ClockType.STEADY_TIME))


# States that a subscription queues: those of a stalled process show how the robot moved. With more,
# one that cannot keep up with 1000 Hz would receive only old ones.
DEPTH = 30


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[..., None]
) -> Subscription[Any]:
    """Subscribe to the states of a robot; return the reliable subscription.

    Where a publisher offers only best effort, as is usual for sensors, a second subscription is
    added. `callback` is a `senders.WithOrigin` if the sender matters.
    """
    others: list[Subscription[Any]] = []

    def on_incompatible(event: Any) -> None:
        if event.last_policy_kind == QoSPolicyKind.RELIABILITY and not others:
            qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
            others.append(node.create_subscription(message_type, topic, callback, qos))

    return node.create_subscription(
        message_type,
        topic,
        callback,
        DEPTH,
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=on_incompatible),
    )
