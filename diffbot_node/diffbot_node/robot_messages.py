# SPDX-License-Identifier: Apache-2.0
"""Messages between robots and nodes: stamps, which state a command answers, presence of partners.

A simulator in lock-step publishes a state, and repeats it until the command that answers it has
arrived; then it advances by one control period. A command may arrive twice, late, or unasked (zero
because somebody pressed the emergency stop). So each names the newest state that its sender has
answered:

- std_msgs/Float64MultiArray by the label of its first dimension, "answers 12.340000000 in a1b2c3",
  where the run, if it has a name, lets the simulator of another run ignore it;
- geometry_msgs/TwistStamped by its stamp (0 without a frame comes from a tool without a clock).

Drivers of real robots ignore both: ros2_control's controllers read only the data. A command that
names no state, as other programs send it, answers whatever state waits. A Twist has no field that
could name a state.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from inspect import Signature
from pathlib import Path
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
# Stamps must be earlier, s: seconds are signed 32-bit numbers, and this leaves room to add to them.
LATEST = 2**31 - 3600
PREFIX, OF_RUN = "answers ", " in "
# Largest rounding error of stamps, which are converted to floats, s.
TOLERANCE = 1e-6
# The stamp, which no state has, that a command names if no state was answered yet, s.
NOTHING = 1e-9


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


def effort_command(joints: int = 2) -> Float64MultiArray:
    """Return a command of zero torque, N m, for each joint, left ones first, with a state label."""
    message = Float64MultiArray(data=[0.0] * joints)
    message.layout.dim = [MultiArrayDimension(label=label(NOTHING), size=joints, stride=joints)]
    return message


def label(stamp: float, run: str = "") -> str:
    """Return the label that names a state by its stamp, s, and the run of the node that answers."""
    return f"{PREFIX}{stamp:.9f}" + (f"{OF_RUN}{run}" if run else "")


def run_of(message: Float64MultiArray) -> str:
    """Return the run whose node sent a command; empty if it names none."""
    for dimension in message.layout.dim[:1]:
        if dimension.label.startswith(PREFIX):
            return str(dimension.label.partition(OF_RUN)[2])
    return ""


def named_by(message: Float64MultiArray | TwistStamped) -> float | None:
    """Return the stamp of the state that a command names, s; None if it names none."""
    if isinstance(message, TwistStamped):
        header = message.header
        return seconds(header.stamp) or (0.0 if header.frame_id else None)
    for dimension in message.layout.dim[:1]:
        if dimension.label.startswith(PREFIX):
            try:
                return float(dimension.label.removeprefix(PREFIX).partition(OF_RUN)[0])
            except ValueError:
                return None
    return None


def answers(named: float | None, stamp: float) -> bool:
    """Whether a command that names the state `named` answers the state with this stamp, s.

    A command that names a later state answers it, too, as some programs stamp by another clock.
    """
    return named is None or (named != NOTHING and named > stamp - TOLERANCE)


class NodeClock:
    """The clock that a node uses: a simulator's with use_sim_time, otherwise the computer's.

    Args:
        node: The node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock: Any = node.get_clock()  # rclpy's type knows nothing of the ROS clock
        # Launch files remap the clock of a robot in a namespace, which has its own time.
        self._topic = node.resolve_topic_name("/clock")

    def now(self) -> float:
        """Return the clock's time, s."""
        return float(1e-9 * self._clock.now().nanoseconds)

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulator's clock, which may be slow, stand still, or be set back."""
        return bool(self._clock.ros_time_is_active)

    def missing(self) -> str:
        """Why no message's age can be known; empty if it can.

        A simulator's clock that nobody publishes stands still, so that messages never grow old.
        """
        if not self.is_simulated or self._node.count_publishers(self._topic):
            return ""
        return (
            f"use_sim_time is true and no node publishes {self._topic}; start the simulator, or "
            "leave use_sim_time false with a robot"
        )


class _WithoutArguments:
    """A timer's callback with a stored signature, which rclpy inspects at each call.

    Args:
        callback: The function to call.
    """

    __signature__ = Signature()

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __call__(self) -> None:
        """Call it."""
        self._callback()


def create_wall_timer(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call `callback` every `period` s of wall time, whatever the node's clock does."""
    called = _WithoutArguments(callback)
    node.create_timer(period, called, clock=Clock(clock_type=ClockType.STEADY_TIME))


# Number of states that a subscription queues, 0.3 s at 100 Hz: the states that queue up while this
# process is stalled show how the robot moved meanwhile. With a longer queue, a process that cannot
# keep up with 1000 Hz would receive only old states.
DEPTH = 30


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[..., None]
) -> Subscription[Any]:
    """Subscribe to the states of a robot.

    The subscription is reliable: a lost message would stop a lock-step simulation for ever. A
    driver that offers only best effort, as is usual for sensors, never matches a reliable
    subscription; a best-effort one is added as soon as such a publisher appears.

    Args:
        node: The node that subscribes.
        message_type: Type of the states.
        topic: Name of the topic.
        callback: Called with each message; a `senders.WithOrigin` if the sender matters.

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


# Presence of a node's partners, measured in wall time.

# Time after which a node logs what it waits for, and period of repetition, s.
WAITING_PERIOD = 3.0
# Names of nodes that only observe, and the prefix of the names of the ros2 command's nodes.
ONLOOKERS = frozenset(
    {"recorder", "rosbag2_recorder", "live_view", "foxglove_bridge", "plotjuggler"}
)
COMMAND_LINE = "_ros2cli"
# DDS announces a subscription before its node's name, which follows within 0.4 s. A subscription
# still without a name after NAMING_TIME, s of wall time, belongs to no named node.
NAMELESS, NAMING_TIME = "_NODE_NAME_UNKNOWN_", 1.0


# Profiles of Fast DDS by which ./diffbot limits discovery to this machine (docs/security.md).
_PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
_CLOSED_PROFILES = {"fastdds_local.xml", "fastdds2_local.xml"}


def beyond_discovery(environment: Mapping[str, str] = os.environ) -> str:
    """Return that nodes on other computers are not seen, and the remedy; empty if they may be."""
    profiles = {Path(environment.get(name, "")).name for name in _PROFILE_VARIABLES}
    closed = (
        environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE") in ("LOCALHOST", "OFF")
        or environment.get("ROS_LOCALHOST_ONLY") == "1"
        or not profiles.isdisjoint(_CLOSED_PROFILES)
    )
    if not closed:
        return ""
    return (
        " (nodes on other computers are not seen, as discovery is limited to this one: "
        "ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET opens it)"
    )


class Presence:
    """Tracks whether the partners of a node are there, have left, or were awaited in vain.

    Args:
        patience: How long to wait for them in vain, s; 0: for ever.
        parting: Partners that have been missing for so long count as gone, s.

    Attributes:
        met: Whether they have been seen at least once.
    """

    def __init__(self, patience: float, parting: float = 0.0) -> None:
        self._patience, self._parting = patience, parting
        self.met = False
        self._since = self._reminded = time.monotonic()
        self._missed: float | None = None  # since when they have been missing, s

    def keep_waiting(self) -> None:
        """Restart the waiting time, as what is awaited has arrived or is on its way."""
        self._since = time.monotonic()

    @property
    def waited(self) -> float:
        """Time waited so far, s."""
        return time.monotonic() - self._since

    @property
    def waits_long(self) -> bool:
        """Whether it is time to log what is awaited."""
        return self.waited > WAITING_PERIOD

    @property
    def gave_up(self) -> bool:
        """Whether the patience is exhausted."""
        return 0.0 < self._patience < self.waited

    def have_left(self, there: bool) -> bool:
        """Note whether they are there; return whether they have been away for `parting` s."""
        self.met = self.met or there
        now = time.monotonic()
        self._missed = None if there else self._missed or now
        return self._missed is not None and now - self._missed >= self._parting

    def leave(self, there: bool, log: RcutilsLogger, gone: str, absent: str) -> int | None:
        """Return the exit status of a node that ends with its partners; None while it continues.

        Args:
            there: Whether they are there now.
            log: Where the reason is logged.
            gone: The reason if they have left; the status is 0.
            absent: The reason if they have been awaited in vain; the status is 1.
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
        """Return whether a reminder is due; if so, it counts as logged."""
        due = time.monotonic() - self._reminded > WAITING_PERIOD
        if due:
            self._reminded = time.monotonic()
        return due


class Takers:
    """Detects the nodes that take what is published; observers, such as a recorder, do not count.

    Args:
        node: The node that publishes.
        publisher: Its publisher.
    """

    def __init__(self, node: Node, publisher: Publisher[Any]) -> None:
        self._node, self._publisher = node, publisher
        self._known = 0  # subscriptions at the last check that found a taker; 0 if it found none
        self._nameless: float | None = None  # since when only nameless nodes subscribe, s

    def are_there(self) -> bool:
        """Whether any node takes the messages."""
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
