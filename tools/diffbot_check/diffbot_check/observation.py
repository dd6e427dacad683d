# SPDX-License-Identifier: Apache-2.0
"""What was seen of a robot: who is there, and what the messages hold. Knows no ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arc_odometry.number_range import Array
from diffbot_description import Robot
from diffbot_description.command_kind import CommandKind
from diffbot_node.endpoints import Endpoint, EndpointRole
from diffbot_node.senders import Origin
from diffbot_node.topic_types import ARRAY, IMU, JOINT_STATE, ODOMETRY, POSES, TWISTS

# Types of the topics, by their use in TopicNames.
TYPES = {
    "joint_states": (JOINT_STATE,),
    "efforts": (ARRAY,),
    "odom": (ODOMETRY,),
    "cmd_vel": TWISTS,
    "imu": (IMU,),
    "pose": POSES,
}
OF_EVERY_NODE = ("/rosout", "/parameter_events")
# Messages of a topic that are kept: 20 s at 1000 Hz.
MOST_MESSAGES = 20_000


@dataclass(frozen=True)
class JointValues:
    """Fields of a joint state, as they were published."""

    names: tuple[str, ...]
    position: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()

    def column(self, field_name: str, names: Sequence[str]) -> list[float]:
        """Return a field's values of these joints; NaN where there is none."""
        values: tuple[float, ...] = getattr(self, field_name)
        places = [self.names.index(name) if name in self.names else -1 for name in names]
        return [values[i] if 0 <= i < len(values) else float("nan") for i in places]


@dataclass
class TopicStream:
    """The messages of a topic.

    Attributes:
        arrivals: Times of arrival by this computer's clock, or of recording, s.
        stamps: Stamps of the messages, s; 0: without one.
        values: JointValues, or (v in m/s, omega in rad/s), by the type; empty for other types.
        origins: Origins of the messages; see diffbot_node/senders.py.
        frame, child: Frames of the newest message.
    """

    topic: str
    type: str
    arrivals: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    frame: str = ""
    child: str = ""

    def add(self, arrival: float, stamp: float, value: Any = None, origin: Origin = None) -> None:
        """Append a message, up to MOST_MESSAGES."""
        if len(self.arrivals) >= MOST_MESSAGES:
            return
        self.arrivals.append(arrival)
        self.stamps.append(stamp)
        self.origins.append(origin)
        if value is not None:
            self.values.append(value)

    @property
    def count(self) -> int:
        return len(self.arrivals)

    @property
    def rate(self) -> float:
        """Mean rate of arrival, Hz; 0 if it is unknown."""
        if self.count < 3:
            return 0.0
        span = self.arrivals[-1] - self.arrivals[0]
        return (self.count - 1) / span if span > 0.0 else 0.0

    @property
    def steps(self) -> Array:
        """Times between the stamps, or between the arrivals where there are none, s, (n - 1,)."""
        stamped = all(stamp > 0.0 for stamp in self.stamps)
        return np.diff(self.stamps if stamped else self.arrivals)


@dataclass(frozen=True)
class TopicNames:
    """Full names of the topics of a robot."""

    joint_states: str = "/joint_states"
    efforts: str = "/effort_controller/commands"
    odom: str = "/odom"
    cmd_vel: str = "/cmd_vel"
    imu: str = "/imu/data"
    pose: str = "/pose"

    @classmethod
    def of(cls, namespace: str = "", **chosen: str | None) -> TopicNames:
        """Return the names in a namespace; `chosen` replaces some, relative to it without "/"."""
        defaults = cls()
        names = {
            each: str(chosen.get(each) or getattr(defaults, each).lstrip("/"))
            for each in cls.__dataclass_fields__
        }
        begin = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
        return cls(**{k: v if v.startswith("/") else f"{begin}/{v}" for k, v in names.items()})


@dataclass(frozen=True)
class ListedController:
    """A controller of ros2_control: name, type, and state such as "active"."""

    name: str
    type: str
    state: str


@dataclass(frozen=True)
class Machine:
    """The computer and the settings of this process.

    Attributes:
        beyond: Why nodes on other computers are not seen; empty if they may be.
        real_time: Whether processes of this user may run at real-time priority.
        load: Processes that are ready to run, mean of a minute.
    """

    domain: int
    middleware: str
    beyond: str
    real_time: bool
    load: float
    processors: int


@dataclass(frozen=True)
class Observation:
    """What was seen.

    Attributes:
        seconds: How long, s.
        streams: By topic.
        transforms: Pairs (parent, child) of tf.
        controllers: None where there is no controller manager that can be asked.
        timeouts: Parameters of the nodes that take commands whose names speak of a timeout, by
            "/node name", s.
        description: The text on /robot_description.
        recording: Its path; empty for a running graph, of which alone `endpoints` are known.
    """

    seconds: float
    endpoints: Sequence[Endpoint] = ()
    streams: Mapping[str, TopicStream] = field(default_factory=dict)
    transforms: frozenset[tuple[str, str]] = frozenset()
    controllers: Sequence[ListedController] | None = None
    timeouts: Mapping[str, float] = field(default_factory=dict)
    description: str = ""
    machine: Machine | None = None
    recording: str = ""

    def partners(self, topic: str, role: EndpointRole) -> list[Endpoint]:
        """Return who publishes or subscribes to a topic."""
        return [each for each in self.endpoints if each.topic == topic and each.role is role]

    @property
    def is_empty(self) -> bool:
        """Whether no node has topics besides those that every node has."""
        return not self.recording and all(each.topic in OF_EVERY_NODE for each in self.endpoints)

    @property
    def is_simulated(self) -> bool:
        """Whether a simulator's clock is there."""
        clocks = [each for each in self.endpoints if each.topic.endswith("/clock")]
        publishers = [each for each in clocks if each.role is EndpointRole.PUBLISHES]
        return bool(publishers) or "/clock" in self.streams


@dataclass(frozen=True)
class CheckedRobot:
    """What is checked: what was seen, beside the robot's file and the topics that tasks use.

    `given`: the robot as the user names it; `chosen`: what it takes, if the user says so.
    """

    seen: Observation
    robot: Robot | None = None
    topics: TopicNames = TopicNames()
    chosen: CommandKind | None = None
    given: str = ""

    def stream(self, topic: str) -> TopicStream | None:
        """Return the messages of a topic, if there are any."""
        stream = self.seen.streams.get(topic)
        return stream if stream is not None and stream.count else None
