"""Which topics of a recording to use."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from diffbot_ident.recording.stream import RecordingError

if TYPE_CHECKING:
    from rosbags.interfaces import MessageDefinition


# ---
# One file of a rosbag2 recording, or a folder with its metadata, whole or torn.

Message = tuple[str, int, bytes]
"""Topic, time when it was logged in ns, and content in CDR."""


@dataclass(frozen=True)
class Topic:
    """A topic of a recording.

    Attributes:
        name: with its namespace.
        type: of its messages, such as "sensor_msgs/msg/JointState".
        count: of its messages; 0 where that is not known.
        definition: of the type, as far as the recording holds it.
    """

    name: str
    type: str
    count: int
    definition: MessageDefinition


class BagPart(Protocol):
    """What can be read once.

    Attributes:
        topics: that it holds.
    """

    topics: tuple[Topic, ...]

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Messages of these topics, in the order in which they were logged.

        Raises:
            Exception: of the library, where the file is damaged.
        """

    def close(self) -> None:
        """Close the file."""


class WholePart:
    """What the library `rosbags` reads as it is.

    Args:
        path: of a folder with metadata.yaml, or of one storage file.

    Raises:
        rosbags.rosbag2.ReaderError: it cannot.
    """

    def __init__(self, path: Path) -> None:
        # Here, as the command's options need the topics' roles also where `rosbags` is not there.
        from rosbags.rosbag2 import Reader

        self._reader = Reader(path)
        self._reader.open()
        self.topics = tuple(
            Topic(c.topic, c.msgtype, c.msgcount, c.msgdef) for c in self._reader.connections
        )

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart."""
        chosen = [c for c in self._reader.connections if c.topic in names]
        if not chosen:
            return
        for connection, time, data in self._reader.messages(chosen):
            yield connection.topic, time, data

    def close(self) -> None:
        """See BagPart."""
        self._reader.close()


# ---
# From ROS messages to channels; the messages are those of the library `rosbags`.

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
ODOMETRY = "nav_msgs/msg/Odometry"
TWIST = "geometry_msgs/msg/Twist"
TWIST_STAMPED = "geometry_msgs/msg/TwistStamped"

JOINT_FIELDS = ("position", "velocity", "effort")

Values = tuple[float, ...]
Reader = Callable[[Any], Values | None]


def stamp_of(message: Any) -> float | None:
    """Stamp, s; None where there is none, or where nobody set it."""
    header = getattr(message, "header", None)
    if header is None:
        return None
    stamp = header.stamp.sec + 1e-9 * header.stamp.nanosec
    return stamp if stamp > 0.0 else None


def twist(message: Any) -> Values:
    """[v in m/s, omega in rad/s] of a Twist, a TwistStamped or an Odometry."""
    while hasattr(message, "twist"):
        message = message.twist
    return float(message.linear.x), float(message.angular.z)


def pair(message: Any) -> Values | None:
    """[left, right] of a Float64MultiArray, N m; None where it is not two numbers."""
    data = message.data
    return (float(data[0]), float(data[1])) if len(data) == 2 else None


def joints(left: str, right: str, fields: tuple[str, ...]) -> Reader:
    """What reads fields of two joints: [left, right] of each field.

    A message without both joints gives None, as other devices publish joint states, too. A field
    that a message leaves empty is NaN.
    """

    def read(message: Any) -> Values | None:
        names = message.name
        if left not in names or right not in names:
            return None
        indices = (names.index(left), names.index(right))
        found: list[float] = []
        for field in fields:
            values = getattr(message, field)
            found += [float(values[i]) if i < len(values) else math.nan for i in indices]
        return tuple(found)

    return read


def joint_channels(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Names of what `joints` reads."""
    return tuple(f"{side}_{field}" for field in fields for side in ("left", "right"))


TWISTS: Mapping[str, Reader] = {TWIST: twist, TWIST_STAMPED: twist}


# What only a simulator knows is no measurement.
NEVER = ("ground_truth",)


@dataclass(frozen=True)
class Role:
    """What a topic is used for.

    Attributes:
        option: of the command line, that chooses it.
        types: of its messages.
        text: what it is, for messages.
    """

    option: str
    types: tuple[str, ...]
    text: str


ROLES: Mapping[str, Role] = {
    "joint_states": Role("--joint-states", (JOINT_STATE,), "joint states"),
    "commands": Role("--commands", (ARRAY,), "wheel torque commands"),
    "odom": Role("--odom", (ODOMETRY,), "odometry"),
    "cmd_vel": Role("--cmd-vel", (TWIST, TWIST_STAMPED), "velocity commands"),
}


def candidates(topics: Mapping[str, Topic], role: Role) -> list[Topic]:
    """Topics of the right type that hold messages, or may do so."""
    known = any(topic.count for topic in topics.values())
    return [
        topic
        for topic in topics.values()
        if topic.type in role.types
        and (topic.count or not known)
        and topic.name.rsplit("/", 1)[-1] not in NEVER
    ]


def choose(
    topics: Mapping[str, Topic], role: Role, chosen: str | None, required: bool = True
) -> Topic | None:
    """The topic for a role: the chosen one, or the only one.

    Args:
        topics: of the recording.
        role: what it is for.
        chosen: by the user; None: find it.
        required: whether there must be one.

    Raises:
        RecordingError: the chosen one is not there or of another type, or there are none or many.
    """
    if chosen is not None:
        return _chosen(topics, role, chosen)
    found = candidates(topics, role)
    if len(found) == 1:
        return found[0]
    if found:
        raise RecordingError(
            f"which topic holds the {role.text}? Choose with {role.option} TOPIC among: "
            f"{_text(found)}"
        )
    if required:
        raise RecordingError(
            f"no topic holds {role.text} ({' or '.join(role.types)}); the recording has: "
            f"{_text(topics.values())}"
        )
    return None


def _chosen(topics: Mapping[str, Topic], role: Role, chosen: str) -> Topic:
    found = topics.get(chosen) or topics.get(f"/{chosen}")
    if found is None:
        right = candidates(topics, role) or list(topics.values())
        raise RecordingError(
            f"{role.option} {chosen}: the recording has no such topic; choose among: {_text(right)}"
        )
    if found.type not in role.types:
        raise RecordingError(
            f"{role.option} {chosen}: its type is {found.type}, must be {' or '.join(role.types)}; "
            f"choose among: {_text(candidates(topics, role))}"
        )
    return found


def _text(topics: Sequence[Topic] | object) -> str:
    found = [
        f"{t.name} ({t.type}" + (f", {t.count} messages)" if t.count else ")")
        for t in topics  # type: ignore[attr-defined]
    ]
    return ", ".join(found) or "nothing"
