# SPDX-License-Identifier: Apache-2.0
"""Choose topics and joints of a recording; read channels and poses from messages, also of ROS.

It does not import `rosbags`: the command line needs the roles even without it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arc_odometry.joints import SideWheels
from diffbot_description.limits import JOINT_NAME, JOINTS
from diffbot_node.topic_types import ARRAY, IMU, JOINT_STATE, ODOMETRY, TWISTS
from diffbot_recordings.samples import RecordingError, is_number

if TYPE_CHECKING:
    from diffbot_description import Robot
    from diffbot_recordings.bag import BagTopic

SIDE_WORDS = (("left", "right"), ("l", "r"), ("lh", "rh"), ("lhs", "rhs"))
# Only a simulator knows the ground truth: never used.
NEVER = ("ground_truth",)
# Least z component of an upright sensor's z axis.
UPRIGHT = 0.9
# Share of the power of velocities that is sideways in another frame.
SIDEWAYS = 0.05
NO_TOPIC = "none"

Values = tuple[float, ...]
Sides = tuple[tuple[str, ...], tuple[str, ...]]  # names of the joints, (left, right)
MessageReader = Callable[[Any], Values | None]
"""Values of the channels that a message holds; None for a message that has none."""


@dataclass(frozen=True)
class Feed:
    """A topic, the channels that its messages hold, and their reader; NaN for an empty field."""

    topic: BagTopic
    channels: tuple[str, ...]
    read: MessageReader


@dataclass(frozen=True)
class TopicRole:
    """Use of a topic: option that chooses it, allowed message types, text for the user."""

    option: str
    types: tuple[str, ...]
    text: str


ROLES: Mapping[str, TopicRole] = {
    "joint_states": TopicRole("--joint-states", (JOINT_STATE,), "joint states"),
    "commands": TopicRole("--commands", (ARRAY,), "wheel torque commands"),
    "odom": TopicRole("--odom", (ODOMETRY,), "odometry"),
    "cmd_vel": TopicRole("--cmd-vel", TWISTS, "velocity commands"),
    "imu": TopicRole("--imu", (IMU,), "gyro of a torque robot; none: do not use it"),
}


def without_rosbags(error: ModuleNotFoundError) -> RecordingError:
    """Return the error for bags where the library is not installed; raise `error` if it is."""
    if (error.name or "").partition(".")[0] not in ("rosbags", "backports", "lz4"):
        raise error
    return RecordingError(
        "rosbag2 recordings need the Python packages rosbags, backports-zstd and lz4, of which "
        f"{error.name} is not installed: run pip install rosbags backports-zstd lz4; other "
        "recordings do without it"
    )


def candidates(topics: Mapping[str, BagTopic], role: TopicRole) -> list[BagTopic]:
    """Return the topics of the right type that hold messages, or may if no count is known."""
    known = any(topic.count for topic in topics.values())
    return [
        topic
        for topic in topics.values()
        if topic.type in role.types
        and (topic.count or not known)
        and topic.name.rsplit("/", 1)[-1] not in NEVER
    ]


def choose(topics: Mapping[str, BagTopic], role: TopicRole, chosen: str | None) -> BagTopic:
    """Return the topic for a role: the chosen one, or the only candidate; else RecordingError."""
    if chosen is not None:
        return _chosen(topics, role, chosen)
    bag_topics = candidates(topics, role)
    if len(bag_topics) == 1:
        return bag_topics[0]
    if bag_topics:
        raise RecordingError(
            f"which topic holds the {role.text}? Choose with {role.option} TOPIC among: "
            f"{listed(bag_topics)}"
        )
    raise RecordingError(
        f"no topic holds {role.text} ({' or '.join(role.types)}); the recording has: "
        f"{listed(topics.values())}"
    )


def _chosen(topics: Mapping[str, BagTopic], role: TopicRole, chosen: str) -> BagTopic:
    bag_topic = topics.get(chosen) or topics.get(f"/{chosen}")
    if bag_topic is None:
        raise RecordingError(
            f"{role.option} {chosen}: the recording has no such topic; choose among: "
            f"{listed(candidates(topics, role) or topics.values())}"
        )
    if bag_topic.type not in role.types:
        raise RecordingError(
            f"{role.option} {chosen}: its type is {bag_topic.type}, must be "
            f"{' or '.join(role.types)}; choose among: {listed(candidates(topics, role))}"
        )
    return bag_topic


def listed(topics: Iterable[BagTopic]) -> str:
    """Return topics with types and numbers of messages, as a text for the user."""
    results = [
        f"{t.name} ({t.type}" + (f", {t.count} messages)" if t.count else ")") for t in topics
    ]
    return ", ".join(results) or "nothing"


def find_wheels(
    names: Sequence[str],
    left: str | None = None,
    right: str | None = None,
    robot: Robot | None = None,
) -> Sides:
    """Return the joints of the left and the right side; one per side unless described.

    Args:
        names: All joints in the recording.
        left, right: The user's choice; None: find it.
        robot: Its joints are used if all are present.

    Raises:
        RecordingError: A chosen joint is missing, or there is no pair, or more than one.
    """
    if len(names) > JOINTS.value:
        raise RecordingError(str(JOINTS.error(len(names))))
    if (longest := max(map(len, names), default=0)) > JOINT_NAME.value:
        raise RecordingError(str(JOINT_NAME.error(longest)))
    all_names = ", ".join(names) or "none"
    for option, name in (("--left-joint", left), ("--right-joint", right)):
        if name is not None and name not in names:
            raise RecordingError(f"{option} {name}: not among the joints {all_names}")
    if left is not None and right is not None:
        if left == right:
            raise RecordingError(f"--left-joint and --right-joint are both {left}: give two")
        return (left,), (right,)
    if robot is not None and {*robot.joints.left, *robot.joints.right} <= {*names}:
        return robot.joints.left, robot.joints.right
    pairs = [
        (a, b)
        for a in names
        for b in names
        if _counterparts(a, b) and left in (None, a) and right in (None, b)
    ]
    if len(pairs) > 1:
        # Prefer pairs named "wheel" to others, such as arms.
        pairs = [pair for pair in pairs if "wheel" in pair[0].lower()] or pairs
    if len(pairs) == 1:
        return (pairs[0][0],), (pairs[0][1],)
    result = "no pair" if not pairs else "pairs " + ", ".join(f"{a}/{b}" for a, b in pairs)
    raise RecordingError(
        f"which joints are the wheels? {result} of left and right found by name; choose with "
        f"--left-joint NAME --right-joint NAME among: {all_names}"
    )


def _counterparts(a: str, b: str) -> bool:
    words_a, words_b = (
        re.split(r"([^a-z]+)", re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()) for text in (a, b)
    )
    if len(words_a) != len(words_b):
        return False
    different = [pair for pair in zip(words_a, words_b, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and different[0] in SIDE_WORDS


def joined(sides: Sides) -> tuple[str, str]:
    """Return the joints of each side as one text."""
    return " + ".join(sides[0]), " + ".join(sides[1])


def stamp_of(message: Any) -> float | None:
    """Return a message's stamp, s; None if there is none, or if it was not set."""
    # A type that the recording defines may have anything there.
    result = getattr(getattr(message, "header", None), "stamp", None)
    seconds, nanoseconds = (getattr(result, name, None) for name in ("sec", "nanosec"))
    if not isinstance(seconds, int) or not isinstance(nanoseconds, int):
        return None
    stamp = seconds + 1e-9 * nanoseconds
    return stamp if stamp > 0.0 else None


def twist(message: Any) -> Values:
    """Return [v in m/s, omega in rad/s] of a Twist, a TwistStamped or an Odometry."""
    while hasattr(message, "twist"):
        message = message.twist
    return float(message.linear.x), float(message.angular.z)


def signs_of(sides: Sides, robot: Robot | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the signs of the joints by the description; 1 for a joint that it does not name."""
    described = robot.joints if robot is not None else None
    known = dict(zip(described.names, described.directions, strict=True)) if described else {}
    left, right = (tuple(known.get(name, 1) for name in side) for side in sides)
    return left, right


def upright_yaw(q: Any) -> float:
    """Return the yaw of a quaternion, rad; NaN if it is not upright, or no rotation."""
    # Products, as powers of huge numbers in a damaged message raise OverflowError.
    if not 0.5 < q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w < 2.0:
        return math.nan
    if 1.0 - 2.0 * (q.x * q.x + q.y * q.y) < UPRIGHT:
        return math.nan
    return math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))


def twist_of_world(message: Any) -> Values:
    """Return [v in m/s, omega in rad/s] of an Odometry whose twist is in the frame of its pose."""
    theta = upright_yaw(message.pose.pose.orientation)
    moving = message.twist.twist
    forward = math.cos(theta) * moving.linear.x + math.sin(theta) * moving.linear.y
    return forward, float(moving.angular.z)


def is_of_world(messages: Iterable[Any]) -> bool:
    """Whether twists of Odometry messages are in their poses' frame, not the robot's.

    In its own frame a robot has linear.y = 0; in another one only while it drives along x.
    """
    rows = np.array(
        [
            (
                message.twist.twist.linear.x,
                message.twist.twist.linear.y,
                upright_yaw(message.pose.pose.orientation),
            )
            for message in messages
        ]
    ).reshape(-1, 3)
    x, y, theta = rows[is_number(rows).all(axis=1)].T
    total = float(np.sum(x * x + y * y))
    own, world = float(y @ y), float(np.sum((np.cos(theta) * y - np.sin(theta) * x) ** 2))
    return own > SIDEWAYS * total and world < SIDEWAYS * total


def torques(sides: Sides, robot: Robot | None) -> MessageReader:
    """Return a reader of [left, right] torques of a Float64MultiArray, N m, forward positive.

    The array holds one number per joint, in the order of `sides`; those of a side are added.
    """
    left, count = len(sides[0]), len(sides[0]) + len(sides[1])
    signs = [sign for side in signs_of(sides, robot) for sign in side]

    def read(message: Any) -> Values | None:
        if len(message.data) != count:
            return None
        data = [sign * float(value) for sign, value in zip(signs, message.data, strict=True)]
        return sum(data[:left]), sum(data[left:])

    return read


def joints(sides: Sides, fields: tuple[str, ...], robot: Robot | None) -> MessageReader:
    """Return a reader of fields of two sides' joints, [left, right] each, forward positive.

    Several joints of a side count as one: mean angle and speed, sum of efforts. The reader returns
    None for a message without these joints, NaN for an empty field, and raises RecordingError if
    the joints of a side do not turn alike.
    """
    signs = signs_of(sides, robot)
    wheels = [SideWheels(side) if len(side) > 1 else None for side in sides]

    def combined(field: str, values: Sequence[float], wheel: SideWheels | None) -> float:
        if wheel is None or not all(map(math.isfinite, values)):
            return sum(values)
        if field != "position":
            return sum(values) / (1.0 if field == "effort" else len(values))
        angle = wheel.angle(values)
        if wheel.disagreement:
            raise RecordingError(f"{wheel.disagreement}; remove that part of the recording")
        return angle

    def read(message: Any) -> Values | None:
        names = message.name
        if any(name not in names for side in sides for name in side):
            return None
        results: list[float] = []
        for field in fields:
            values = getattr(message, field)
            for side, sign, wheel in zip(sides, signs, wheels, strict=True):
                indices = zip([names.index(name) for name in side], sign, strict=True)
                own = [s * float(values[i]) if i < len(values) else math.nan for i, s in indices]
                results.append(combined(field, own, wheel))
        return tuple(results)

    return read


def joint_channels(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the channels that `joints` reads."""
    return tuple(f"{side}_{field}" for field in fields for side in ("left", "right"))


def frames_of(text: str) -> tuple[str, str]:
    """Parse two different frames (fixed, of the robot), as "map base_link". Raises ValueError."""
    words = text.split()
    if len(words) != 2 or words[0].strip("/") == words[1].strip("/"):
        raise ValueError(
            f"tf = {text!r}: must be two frames, a fixed one and the robot's, such as 'map "
            "base_link'"
        )
    return words[0], words[1]


def planar_pose(message: Any) -> tuple[float, float, float]:
    """Return [x in m, y in m, yaw in rad] of a PoseStamped, or a pose with covariance, Odometry."""
    pose = message.pose
    while hasattr(pose, "pose"):
        pose = pose.pose
    return float(pose.position.x), float(pose.position.y), upright_yaw(pose.orientation)


class Transforms:
    """Poses from tf: direct, or via one intermediate frame, as in map -> odom -> base_link.

    Via a frame, a pose counts only after the first transform changed: otherwise it is odometry.
    """

    def __init__(self, fixed: str, robot: str) -> None:
        self._fixed, self._robot = fixed.strip("/"), robot.strip("/")
        self._corrections: dict[str, tuple[float, float, float]] = {}
        self._due: dict[str, bool] = {}

    def read(self, message: Any) -> Iterable[tuple[float, ...]]:
        """Return the rows [stamp, x, y, yaw] of a message."""
        rows: list[tuple[float, ...]] = []
        for transform in message.transforms:
            stamp = stamp_of(transform)
            if stamp is None:
                continue
            parent = transform.header.frame_id.strip("/")
            child = transform.child_frame_id.strip("/")
            moved = transform.transform
            pose = (
                float(moved.translation.x),
                float(moved.translation.y),
                upright_yaw(moved.rotation),
            )
            if (parent, child) == (self._fixed, self._robot):
                rows.append((stamp, *pose))
            elif parent == self._fixed:
                # A correction that is repeated before the robot's transform arrives is still new.
                changed = self._corrections.get(child) != pose
                self._due[child] = changed or self._due.get(child, False)
                self._corrections[child] = pose
            elif child == self._robot and self._due.get(parent):
                x, y, yaw = self._corrections[parent]
                cos, sin = math.cos(yaw), math.sin(yaw)
                place = x + cos * pose[0] - sin * pose[1], y + sin * pose[0] + cos * pose[1]
                rows.append((stamp, *place, yaw + pose[2]))
                self._due[parent] = False
        return rows
