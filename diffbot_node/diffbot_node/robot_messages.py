# SPDX-License-Identifier: Apache-2.0
"""Messages between robots and nodes: their stamps, which state a command answers, who sent them.

A simulator in lock-step says a state, and says it again until the command that answers it has come;
then it goes on by one control period. A command may come twice, late, or unasked (zero because
somebody pressed the emergency stop), so each names the newest state that its sender has answered:

- std_msgs/Float64MultiArray by the label of its first dimension, "answers 12.340000000";
- geometry_msgs/TwistStamped by its stamp (0 without a frame is that of a tool without a clock).

Both are left alone by the drivers of real robots: ros2_control's controllers read the data only. A
command without a name, as other programs send it, answers whatever state waits. A Twist cannot say
what it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # Humble: no clock_type
from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

try:
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks

NANOSECONDS = 1_000_000_000
# A stamp of a later second leaves no room to add to it: seconds have 32 bits with a sign.
LATEST = 2**31 - 3600
PREFIX = "answers "
# Stamps go through floats, s.
TOLERANCE = 1e-6
# Named by a command that is sent before any state was answered: a stamp that no state has, s.
NOTHING = 1e-9


def seconds(stamp: Time) -> float:
    """A stamp in s."""
    return float(stamp.sec + stamp.nanosec / NANOSECONDS)


def to_stamp(time: float) -> Time:
    """A time in s, >= 0, as a stamp, to the nearest nanosecond."""
    whole, rest = divmod(round(time * NANOSECONDS), NANOSECONDS)
    return Time(sec=whole, nanosec=rest)


def stamp_problem(stamp: Time) -> str:
    """Why a stamp cannot be used, as a sentence; empty where it can."""
    if 0 <= stamp.sec < LATEST and stamp.nanosec < NANOSECONDS:
        return ""
    return (
        f"stamp = {stamp.sec} s and {stamp.nanosec} ns: must be >= 0 s and < {LATEST} s, with less "
        f"than {NANOSECONDS} ns; left out; check the clock of who stamps it"
    )


def effort_command(joints: int = 2) -> Float64MultiArray:
    """A command of a torque for each joint, left ones first, zero, N m, with room for a name."""
    message = Float64MultiArray(data=[0.0] * joints)
    message.layout.dim = [MultiArrayDimension(label=label(NOTHING), size=joints, stride=joints)]
    return message


def label(stamp: float) -> str:
    """The name of a state by its stamp, s."""
    return f"{PREFIX}{stamp:.9f}"


def named_by(message: Float64MultiArray | TwistStamped) -> float | None:
    """Stamp of the state that a command names, s; None where it names none."""
    if isinstance(message, TwistStamped):
        header = message.header
        return seconds(header.stamp) or (0.0 if header.frame_id else None)
    for dimension in message.layout.dim[:1]:
        if dimension.label.startswith(PREFIX):
            try:
                return float(dimension.label.removeprefix(PREFIX))
            except ValueError:
                return None
    return None


def answers(named: float | None, stamp: float) -> bool:
    """Whether a command that names a state answers the one with this stamp, s.

    One that names a later state answers it, too: programs that stamp by another clock.
    """
    return named is None or (named != NOTHING and named > stamp - TOLERANCE)


class NodeClock:
    """The clock that a node goes by: a simulator's with use_sim_time, else the computer's.

    Args:
        node: whose it is.
    """

    TOPIC = "/clock"

    def __init__(self, node: Node) -> None:
        self._node = node

    def now(self) -> float:
        """What it shows, s."""
        return 1e-9 * self._node.get_clock().now().nanoseconds

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulator's: it may be slow, stand still, or be set back."""
        clock: Any = self._node.get_clock()  # rclpy's type knows nothing of the ROS clock
        return bool(clock.ros_time_is_active)

    def missing(self) -> str:
        """Why the age of nothing can be known; empty where it can.

        A simulator's clock that nobody publishes stands still, and what came stays new for ever.
        """
        if not self.is_simulated or self._node.count_publishers(self.TOPIC):
            return ""
        return (
            f"use_sim_time is true and nobody publishes {self.TOPIC}; start the simulator, or "
            "leave use_sim_time false with a robot"
        )


def create_wall_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call back every `period` s of wall time, whatever the node's clock does."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


# States that a subscription keeps, 0.3 s of them at 100 Hz: those that wait while this process
# stands still tell of the robot's way. With more, one that cannot keep up with 1000 Hz would find
# old ones only.
DEPTH = 30


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[..., None]
) -> Subscription[Any]:
    """Subscribe to the states of a robot.

    The subscription is reliable: a lost message would stop a lock-step simulation for ever. A
    driver that offers best effort only, as is usual for sensors, never matches such a one; it gets
    a second subscription as soon as it shows.

    Args:
        node: subscribes.
        message_type: of the states.
        topic: name of the topic.
        callback: takes a message; WithSender where it matters who has sent it.

    Returns:
        The reliable subscription.
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


class WithSender:
    """A callback that is told who has sent a message, as a subscription takes it.

    rclpy gives a callback of two arguments what it knows of the message besides; its
    EventsExecutor gives both as one tuple (Kilted), which no function of two arguments takes.

    Args:
        callback: is called with the message and with what tells publishers apart, None where the
            middleware does not say (rclpy before Kilted).
    """

    __signature__ = Signature(
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("message", "information")]
    )

    def __init__(self, callback: Callable[[Any, Any], None]) -> None:
        self._callback = callback

    def __call__(self, *arguments: Any) -> None:
        """Hand a message on."""
        message, information = arguments[0] if len(arguments) == 1 else arguments
        gid = information.get("publisher_gid") if isinstance(information, dict) else None
        self._callback(message, None if gid is None else bytes(gid["data"]))
