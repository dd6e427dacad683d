# SPDX-License-Identifier: Apache-2.0
"""What a robot publishes of its motion: odometry, wheel angles, or transforms.

Velocities of transforms and wheel angles, and of odometry whose twist cannot be used, are
differences, whose noise grows with the rate: messages less than APART after the last used one are
not used. `look_at` finds the first source with usable samples, before the robot is commanded, and
the input timeout that follows from how often and how late they arrive.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from statistics import median
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from arc_odometry import AnomalyKind, DiffOdometry, JointOdometry, Pose, Velocity
from arc_odometry.odometry_checks import OdometrySample, PoseVelocity
from arc_odometry.odometry_messages import heading
from diffbot_description import Robot
from diffbot_node.robot_messages import NodeClock, seconds, stamp_problem
from diffbot_node.state_age import SAME_CLOCK

# 50 Hz with rounded stamps, s.
APART = 0.019
# The robot's frame in transforms if none is given.
BASES = ("base_link", "base_footprint", "base")
# Most transforms that a sentence lists.
LISTED = 5


class SourceKind(str, Enum):
    """Names of the sources, in the order of preference; AUTO: the first that is published."""

    AUTO = "auto"
    ODOM = "odom"
    ODOM_POSES = "odom_poses"
    JOINT_STATES = "joint_states"
    TF = "tf"


class Spacing:
    """Selects messages that are APART."""

    def __init__(self) -> None:
        self._last = -math.inf

    def due(self, stamp: float) -> bool:
        """Whether to use the message with this stamp, s; an earlier stamp begins anew."""
        if 0.0 <= stamp - self._last < APART:
            return False
        self._last = stamp
        return True


class OdometrySource(ABC):
    """One way in which a robot publishes its motion; `states`: type and topic of its messages.

    `remark` is what was found out about it, as a sentence; empty for nothing.
    """

    kind: SourceKind
    states: tuple[type, str]
    state_name = "state"
    remark = ""

    def concerns(self, message: Any) -> bool:
        """Whether a message is about this robot, and is to be used; call it once for each."""
        return True

    def unrelated(self) -> str:
        """Why no message that arrived was about this robot; empty if one was."""
        return ""

    def stamp(self, message: Any) -> Time:
        stamp: Time = message.header.stamp
        return stamp

    @abstractmethod
    def read(self, stamp: float, message: Any) -> OdometrySample:
        """Return the sample of a message with this stamp, s; a ValueError refuses it."""


class OdometryTopic(OdometrySource):
    """nav_msgs/Odometry on `odom`, in `frame` (empty: any).

    `by_poses`: velocities are computed from poses, as they are where the message says that its
    twist is not in the robot's frame.
    """

    states = (Odometry, "odom")
    state_name = "odometry message"

    def __init__(self, frame: str = "", by_poses: bool = False) -> None:
        self._frame = frame
        self.by_poses = by_poses
        self.kind = SourceKind.ODOM_POSES if by_poses else SourceKind.ODOM
        self._spacing = Spacing()
        self._velocities = PoseVelocity()

    def concerns(self, message: Odometry) -> bool:
        own = message.header.frame_id.strip("/")
        if own and own == message.child_frame_id.strip("/") and not self.by_poses:
            self.by_poses = True
            self.remark = (
                f"the twist of the odometry is in frame '{own}' (child_frame_id), which is not the "
                "robot's: velocities are computed from its poses"
            )
        return not self.by_poses or self._spacing.due(seconds(message.header.stamp))

    def read(self, stamp: float, message: Odometry) -> OdometrySample:
        frame = message.header.frame_id
        if self._frame and frame not in ("", self._frame):
            raise ValueError(
                f"odometry in frame '{frame}': must be in '{self._frame}'; set "
                "odom_frame, and give references in that frame"
            )
        place, twist = message.pose.pose, message.twist.twist
        pose = Pose(place.position.x, place.position.y, heading(place.orientation))
        if not self.by_poses:
            return OdometrySample(stamp, pose, Velocity(twist.linear.x, twist.angular.z))
        OdometrySample(stamp, pose, Velocity(0.0, 0.0))  # checks the pose before it is used
        return OdometrySample(stamp, pose, self._velocities.update(stamp, pose))


class WheelAngles(OdometrySource):
    """sensor_msgs/JointState on `joint_states`, of which the angles of the wheels are used."""

    kind = SourceKind.JOINT_STATES
    states = (JointState, "joint_states")
    state_name = "joint state"

    def __init__(self, robot: Robot) -> None:
        self._reader = robot.joint_reader(("position",))
        self._odometry = DiffOdometry(robot.geometry)
        self._joints = JointOdometry(self._odometry)
        self._spacing = Spacing()

    def concerns(self, message: JointState) -> bool:
        return self._reader.concerns(message.name) and self._spacing.due(
            seconds(message.header.stamp)
        )

    def unrelated(self) -> str:
        return self._reader.mismatch

    def read(self, stamp: float, message: JointState) -> OdometrySample:
        reader = self._reader
        sample = reader.read(stamp, message.name, message.position, (), ())
        anomaly = self._joints.update(sample)
        if anomaly and anomaly.kind in (AnomalyKind.JUMP, AnomalyKind.STAMP, AnomalyKind.RESTART):
            raise ValueError(anomaly.text)
        if reader.disagreement:
            raise ValueError(reader.disagreement)
        return OdometrySample(stamp, self._odometry.pose, self._odometry.velocity)


class TransformTopic(OdometrySource):
    """tf2_msgs/TFMessage on /tf, with the transform of `base` (empty: one of BASES) in `frame`."""

    kind = SourceKind.TF
    states = (TFMessage, "/tf")
    state_name = "transform"

    def __init__(self, frame: str = "odom", base: str = "") -> None:
        self._frame, self._bases = frame.strip("/"), (base.strip("/"),) if base else BASES
        self._spacing = Spacing()
        self._velocities = PoseVelocity()
        self._others: dict[str, None] = {}
        self._arrived = False

    def _own(self, message: TFMessage) -> TransformStamped | None:
        for each in message.transforms:
            parent, child = each.header.frame_id.strip("/"), each.child_frame_id.strip("/")
            if parent == self._frame and child in self._bases:
                if not self._arrived:
                    self._arrived, self._bases = True, (child,)
                return each
            if not self._arrived and len(self._others) < LISTED:
                self._others[f"{parent} to {child}"] = None
        return None

    def concerns(self, message: TFMessage) -> bool:
        own = self._own(message)
        return own is not None and self._spacing.due(seconds(own.header.stamp))

    def unrelated(self) -> str:
        if self._arrived or not self._others:
            return ""
        return (
            f"the transforms that arrive are {', '.join(self._others)}: none is from "
            f"'{self._frame}' to {' or '.join(map(repr, self._bases))}; set odom_frame and "
            "base_frame"
        )

    def stamp(self, message: TFMessage) -> Time:
        own = self._own(message)
        assert own is not None  # concerns was true
        stamp: Time = own.header.stamp
        return stamp

    def read(self, stamp: float, message: TFMessage) -> OdometrySample:
        own = self._own(message)
        assert own is not None  # concerns was true
        place = own.transform.translation
        pose = Pose(place.x, place.y, heading(own.transform.rotation))
        OdometrySample(stamp, pose, Velocity(0.0, 0.0))  # checks the pose before it is used
        return OdometrySample(stamp, pose, self._velocities.update(stamp, pose))


# Length of the look from the first usable message on, s of wall time, and fewest messages.
DURATION, FEWEST = 1.5, 4
# Longest look, for seldom messages, s.
LONGEST = 4.0
# Longest usual time between two messages, and longest usual age of one, s.
LONGEST_PERIOD, OLDEST = 0.4, 0.5
# Least and greatest timeout, s; between them multiples of the usual period and greatest age.
SHORTEST_TIMEOUT, PERIODS, AGES, LONGEST_TIMEOUT = 0.25, 2.5, 1.5, 1.0


@dataclass
class SourceArrivals:
    """What arrived of one source."""

    source: OdometrySource
    stamps: list[float] = field(default_factory=list)  # s
    ages: list[float] = field(default_factory=list)  # lead of the node's clock, s
    problem: str = ""

    def take(self, message: Any, now: float) -> None:
        source = self.source
        if not source.concerns(message):
            self.problem = source.unrelated() or self.problem
            return
        written = source.stamp(message)
        if problem := stamp_problem(written):
            self.problem = problem
            return
        stamp = seconds(written)
        try:
            source.read(stamp, message)
        except ValueError as error:
            self.problem = str(error)
            return
        self.stamps.append(stamp)
        self.ages.append(now - stamp)

    def timeout(self) -> float:
        """Return the input timeout that this source needs, s.

        Raises:
            ValueError: The messages come too seldom or too late, or their stamps do not advance.
        """
        topic, one = self.source.states[1], f"one {self.source.state_name}"
        steps = [after - before for before, after in pairwise(self.stamps)]
        period = median(steps)
        if period <= 0.0:
            raise ValueError(
                f"{topic}: the stamps repeat {self.stamps[-1]} s, or go back: the driver must give "
                "each message the time at which it was measured"
            )
        if period > 1.01 * LONGEST_PERIOD:
            raise ValueError(
                f"{topic}: {one} arrives every {period:.2f} s: at most {LONGEST_PERIOD:g} s "
                "(2.5 Hz); let the driver publish more often"
            )
        oldest = max(self.ages)
        if abs(median(self.ages)) > SAME_CLOCK:  # of another clock: only differences tell
            oldest -= min(self.ages)
        if oldest > OLDEST:
            raise ValueError(
                f"{topic}: {one} arrives up to {oldest:.2f} s after its stamp: at most "
                f"{OLDEST:g} s; check network and load of the computers, and that their clocks "
                "agree"
            )
        needed = max(PERIODS * period, period + AGES * oldest)
        return min(max(SHORTEST_TIMEOUT, needed), LONGEST_TIMEOUT)


def look_at(node: Node, sources: Sequence[OdometrySource], patience: float) -> SourceArrivals:
    """Return the first of several sources that gives usable samples, with what arrived of it.

    Args:
        node: No executor has it yet.
        sources: In the order of preference.
        patience: Longest wall time to wait, s; 0: for ever.

    Raises:
        ValueError: None does in time; the message says why, for each.
    """
    clock = NodeClock(node)
    seen = [SourceArrivals(source) for source in sources]
    # Best effort receives from every publisher.
    qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

    def subscribe(each: SourceArrivals) -> Any:
        def take(message: Any) -> None:
            each.take(message, clock.now())

        return node.create_subscription(*each.source.states, take, qos)

    subscriptions = [subscribe(each) for each in seen]
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        return _first_usable(node, executor, seen, patience)
    finally:
        executor.remove_node(node)
        for subscription in subscriptions:
            node.destroy_subscription(subscription)


def _first_usable(
    node: Node, executor: SingleThreadedExecutor, seen: Sequence[SourceArrivals], patience: float
) -> SourceArrivals:
    began, usable, waiting = time.monotonic(), 0.0, False
    topics = ", ".join(node.resolve_topic_name(each.source.states[1]) for each in seen)
    while True:
        executor.spin_once(timeout_sec=0.1)
        now = time.monotonic()
        if not usable and any(each.stamps for each in seen):
            usable = now
        complete = [each for each in seen if len(each.stamps) >= FEWEST]
        if usable and complete and now - usable > DURATION:
            return complete[0]
        if usable and now - usable > LONGEST:
            raise ValueError(_why(seen, f"fewer than {FEWEST} messages in {LONGEST:g} s"))
        waited = now - began
        if 0.0 < patience < waited:
            raise ValueError(f"no motion of the robot within {patience:g} s: {_why(seen)}")
        if not waiting and waited > 2.0:
            waiting = True
            node.get_logger().info(f"waiting for the robot's motion on {topics}: {_why(seen)}")


def _why(seen: Sequence[SourceArrivals], otherwise: str = "nothing arrives") -> str:
    return "; ".join(f"{each.source.states[1]}: {each.problem or otherwise}" for each in seen)
