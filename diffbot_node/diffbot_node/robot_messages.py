# SPDX-License-Identifier: Apache-2.0
"""Messages between robots and nodes: their stamps, which state a command answers, who is there.

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

import time
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistStamped
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]  # Humble: no clock_type
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.publisher import Publisher
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

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock: Any = node.get_clock()  # rclpy's type knows nothing of the ROS clock
        # Launch files give a robot in a namespace a time of its own, by a remapping.
        self._topic = node.resolve_topic_name("/clock")

    def now(self) -> float:
        """What it shows, s."""
        return float(1e-9 * self._clock.now().nanoseconds)

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulator's: it may be slow, stand still, or be set back."""
        return bool(self._clock.ros_time_is_active)

    def missing(self) -> str:
        """Why the age of nothing can be known; empty where it can.

        A simulator's clock that nobody publishes stands still, and what came stays new for ever.
        """
        if not self.is_simulated or self._node.count_publishers(self._topic):
            return ""
        return (
            f"use_sim_time is true and nobody publishes {self._topic}; start the simulator, or "
            "leave use_sim_time false with a robot"
        )


class _WithoutArguments:
    """A timer's callback whose signature rclpy, which asks for it each time, has at once.

    Args:
        callback: is called.
    """

    __signature__ = Signature()

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __call__(self) -> None:
        """Call it."""
        self._callback()


def create_wall_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call back every `period` s of wall time, whatever the node's clock does."""
    called = _WithoutArguments(callback)
    node.create_timer(period, called, clock=Clock(clock_type=ClockType.STEADY_TIME))


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


# Who a node works with, all by wall time.

# What is still awaited is said after so long, and this often, s.
WAITING_PERIOD = 3.0
# Nodes that only look on, and the beginning of the name of those of the ros2 command.
ONLOOKERS = frozenset(
    {"recorder", "rosbag2_recorder", "live_view", "foxglove_bridge", "plotjuggler"}
)
COMMAND_LINE = "_ros2cli"
# DDS tells of a subscription before the name of its node, which comes within 0.4 s. Whose name has
# not come for so long has none, s of wall time.
NAMELESS, NAMING_TIME = "_NODE_NAME_UNKNOWN_", 1.0


class Presence:
    """The partners of a node.

    Args:
        patience: how long to wait for them in vain, s; 0: for ever.
        parting: who has not been seen for so long does not come back, s.

    Attributes:
        met: whether they were seen once.
    """

    def __init__(self, patience: float, parting: float = 0.0) -> None:
        self._patience, self._parting = patience, parting
        self.met = False
        self._since = self._reminded = time.monotonic()
        self._missed: float | None = None  # when they were first missed, s

    def keep_waiting(self) -> None:
        """What is waited for has come, or is on its way: patience begins anew."""
        self._since = time.monotonic()

    @property
    def waited(self) -> float:
        """Time since patience began, s."""
        return time.monotonic() - self._since

    @property
    def waits_long(self) -> bool:
        """Whether it is time to say what is awaited."""
        return self.waited > WAITING_PERIOD

    @property
    def gave_up(self) -> bool:
        """Whether patience has come to its end."""
        return 0.0 < self._patience < self.waited

    def have_left(self, there: bool) -> bool:
        """Look who is there; whether they have been away for long enough to be given up."""
        self.met = self.met or there
        now = time.monotonic()
        self._missed = None if there else self._missed or now
        return self._missed is not None and now - self._missed >= self._parting

    def leave(self, there: bool, log: RcutilsLogger, gone: str, absent: str) -> int | None:
        """Exit status of a node that ends with its partners; None as long as it goes on.

        Args:
            there: whether they are there now.
            log: where the reason is said.
            gone: the reason when they have left; the status is 0.
            absent: the reason when they have been awaited in vain; the status is 1.
        """
        if not self.have_left(there):
            return None
        if self.met:
            log.info(gone)
            return 0
        if self.gave_up:
            log.error(absent)
            return 1
        return None

    def reminds(self) -> bool:
        """Whether nothing was said for long; then it counts as said."""
        due = time.monotonic() - self._reminded > WAITING_PERIOD
        if due:
            self._reminded = time.monotonic()
        return due


class Takers:
    """Who takes what is published; nodes that only look on, such as a recorder, do not count.

    Args:
        node: publishes.
        publisher: of it.
    """

    def __init__(self, node: Node, publisher: Publisher[Any]) -> None:
        self._node, self._publisher = node, publisher
        self._known = 0  # subscriptions of which somebody took it at the last look
        self._nameless: float | None = None  # since when there is nobody else, s

    def are_there(self) -> bool:
        """Whether anybody takes it."""
        count = self._publisher.get_subscription_count()
        if count == 0 or count != self._known:
            self._known = count if count and self._look() else 0
        return self._known > 0

    def _look(self) -> bool:
        found = self._node.get_subscriptions_info_by_topic(self._publisher.topic_name)
        names = {info.node_name for info in found} - ONLOOKERS
        if any(name != NAMELESS and not name.startswith(COMMAND_LINE) for name in names):
            return True
        if NAMELESS not in names:
            self._nameless = None
            return False
        now = time.monotonic()
        self._nameless = self._nameless or now
        return now - self._nameless > NAMING_TIME
